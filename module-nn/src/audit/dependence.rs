//! Gradients of a call's output with respect to its input, and what they reveal.

use crate::autograd::grad_with;
use crate::{BackwardOptions, DType, Result, Tensor};

/// The gradient of `outputs`, with these output gradients, with respect to `input`, if they depend on it.
fn gradient(outputs: &[Tensor], grads: &[Tensor], input: &Tensor) -> Result<Option<Tensor>> {
    let outputs: Vec<&Tensor> = outputs.iter().collect();
    let grads: Vec<&Tensor> = grads.iter().collect();
    let keep = BackwardOptions::new().retain_graph(true);
    Ok(grad_with(&outputs, &grads, &[input], keep)?.pop().flatten())
}

/// The largest absolute values along a dimension, with every other one taken together.
fn magnitudes(grad: &Tensor, dim: usize) -> Result<Vec<f32>> {
    let rest = (0..grad.rank()).filter(|&other| other != dim);
    let rest: Vec<isize> = rest.map(|dim| dim as isize).collect();
    let sizes = grad.to_dtype(DType::F32)?.abs()?;
    let sizes = if rest.is_empty() {
        sizes
    } else {
        sizes.amax(rest)?
    };
    sizes.to_vec()
}

/// Numbers for each element that do not cancel in sums, as those of a softmax would.
fn weights(output: &Tensor) -> Result<Tensor> {
    let numbers = Tensor::arange(1, output.numel() as i64 + 1, DType::F32)?.sin()?;
    numbers
        .reshape(output.shape().clone())?
        .to_dtype(output.dtype())
}

/// The dependence that the gradient of one row of the output shows.
#[derive(Default)]
pub(super) struct Rows {
    /// A row of the output, and another row of the input on which it depends.
    pub(super) leak: Option<(usize, usize)>,
    /// The gradient of the row of the input that belongs to it.
    pub(super) of_own: Option<Tensor>,
}

/// What rows of the output show along the first of `dims`, which are the batch dimensions of the output and of the input;
/// no leak if rows are independent along any of them.
pub(super) fn rows(output: &Tensor, input: &Tensor, dims: &[(usize, usize)]) -> Result<Rows> {
    let mut first: Option<Rows> = None;
    for &(of_output, of_input) in dims {
        let sizes = [(output, of_output), (input, of_input)];
        let [rows, count] = sizes.map(|(tensor, dim)| tensor.shape().get(dim).copied());
        let (Some(count), true) = (count, rows == count) else {
            continue;
        };
        let found = rows_along(output, input, (of_output, of_input), count)?;
        if found.leak.is_none() {
            return Ok(found);
        }
        first.get_or_insert(found);
    }
    Ok(first.unwrap_or_default())
}

/// [`rows`] along one dimension of this many rows.
fn rows_along(
    output: &Tensor,
    input: &Tensor,
    (of_output, of_input): (usize, usize),
    count: usize,
) -> Result<Rows> {
    if count < 2 {
        return Ok(Rows::default());
    }
    let row = count / 2;
    let rows = Tensor::arange(0, count as i64, DType::I64)?.eq(row as i64)?;
    let mut sizes = vec![1; output.rank()];
    sizes[of_output] = count;
    let rows = rows.to_dtype(output.dtype())?.reshape(sizes)?;
    let grad = weights(output)?.mul(&rows)?;
    let Some(grad) = gradient(std::slice::from_ref(output), &[grad], input)? else {
        return Ok(Rows::default());
    };
    let others = magnitudes(&grad, of_input)?;
    let mut others = others.iter().enumerate();
    let other = others.find(|&(other, &size)| other != row && size > 0.0);
    Ok(Rows {
        leak: other.map(|(other, _)| (row, other)),
        of_own: Some(grad.narrow(of_input as isize, row..row + 1)?),
    })
}

/// Indices of an input dimension that no output depends on.
pub(super) struct Unused {
    pub(super) dim: usize,
    pub(super) indices: Vec<usize>,
    /// The size of the dimension.
    pub(super) size: usize,
    /// The probability that no row uses an index, if each row leaves it out as often as the indices that other rows use.
    pub(super) chance: f64,
}

/// The indices of an input, by dimension, that no output depends on. Indices that one row of the output depends on, by its
/// gradient, are used; the gradients of all outputs are computed only if that leaves some.
pub(super) fn unused(
    outputs: &[Tensor],
    input: &Tensor,
    batch: usize,
    of_row: Option<&Tensor>,
) -> Result<Vec<Unused>> {
    let dims = (0..input.rank()).filter(|&dim| dim != batch);
    let mut left: Vec<(usize, Vec<usize>)> = dims
        .map(|dim| (dim, (0..input.shape()[dim]).collect()))
        .collect();
    let mut remove_used = |grad: &Tensor| -> Result<bool> {
        for (dim, indices) in &mut left {
            let sizes = magnitudes(grad, *dim)?;
            // The gradient is that of one row, or of all.
            indices.retain(|&index| sizes.get(index).is_none_or(|&size| size == 0.0));
        }
        Ok(left.iter().all(|(_, indices)| indices.is_empty()))
    };
    let is_done = match of_row {
        Some(grad) => remove_used(grad)?,
        None => input.rank() < 2,
    };
    if is_done {
        return Ok(Vec::new());
    }
    let grads = outputs.iter().map(weights).collect::<Result<Vec<_>>>()?;
    let Some(grad) = gradient(outputs, &grads, input)? else {
        return Ok(Vec::new());
    };
    remove_used(&grad)?;
    // Other checks report an input that is not used at all, or a whole dimension of it.
    left.retain(|(dim, indices)| !indices.is_empty() && indices.len() < input.shape()[*dim]);
    let left = left.into_iter().map(|(dim, indices)| {
        let chance = chance(&grad, batch, dim, indices.len())?;
        Ok(Unused {
            dim,
            size: input.shape()[dim],
            indices,
            chance,
        })
    });
    left.collect()
}

/// The probability that, by chance, no row uses an index of a dimension, from how often a row does not use what others do:
/// a dropout leaves out different indices in each row.
fn chance(grad: &Tensor, batch: usize, dim: usize, unused: usize) -> Result<f64> {
    let (rows, size) = (grad.size(batch as isize)?, grad.size(dim as isize)?);
    let mut left_out = 0;
    for row in 0..rows {
        let sizes = magnitudes(&grad.narrow(batch as isize, row..row + 1)?, dim)?;
        left_out += sizes.iter().filter(|&&size| size == 0.0).count() - unused;
    }
    let often = left_out as f64 / (rows * (size - unused)) as f64;
    Ok(often.powi(rows as i32))
}
