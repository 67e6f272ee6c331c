use module_core::{DType, Error, PadMode, Result, Scalar, Tensor};
use serde::{Deserialize, Serialize};

use super::check::image_sizes;

/// How [`pad`] fills the border.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaddingMode {
    /// With the fill value.
    #[default]
    Constant,
    /// With the pixel at the edge.
    Edge,
    /// With the image reflected at its edge, which is not repeated.
    Reflect,
    /// With the image reflected behind its edge, which is repeated.
    Symmetric,
}

/// The image with padding: left, top, right and bottom. `fill` is one number or one for each channel, and empty means 0;
/// modes other than `Constant` take none.
///
/// # Errors
///
/// A tensor that is not an image, a wrong number of fill values, more reflected pixels than the image has.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::{PaddingMode, pad};
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[1_u8, 2, 3]]]);
/// assert_eq!(pad(&image, [1, 0, 2, 0], &[9.0], PaddingMode::Constant)?.to_vec::<u8>()?, [9, 1, 2, 3, 9, 9]);
/// assert_eq!(pad(&image, [2, 0, 1, 0], &[], PaddingMode::Symmetric)?.to_vec::<u8>()?, [2, 1, 1, 2, 3, 3]);
/// # Ok::<(), Error>(())
/// ```
pub fn pad(image: &Tensor, padding: [usize; 4], fill: &[f64], mode: PaddingMode) -> Result<Tensor> {
    const OP: &str = "pad";
    let [channels, height, width] = image_sizes(OP, image)?;
    let [left, top, right, bottom] = padding;
    let amount = |amount: usize| {
        let problem = "is too large";
        isize::try_from(amount).map_err(|_| Error::argument(OP, "padding", amount, problem))
    };
    let amounts = [amount(left)?, amount(right)?, amount(top)?, amount(bottom)?];
    let refuse = |problem: String| {
        Err(Error::argument(
            OP,
            "fill",
            format_args!("{fill:?}"),
            problem,
        ))
    };
    match (mode, fill) {
        (PaddingMode::Constant, []) => image.pad(amounts, number(image, 0.0)),
        (PaddingMode::Constant, [fill]) => image.pad(amounts, number(image, *fill)),
        (PaddingMode::Constant, fill) if fill.len() == channels => {
            let channels = image.unbind(-3)?.into_iter().zip(fill);
            let padded = channels.map(|(channel, fill)| channel.pad(amounts, number(image, *fill)));
            Tensor::stack(&padded.collect::<Result<Vec<_>>>()?, -3)
        }
        (PaddingMode::Constant, _) => refuse(format!(
            "must be one number or {channels}, one for each channel"
        )),
        (_, [_, ..]) => refuse(format!("has no meaning for mode = {mode:?}")),
        (PaddingMode::Edge, []) => image.pad(amounts, PadMode::Replicate),
        (PaddingMode::Reflect, []) => image.pad(amounts, PadMode::Reflect),
        (PaddingMode::Symmetric, []) => {
            let columns = symmetric(image, left, right, width)?;
            let rows = symmetric(image, top, bottom, height)?;
            image.index_select(-2, &rows)?.index_select(-1, &columns)
        }
    }
}

/// A fill value in the number type of the image.
pub(super) fn number(image: &Tensor, fill: f64) -> Scalar {
    match image.dtype() {
        DType::U8 => Scalar::from(fill as u8 as i64),
        _ => Scalar::from(fill),
    }
}

/// The source pixels along a dimension that is reflected behind its edges.
fn symmetric(image: &Tensor, before: usize, after: usize, size: usize) -> Result<Tensor> {
    if before.max(after) > size {
        let most = before.max(after);
        let problem = format!("there are {size} pixels to reflect");
        return Err(Error::argument("pad", "padding", most, problem));
    }
    let reflected = (0..before)
        .rev()
        .chain(0..size)
        .chain((size - after..size).rev());
    let places: Vec<i64> = reflected.map(|i| i as i64).collect();
    Tensor::from(places).to_device(&image.device())
}
