//! The families of kernels that do several steps at once.

use super::super::{
    AttentionKernels, CrossEntropyKernels, CtcKernels, GridSampleKernels, NormKernels,
    RecurrentKernels, SoftmaxKernels,
};
use super::backend::CpuBackend;
use super::compute::{Compute, dtype_of, rounded, rounded_if};
use super::{
    AttentionGeometry, AttentionInputs, CrossEntropyGeometry, CrossEntropyInputs, CtcGeometry,
    GridSampleGeometry, NormGeometry, NormGradients, NormInputs, Normalized, Operand,
    RecurrentGeometry, RecurrentGradients, RecurrentInputs, RecurrentNeeds, RecurrentStates, Saved,
    SoftmaxOp, Storage,
};
use super::{
    attention, cross_entropy, ctc, logsumexp, map, normalize, recurrent, sample, scan, softmax,
};
use crate::Result;
use crate::layout::Layout;

impl SoftmaxKernels for CpuBackend {
    fn softmax_backward(
        &self,
        op: SoftmaxOp,
        grad: Operand,
        y: Operand,
        dim: usize,
    ) -> Result<Storage> {
        softmax::softmax_backward(op, &grad, &y, dim)
    }

    fn logsumexp(&self, x: Operand, dim: usize) -> Result<(Storage, Saved)> {
        let dtype = x.storage.dtype();
        let y = logsumexp::logsumexp(&x.computed_in(map::wide(dtype))?, dim)?;
        Ok((rounded(y.clone(), dtype)?, Saved::new([y])))
    }

    fn logsumexp_backward(
        &self,
        grad: Operand,
        x: Operand,
        saved: &Saved,
        dim: usize,
    ) -> Result<Storage> {
        let [y] = saved.storages("logsumexp")?;
        let layout = Layout::contiguous(x.layout.shape().reduced(&[dim], true));
        let storage = y.clone();
        let y = Operand { storage, layout };
        let dtype = x.storage.dtype();
        let compute = map::wide(dtype);
        let (grad, x) = (grad.computed_in(compute)?, x.computed_in(compute)?);
        rounded(logsumexp::logsumexp_backward(&grad, &x, &y, dim)?, dtype)
    }

    fn logcumsumexp(&self, x: Operand, dim: usize, reverse: bool) -> Result<Option<Storage>> {
        scan::logcumsumexp(x, dim, reverse).map(Some)
    }
}

impl NormKernels for CpuBackend {
    fn forward(&self, inputs: NormInputs, geometry: &NormGeometry) -> Result<Normalized> {
        let dtype = inputs.x.storage.dtype();
        let inputs = inputs.computed_in(geometry.compute)?;
        let out = normalize::normalize(&inputs, geometry)?;
        Ok(Normalized {
            output: rounded(out.output, dtype)?,
            ..out
        })
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: NormInputs,
        saved: &Saved,
        geometry: &NormGeometry,
    ) -> Result<NormGradients> {
        let dtype = inputs.x.storage.dtype();
        let [weight, bias] = [&inputs.weight, &inputs.bias].map(|x| dtype_of(x.as_ref()));
        let grad = grad.computed_in(geometry.compute)?;
        let inputs = NormInputs {
            x: inputs.x.computed_in(geometry.compute)?,
            weight: inputs.weight.computed_in(geometry.compute)?,
            ..inputs
        };
        let grads = normalize::normalize_backward(&grad, &inputs, saved, geometry)?;
        Ok(NormGradients {
            x: rounded(grads.x, dtype)?,
            weight: rounded_if(grads.weight, weight)?,
            bias: rounded_if(grads.bias, bias)?,
        })
    }
}

impl CrossEntropyKernels for CpuBackend {
    fn forward(
        &self,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<(Storage, Saved)> {
        cross_entropy::cross_entropy(&inputs.computed_in(geometry.compute)?, geometry)
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: CrossEntropyInputs,
        saved: &Saved,
        geometry: &CrossEntropyGeometry,
    ) -> Result<Storage> {
        let dtype = inputs.x.storage.dtype();
        let grad = grad.computed_in(geometry.compute)?;
        let inputs = inputs.computed_in(geometry.compute)?;
        let slope = cross_entropy::cross_entropy_backward(&grad, &inputs, saved, geometry)?;
        rounded(slope, dtype)
    }
}

impl GridSampleKernels for CpuBackend {
    fn forward(&self, x: Operand, grid: Operand, geometry: &GridSampleGeometry) -> Result<Storage> {
        let dtype = x.storage.dtype();
        let compute = map::wide(dtype);
        let (x, grid) = (x.computed_in(compute)?, grid.computed_in(compute)?);
        rounded(sample::grid_sample(&x, &grid, geometry)?, dtype)
    }

