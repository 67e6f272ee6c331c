//! Resized images: one dimension after another, by tables of weights.

use module_tensor::backend::{LinearOp, Operand, ResampleGeometry, Storage};
use module_tensor::{DType, Layout, Result};

use super::resample_weights::{Weights, axis};
use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::map::Map;

const NAME: &str = "resample";

impl Gpu {
    pub(crate) fn resize_images(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &ResampleGeometry,
    ) -> Result<Storage> {
        let to = match op {
            LinearOp::Forward => &geometry.output,
            LinearOp::Backward => &geometry.input,
        };
        let Some(elem) = self.computes_in_f32(&x) else {
            return self.through_host(NAME, [x], to.numel(), |cpu, [x]| {
                cpu.resample(op, x, geometry)
            });
        };
        let dtype = x.storage.dtype();
        let mut x = self.in_order(NAME, x)?;
        let mut of = elem;
        let rank = geometry.scale.len();
        for dim in 0..rank {
            let (from, size) = (geometry.input[dim + 2], geometry.output[dim + 2]);
            let Some(weights) = axis(geometry.mode, from, size, geometry.scale[dim]) else {
                return Err(self.device().unavailable(NAME));
            };
            let weights = match op {
                LinearOp::Forward => weights,
                LinearOp::Backward => weights.transposed(from),
            };
            let last = dim + 1 == rank;
            // Between the dimensions, sums are not rounded.
            let out = if last { elem } else { Elem::F32 };
            x = self.resize(
                x,
                of,
                dim + 2,
                &weights,
                (out, if last { dtype } else { DType::F32 }),
            )?;
            of = out;
        }
        Ok(x.storage)
    }

    /// One dimension of an operand, resized.
    fn resize(
        &self,
        x: Operand,
        elem: Elem,
        dim: usize,
        weights: &Weights,
        (out, dtype): (Elem, DType),
    ) -> Result<Operand> {
        let mut shape = x.layout.shape().to_vec();
        let from = shape[dim];
        shape[dim] = weights.count();
        let inner: usize = shape[dim + 1..].iter().product();
        let table = self.table(&weights.words())?;
        let numel = shape.iter().product();
        let storage = self.map(Map {
            op: NAME,
            key: NAME.to_owned(),
            reads: &[
                (self.data(NAME, &x)?, elem),
                (self.data(NAME, &table)?, Elem::Bits4),
            ],
            out,
            dtype,
            numel,
            parameters: vec![
                word(NAME, from)?,
                word(NAME, weights.count())?,
                word(NAME, inner)?,
            ],
            index_size: None,
            code: &|| {
                "fn element(i: u32) -> f32 {
    let column = i % $4;
    let o = i / $4 % $3;
    let first = i / ($4 * $3) * $2;
    let begin = b(o);
    let end = b(o + 1u);
    if begin == end { return 0.0; }
    // The first is not added to a zero, which would make a zero of a negative one.
    var sum = bitcast<f32>(b(begin + 1u)) * a((first + b(begin)) * $4 + column);
    for (var s = begin + 2u; s < end; s += 2u) {
        sum += bitcast<f32>(b(s + 1u)) * a((first + b(s)) * $4 + column);
    }
    return sum;
}
"
                .to_owned()
            },
        })?;
        let layout = Layout::contiguous(shape.into());
        Ok(Operand { storage, layout })
    }
}
