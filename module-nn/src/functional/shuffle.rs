//! Shuffles of channels and pixels.

use module_core::{Error, Result, Tensor};

/// The last three sizes.
fn images(x: &Tensor, op: &'static str) -> Result<[usize; 3]> {
    match **x.shape() {
        [.., channels, height, width] => Ok([channels, height, width]),
        _ => Err(x.shape().error(op, "[…, channels, height, width]")),
    }
}

/// The quotient, if it is an integer.
fn divide(op: &'static str, name: &'static str, by: usize, size: usize, of: &str) -> Result<usize> {
    match size.checked_rem(by) {
        Some(0) => Ok(size / by),
        Some(_) => {
            let problem = format!("must divide the {of} of {size}");
            Err(Error::argument(op, name, by, problem))
        }
        None => Err(Error::argument(op, name, by, "must be at least 1")),
    }
}

/// Rearranges channels into space: `r²` channels become one channel with `r` by `r` times the pixels.
///
/// `y[…, c, h·r + i, w·r + j] = x[…, c·r² + i·r + j, h, w]`.
///
/// Source: Shi et al., *Real-Time Single Image and Video Super-Resolution Using an Efficient
/// Sub-Pixel Convolutional Neural Network* (2016).
///
/// # Shapes
///
/// `[…, channels, height, width]` to `[…, channels / r², height · r, width · r]`.
///
/// # Errors
///
/// Fewer than three dimensions, a factor of 0, channels that its square does not divide.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::pixel_shuffle};
///
/// let x = Tensor::from([1_i64, 2, 3, 4]).reshape([4, 1, 1])?;
/// let y = pixel_shuffle(&x, 2)?;
/// assert_eq!(y.shape().to_string(), "[1, 2, 2]");
/// assert_eq!(y.to_vec::<i64>()?, [1, 2, 3, 4]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pixel_shuffle(x: &Tensor, upscale_factor: usize) -> Result<Tensor> {
    const NAME: &str = "pixel_shuffle";
    let (r, [channels, height, width]) = (upscale_factor, images(x, NAME)?);
    let square = r.saturating_mul(r);
    if channels.checked_rem(square) != Some(0) {
        let problem = format!("must be at least 1, and its square divide the {channels} channels");
        return Err(Error::argument(NAME, "upscale_factor", r, problem));
    }
    let out = channels / square;
    let lead = &x.shape()[..x.rank() - 3];
    let parts = [out, r, r, height, width];
    let split = x.reshape(join_sizes(lead, &parts).as_slice())?;
    let order = order(lead.len(), [0, 3, 1, 4, 2]);
    let shape = join_sizes(
        lead,
        &[out, height.saturating_mul(r), width.saturating_mul(r)],
    );
    split.permute(order)?.reshape(shape.as_slice())
}

/// Rearranges space into channels: the inverse of [`pixel_shuffle`].
///
/// # Shapes
///
/// `[…, channels, height, width]` to `[…, channels · r², height / r, width / r]`.
///
/// # Errors
///
/// Fewer than three dimensions, a factor that is 0 or does not divide both sizes.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{pixel_shuffle, pixel_unshuffle}};
///
/// let x = Tensor::arange(0, 16, ())?.reshape([1, 4, 4])?;
/// let y = pixel_unshuffle(&x, 2)?;
/// assert_eq!(y.shape().to_string(), "[4, 2, 2]");
/// assert!(pixel_shuffle(&y, 2)?.equal(&x)?);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pixel_unshuffle(x: &Tensor, downscale_factor: usize) -> Result<Tensor> {
    const NAME: &str = "pixel_unshuffle";
    let (r, [channels, height, width]) = (downscale_factor, images(x, NAME)?);
    let height = divide(NAME, "downscale_factor", r, height, "height")?;
    let width = divide(NAME, "downscale_factor", r, width, "width")?;
    let lead = &x.shape()[..x.rank() - 3];
    let parts = [channels, height, r, width, r];
    let split = x.reshape(join_sizes(lead, &parts).as_slice())?;
    let order = order(lead.len(), [0, 2, 4, 1, 3]);
    let out = channels.saturating_mul(r).saturating_mul(r);
    split
        .permute(order)?
        .reshape(join_sizes(lead, &[out, height, width]).as_slice())
}

/// Interleaves the channels of all groups: channel `i` of group `g` goes to `i·groups + g`.
///
/// Source: Zhang et al., *ShuffleNet: An Extremely Efficient Convolutional Neural Network for Mobile
/// Devices* (2017).
///
/// # Shapes
///
/// `[batch, channels, size…]` to the same, with at least one size.
///
/// # Errors
///
/// Fewer than three dimensions, groups that are 0 or do not divide the channels.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::channel_shuffle};
///
/// let x = Tensor::from([1_i64, 2, 3, 4]).reshape([1, 4, 1])?;
/// assert_eq!(channel_shuffle(&x, 2)?.to_vec::<i64>()?, [1, 3, 2, 4]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[doc(alias = "native_channel_shuffle")]
pub fn channel_shuffle(x: &Tensor, groups: usize) -> Result<Tensor> {
    const NAME: &str = "channel_shuffle";
    let &[_, channels, _, ..] = &**x.shape() else {
        return Err(x.shape().error(NAME, "[batch, channels, size…]"));
    };
    let each = divide(NAME, "groups", groups, channels, "channels")?;
    x.unflatten(1, [groups, each])?
        .transpose(1, 2)?
        .reshape(x.shape())
}

/// The leading sizes and the trailing ones.
fn join_sizes(lead: &[usize], sizes: &[usize]) -> Vec<usize> {
    [lead, sizes].concat()
}

/// Keeps the leading dimensions, and puts the trailing ones in this order.
fn order(lead: usize, behind: [usize; 5]) -> Vec<isize> {
    let behind = behind.map(|dim| lead + dim);
    (0..lead).chain(behind).map(|dim| dim as isize).collect()
}