    fn backward(
        &self,
        grad: Operand,
        x: Operand,
        grid: Operand,
        needs: [bool; 2],
        geometry: &GridSampleGeometry,
    ) -> Result<[Option<Storage>; 2]> {
        let dtype = x.storage.dtype();
        let compute = map::wide(dtype);
        let (grad, x) = (grad.computed_in(compute)?, x.computed_in(compute)?);
        let grid = grid.computed_in(compute)?;
        let [x, grid] = sample::grid_sample_backward(&grad, &x, &grid, needs, geometry)?;
        let rounded = |grad: Option<Storage>| grad.map(|grad| rounded(grad, dtype)).transpose();
        Ok([rounded(x)?, rounded(grid)?])
    }
}

impl CtcKernels for CpuBackend {
    fn forward(&self, x: Operand, geometry: &CtcGeometry) -> Result<Storage> {
        ctc::ctc(&x.computed_in(geometry.compute)?, geometry)
    }

    fn backward(&self, grad: Operand, x: Operand, geometry: &CtcGeometry) -> Result<Storage> {
        let dtype = x.storage.dtype();
        let grad = grad.computed_in(geometry.compute)?;
        let x = x.computed_in(geometry.compute)?;
        rounded(ctc::ctc_backward(&grad, &x, geometry)?, dtype)
    }
}

impl AttentionKernels for CpuBackend {
    fn forward(
        &self,
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<(Storage, Saved)> {
        let dtype = inputs.query.storage.dtype();
        let inputs = inputs.computed_in(geometry.compute)?;
        let (out, saved) = attention::attention(&inputs, geometry)?;
        Ok((rounded(out, dtype)?, saved))
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: AttentionInputs,
        saved: &Saved,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]> {
        let dtypes = [&inputs.query, &inputs.key, &inputs.value].map(|x| x.storage.dtype());
        let grad = grad.computed_in(geometry.compute)?;
        let inputs = inputs.computed_in(geometry.compute)?;
        let [query, key, value] = attention::attention_backward(&grad, &inputs, saved, geometry)?;
        Ok([
            rounded(query, dtypes[0])?,
            rounded(key, dtypes[1])?,
            rounded(value, dtypes[2])?,
        ])
    }
}

impl RecurrentKernels for CpuBackend {
    fn forward(
        &self,
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentStates> {
        let dtype = inputs.gates.storage.dtype();
        let inputs = inputs.computed_in(geometry.compute)?;
        let states = recurrent::recurrent(&inputs, geometry)?;
        Ok(RecurrentStates {
            hidden: rounded(states.hidden, dtype)?,
            cell: rounded_if(states.cell, Some(dtype))?,
            saved: states.saved,
        })
    }

    fn backward(
        &self,
        grads: [Option<Operand>; 2],
        inputs: RecurrentInputs,
        saved: &Saved,
        needed: RecurrentNeeds,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentGradients> {
        let [gates, hidden, weight] =
            [&inputs.gates, &inputs.hidden, &inputs.weight].map(|x| x.storage.dtype());
        let [cell, bias, projection] =
            [&inputs.cell, &inputs.bias, &inputs.projection].map(|x| dtype_of(x.as_ref()));
        let grads = grads.computed_in(geometry.compute)?;
        let inputs = inputs.computed_in(geometry.compute)?;
        let grads = recurrent::recurrent_backward(&grads, &inputs, saved, needed, geometry)?;
        Ok(RecurrentGradients {
            gates: rounded(grads.gates, gates)?,
            hidden: rounded(grads.hidden, hidden)?,
            cell: rounded_if(grads.cell, cell)?,
            weight: rounded_if(grads.weight, Some(weight))?,
            bias: rounded_if(grads.bias, bias)?,
            projection: rounded_if(grads.projection, projection)?,
        })
    }
}
