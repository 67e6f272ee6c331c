use module_core::{Error, ErrorKind, Result, Tensor};

/// What [`pad2d`] puts around an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PadMode {
    /// The image mirrored at its edge, which is not repeated.
    Reflect,
    /// The edge repeated.
    Replicate,
    /// The other end of the image.
    Circular,
}

/// Puts parts of an image around it: `[before, after]` for the height and for the width.
///
/// # Shapes
///
/// `[…, height, width]` with each size grown by its two paddings.
///
/// # Errors
///
/// Fewer than two dimensions, padding that the image has not enough of: at most the size less one
/// to reflect, at most the size to wrap around.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{PadMode, pad2d}};
///
/// let x = Tensor::from([[1_i64, 2, 3]]);
/// let y = pad2d(&x, [[0, 0], [2, 1]], PadMode::Reflect)?;
/// assert_eq!(y.to_vec::<i64>()?, [3, 2, 1, 2, 3, 2]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pad2d(input: &Tensor, padding: [[usize; 2]; 2], mode: PadMode) -> Result<Tensor> {
    if input.rank() < 2 {
        let (expected, got) = ("[…, height, width]".to_owned(), input.shape().clone());
        return Err(ErrorKind::Shape {
            op: "pad2d",
            expected,
            got,
        }
        .into());
    }
    let mut output = input.clone();
    for (dim, [before, after]) in [-2, -1].into_iter().zip(padding) {
        if before == 0 && after == 0 {
            continue;
        }
        let size = input.size(dim)?;
        let limit = match mode {
            PadMode::Reflect => size.saturating_sub(1),
            PadMode::Circular => size,
            PadMode::Replicate if size > 0 => usize::MAX / 4,
            PadMode::Replicate => 0,
        };
        if before > limit || after > limit {
            let problem = format!("has at most {limit} of size {size} to pad with");
            let value = format!("({before}, {after})");
            return Err(Error::argument("pad2d", "padding", value, problem));
        }
        let (size, before, after) = (size as i64, before as i64, after as i64);
        let place = |i: i64| match mode {
            PadMode::Reflect if i < 0 => -i,
            PadMode::Reflect if i >= size => 2 * (size - 1) - i,
            PadMode::Reflect => i,
            PadMode::Replicate => i.clamp(0, size - 1),
            PadMode::Circular => i.rem_euclid(size),
        };
        let places: Vec<i64> = (-before..size + after).map(place).collect();
        let length = places.len();
        let index = Tensor::from_vec(places, length)?.to_device(&input.device())?;
        output = output.index_select(dim, &index)?;
    }
    Ok(output)
}
