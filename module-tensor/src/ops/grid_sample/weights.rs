//! The weights of the pixels around locations as tensors.

use crate::Result;
use crate::backend::GridSampleMode;
use crate::tensor::Tensor;

const A: f64 = -0.75;

/// The polynomials of cubic interpolation up to the distance of a pixel, and beyond.
const NEAR: [f64; 4] = [A + 2.0, -(A + 3.0), 0.0, 1.0];
const FAR: [f64; 4] = [A, -5.0 * A, 8.0 * A, -4.0 * A];

/// The weights of the neighbors of locations in pixels, along one dimension.
pub(super) fn weights_along(mode: GridSampleMode, location: &Tensor) -> Result<Vec<Tensor>> {
    let cubic = |t: &Tensor, [cube, square, line, constant]: [f64; 4]| {
        let sum = t.mul(cube)?.add(square)?.mul(t)?.add(line)?.mul(t)?;
        sum.add(constant)
    };
    Ok(match mode {
        GridSampleMode::Bilinear => {
            let [before, after] = sides(location)?;
            vec![before, after]
        }
        // NaN of a location is NaN of its weight.
        GridSampleMode::Nearest => vec![location.isnan()?.where_(location, 1.0)?],
        GridSampleMode::Bicubic => {
            let [before, after] = sides(location)?;
            vec![
                cubic(&after.add(1.0)?, FAR)?,
                cubic(&after, NEAR)?,
                cubic(&before, NEAR)?,
                cubic(&before.add(1.0)?, FAR)?,
            ]
        }
    })
}

/// The derivatives of [`weights_along`] with respect to the location.
pub(super) fn changes_along(mode: GridSampleMode, location: &Tensor) -> Result<Vec<Tensor>> {
    let slope = |t: &Tensor, [cube, square, line, _]: [f64; 4]| {
        let sum = t.mul(3.0 * cube)?.add(2.0 * square)?;
        sum.mul(t)?.add(line)
    };
    Ok(match mode {
        GridSampleMode::Bilinear => {
            let one = location.ones_like()?;
            vec![one.neg()?, one]
        }
        GridSampleMode::Nearest => vec![location.zeros_like()?],
        GridSampleMode::Bicubic => {
            let [before, after] = sides(location)?;
            vec![
                slope(&after.add(1.0)?, FAR)?,
                slope(&after, NEAR)?,
                slope(&before, NEAR)?.neg()?,
                slope(&before.add(1.0)?, FAR)?.neg()?,
            ]
        }
    })
}

/// How far locations lie before the next pixel, and after the one before.
fn sides(location: &Tensor) -> Result<[Tensor; 2]> {
    let after = location.sub(&location.detach().floor()?)?;
    Ok([after.neg()?.add(1.0)?, after])
}

/// The weights of all neighbors, `[batch, neighbors, locations]`, from those along each dimension.
pub(super) fn products(dims: &[Vec<Tensor>]) -> Result<Tensor> {
    let mut all: Vec<Tensor> = Vec::new();
    for along in dims {
        if all.is_empty() {
            all.clone_from(along);
            continue;
        }
        let pairs = all.iter().flat_map(|a| along.iter().map(move |b| a.mul(b)));
        all = pairs.collect::<Result<_>>()?;
    }
    Tensor::stack(&all.iter().collect::<Vec<_>>(), 1)
}
