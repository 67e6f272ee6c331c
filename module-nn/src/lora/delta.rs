//! The change of the weights that adapters amount to.

use module_core::{DType, Result, Shape, Tensor};

use super::adapters::{Adaptable, Held};

/// The product of the factors of an adapter in the shape of the layer's weight, without the scale.
pub(super) fn delta_weight(
    held: &Held,
    name: &str,
    adaptable: Adaptable,
    shape: &Shape,
) -> Result<Tensor> {
    if adaptable == Adaptable::Embedding {
        let table = held.embedding_a.get(name).zip(held.embedding_b.get(name));
        return match table {
            Some((a, b)) => b.tensor().matmul(&a.tensor())?.t(),
            None => Tensor::zeros(shape, ()),
        };
    }
    let Some((a, b)) = held.a.get(name).zip(held.b.get(name)) else {
        return Tensor::zeros(shape, ());
    };
    let (a, b) = (a.weight.tensor(), b.weight.tensor());
    if adaptable == Adaptable::TransposedLinear {
        return b.matmul(&a)?.t();
    }
    if a.rank() == 2 {
        return b.matmul(&a);
    }
    let (r, out) = (a.size(0)?, b.size(0)?);
    let product = b.reshape([out, r])?.matmul(&a.reshape([r as isize, -1])?)?;
    product.reshape(shape)
}

/// The length of each row of the weight plus an update, by which DoRA divides; for a table and a transposed weight, of each
/// column. It has the shape of DoRA's magnitude.
pub(super) fn weight_norm(weight: &Tensor, delta: &Tensor, adaptable: Adaptable) -> Result<Tensor> {
    let sum = weight.unpack()?.to_dtype(delta.dtype())?.add(delta)?;
    match adaptable {
        Adaptable::Embedding | Adaptable::TransposedLinear => sum.norm(2.0, 0),
        Adaptable::Conv { .. } => {
            let all: Vec<isize> = (1..sum.rank() as isize).collect();
            sum.norm_keepdim(2.0, all)?.transpose(0, 1)
        }
        _ => sum.norm(2.0, 1),
    }
}

/// A factor for each row of the weight, in a shape that multiplies it; for a table and a transposed weight, for each
/// column.
pub(super) fn along_weight(
    factor: &Tensor,
    weight: &Shape,
    adaptable: Adaptable,
) -> Result<Tensor> {
    match adaptable {
        Adaptable::Embedding | Adaptable::TransposedLinear => Ok(factor.clone()),
        _ => {
            let ones = std::iter::repeat_n(1, weight.len().saturating_sub(1));
            let sizes: Vec<isize> = [-1].into_iter().chain(ones).collect();
            factor.reshape(sizes.as_slice())
        }
    }
}

/// Sums of different dtypes use the wider one.
pub(super) fn add_wider(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (x_size, y_size) = (x.dtype().size_in_bytes(), y.dtype().size_in_bytes());
    let dtype = match x.dtype() == y.dtype() {
        true => return x.add(y),
        false if x_size == y_size => DType::F32,
        false if x_size > y_size => x.dtype(),
        false => y.dtype(),
    };
    x.to_dtype(dtype)?.add(&y.to_dtype(dtype)?)
}
