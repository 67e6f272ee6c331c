//! Convolutions whose windows have one element: products of matrices, whose elements need not be looked up.

use module_tensor::backend::{ConvGeometry, ConvOp, Operand, Storage};
use module_tensor::{Layout, Result};

use super::matmul::{Finish, MatrixProduct};
use crate::elem::Elem;
use crate::gpu::Gpu;

/// Whether each output is computed from the channels of one element of the input.
fn is_pointwise(geometry: &ConvGeometry) -> bool {
    let are = |sizes: &[usize], size| sizes.iter().all(|&other| other == size);
    are(&geometry.weight[2..], 1)
        && are(&geometry.stride, 1)
        && are(&geometry.padding, 0)
        && geometry.input[2..] == geometry.output[2..]
}

impl Gpu {
    /// The result, or the gradient of the input, from what lies in order: the input, or the gradient of the output, `x`, and the
    /// weight. `None` for other convolutions, and for the gradient of the weight, whose sums are over images too.
    pub(super) fn convolve_points(
        &self,
        op: ConvOp,
        [x, weight]: [&Operand; 2],
        elem: Elem,
        geometry: &ConvGeometry,
    ) -> Result<Option<Storage>> {
        if !is_pointwise(geometry) || op == ConvOp::Weight {
            return Ok(None);
        }
        let (images, groups) = (geometry.input[0], geometry.groups.max(1));
        let (outs, ins) = (geometry.weight[0] / groups, geometry.weight[1]);
        let points = geometry.input[2..].iter().product::<usize>();
        // The channels of `x` and of the result, and the strides of the weight's row and column for these.
        let (channels, results, strides) = match op {
            ConvOp::Input => (outs, ins, [1, ins]),
            _ => (ins, outs, [ins, 1]),
        };
        let of_weight = Layout::within(
            [images, groups, results, channels].into(),
            &[0, outs * ins, strides[0], strides[1]],
            0,
            geometry.weight.numel(),
        );
        let Some(of_weight) = of_weight else {
            return Ok(None);
        };
        let weight = Operand {
            storage: weight.storage.clone(),
            layout: of_weight,
        };
        let x = Operand {
            storage: x.storage.clone(),
            layout: Layout::contiguous([images, groups, channels, points].into()),
        };
        let product = self.matrix_product(MatrixProduct {
            op: "convolution",
            factors: [&weight, &x],
            elem,
            out: (elem, x.storage.dtype()),
            finish: Finish::default(),
        })?;
        Ok(Some(product))
    }
}
