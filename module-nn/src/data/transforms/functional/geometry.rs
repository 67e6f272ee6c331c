use std::ops::Range;

use module_core::{Error, Result, Tensor};

use super::check::image_sizes;

/// The image mirrored left to right.
///
/// # Errors
///
/// A tensor that is not an image.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::horizontal_flip;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[1_u8, 2, 3]]]);
/// assert_eq!(horizontal_flip(&image)?.to_vec::<u8>()?, [3, 2, 1]);
/// # Ok::<(), Error>(())
/// ```
#[doc(alias = "hflip")]
pub fn horizontal_flip(image: &Tensor) -> Result<Tensor> {
    image_sizes("horizontal_flip", image)?;
    image.flip(-1)
}

/// The image mirrored top to bottom.
///
/// # Errors
///
/// A tensor that is not an image.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::vertical_flip;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[1_u8], [2]]]);
/// assert_eq!(vertical_flip(&image)?.to_vec::<u8>()?, [2, 1]);
/// # Ok::<(), Error>(())
/// ```
#[doc(alias = "vflip")]
pub fn vertical_flip(image: &Tensor) -> Result<Tensor> {
    image_sizes("vertical_flip", image)?;
    image.flip(-2)
}

/// The part of `size` pixels (height, width) from `start` (top, left) on. Pixels outside the image are 0.
///
/// # Errors
///
/// A tensor that is not an image.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::crop;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[1_u8, 2], [3, 4]]]);
/// assert_eq!(crop(&image, [1, -1], [1, 3])?.to_vec::<u8>()?, [0, 3, 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn crop(image: &Tensor, start: [isize; 2], size: [usize; 2]) -> Result<Tensor> {
    const OP: &str = "crop";
    let [_, height, width] = image_sizes(OP, image)?;
    let [top, left] = start;
    let (rows, above, below) = part(OP, top, size[0], height)?;
    let (columns, before, behind) = part(OP, left, size[1], width)?;
    let inside = image.narrow(-2, rows)?.narrow(-1, columns)?;
    let around = [before, behind, above, below];
    match around == [0; 4] {
        true => Ok(inside),
        false => inside.pad(around.map(|amount| amount as isize), 0),
    }
}

/// The part of a dimension that lies inside, and the padding before and after it.
fn part(
    op: &'static str,
    start: isize,
    size: usize,
    of: usize,
) -> Result<(Range<usize>, usize, usize)> {
    let end = isize::try_from(size)
        .ok()
        .and_then(|size| start.checked_add(size));
    let end = end.ok_or_else(|| Error::argument(op, "size", size, "is too large"))?;
    let inside = |place: isize| usize::try_from(place).unwrap_or(0).min(of);
    let (first, last) = (inside(start), inside(end));
    let before = size.min(start.min(0).unsigned_abs());
    Ok((first..last, before, size - before - (last - first)))
}

/// The center of the image, of `size` pixels (height, width); a smaller image is padded with zeros.
///
/// # Errors
///
/// A tensor that is not an image.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::center_crop;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[1_u8, 2, 3, 4, 5]]]);
/// assert_eq!(center_crop(&image, [1, 3])?.to_vec::<u8>()?, [2, 3, 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn center_crop(image: &Tensor, size: [usize; 2]) -> Result<Tensor> {
    let [_, height, width] = image_sizes("center_crop", image)?;
    let start = |size: usize, of: usize| match size > of {
        // The padding is split in half; the larger half goes after.
        true => -(((size - of) / 2) as isize),
        // Half pixels are rounded to even, as in Python.
        false => ((of - size) as f64 / 2.0).round_ties_even() as isize,
    };
    crop(image, [start(size[0], height), start(size[1], width)], size)
}

/// The image with `value` in a rectangle from `start` (top, left) on; the value is broadcast to
/// `[…, channels, height, width]` of the rectangle.
///
/// # Errors
///
/// A tensor that is not an image, a rectangle out of bounds, a value that does not broadcast.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::functional::erase;
/// use module_nn::prelude::*;
///
/// let image = Tensor::from([[[1_u8, 2], [3, 4]]]);
/// let erased = erase(&image, [0, 1], [2, 1], &Tensor::from(0_u8))?;
/// assert_eq!(erased.to_vec::<u8>()?, [1, 0, 3, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn erase(
    image: &Tensor,
    start: [usize; 2],
    size: [usize; 2],
    value: &Tensor,
) -> Result<Tensor> {
    const OP: &str = "erase";
    let [_, height, width] = image_sizes(OP, image)?;
    let range = |i: usize, of: usize| -> Result<Range<usize>> {
        let end = start[i].checked_add(size[i]).filter(|end| *end <= of);
        let end = end.ok_or_else(|| {
            let rectangle = format_args!("{start:?} and {size:?}");
            Error::argument(
                OP,
                "start and size",
                rectangle,
                format!("must lie within [{height}, {width}]"),
            )
        })?;
        Ok(start[i]..end)
    };
    put(image, range(0, height)?, range(1, width)?, value)
}

/// The image with other pixels in a rectangle.
pub(in super::super) fn put(
    image: &Tensor,
    rows: Range<usize>,
    columns: Range<usize>,
    value: &Tensor,
) -> Result<Tensor> {
    let [.., height, width] = image.shape()[..] else {
        return Ok(image.clone());
    };
    let inside = |range: Range<usize>, of: usize, shape: [usize; 2]| {
        let inside = (0..of).map(|i| range.contains(&i)).collect::<Vec<bool>>();
        Tensor::from_vec(inside, shape)?.to_device(&image.device())
    };
    let place = inside(rows.clone(), height, [height, 1])?;
    let place = place.logical_and(&inside(columns.clone(), width, [1, width])?)?;
    let value = value.to_dtype(image.dtype())?;
    // Padding moves the rectangle's own mask to its position; the value is used there.
    let mut shape = image.shape().to_vec();
    if let [.., y, x] = &mut shape[..] {
        (*y, *x) = (rows.len(), columns.len());
    }
    let around = [
        columns.start,
        width - columns.end,
        rows.start,
        height - rows.end,
    ];
    let value = value
        .expand(shape)?
        .pad(around.map(|amount| amount as isize), 0)?;
    place.where_(&value, image)
}
