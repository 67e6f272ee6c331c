//! The weights of cubic interpolation as tensors.

use crate::Result;
use crate::tensor::Tensor;

/// The weights of four neighbors, of which the location lies `t` after the second.
pub(super) fn cubic_weights(t: &Tensor) -> Result<Vec<Tensor>> {
    const A: f64 = -0.75;
    let polynomial = |t: &Tensor, [cube, square, line, constant]: [f64; 4]| {
        let sum = t.mul(cube)?.add(square)?.mul(t)?.add(line)?.mul(t)?;
        sum.add(constant)
    };
    let near = [A + 2.0, -(A + 3.0), 0.0, 1.0];
    let far = [A, -5.0 * A, 8.0 * A, -4.0 * A];
    let rest = t.neg()?.add(1.0)?;
    Ok(vec![
        polynomial(&t.add(1.0)?, far)?,
        polynomial(t, near)?,
        polynomial(&rest, near)?,
        polynomial(&rest.add(1.0)?, far)?,
    ])
}
