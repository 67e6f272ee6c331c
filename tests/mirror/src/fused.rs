//! The mirror's fused families.

use module_tensor::backend::{
    AttentionGeometry, AttentionInputs, AttentionKernels, Backend, CrossEntropyGeometry,
    CrossEntropyInputs, CrossEntropyKernels, CtcGeometry, CtcKernels, GridSampleGeometry,
    GridSampleKernels, NormGeometry, NormGradients, NormInputs, NormKernels, Normalized, Operand,
    RecurrentGeometry, RecurrentGradients, RecurrentInputs, RecurrentKernels, RecurrentNeeds,
    RecurrentStates, Saved, SoftmaxKernels, SoftmaxOp, Storage,
};
use module_tensor::{Device, Result};

use crate::inputs::Inputs;
use crate::{Family, Mirror};

/// The CPU's kernels of a family.
fn of_cpu<K: ?Sized>(
    family: impl FnOnce(&'static dyn Backend) -> Option<&'static K>,
) -> Result<&'static K> {
    family(Device::cpu().backend()).ok_or_else(|| Device::cpu().unavailable("mirror"))
}

impl SoftmaxKernels for Mirror {
    fn softmax_backward(
        &self,
        op: SoftmaxOp,
        grad: Operand,
        y: Operand,
        dim: usize,
    ) -> Result<Storage> {
        let (grad, y) = (self.read(grad)?, self.read(y)?);
        let cpu = of_cpu(|cpu| cpu.softmax_family())?;
        Ok(self.hide(cpu.softmax_backward(op, grad, y, dim)?))
    }

    fn logsumexp(&self, x: Operand, dim: usize) -> Result<(Storage, Saved)> {
        let x = self.take(Family::Softmax, x)?;
        let (y, saved) = of_cpu(|cpu| cpu.softmax_family())?.logsumexp(x, dim)?;
        Ok((self.hide(y), self.keep(saved)))
    }

    fn logsumexp_backward(
        &self,
        grad: Operand,
        x: Operand,
        saved: &Saved,
        dim: usize,
    ) -> Result<Storage> {
        let x = self.take(Family::Softmax, x)?;
        let (grad, saved) = (self.read(grad)?, self.kept(saved)?);
        let cpu = of_cpu(|cpu| cpu.softmax_family())?;
        Ok(self.hide(cpu.logsumexp_backward(grad, x, saved, dim)?))
    }
}

impl NormKernels for Mirror {
    fn forward(&self, inputs: NormInputs, geometry: &NormGeometry) -> Result<Normalized> {
        let inputs = self.take(Family::Norm, inputs)?;
        let out = of_cpu(|cpu| cpu.normalization())?.forward(inputs, geometry)?;
        Ok(Normalized {
            output: self.hide(out.output),
            statistics: out.statistics.map(|all| self.hide_all(all)),
            saved: self.keep(out.saved),
        })
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: NormInputs,
        saved: &Saved,
        geometry: &NormGeometry,
    ) -> Result<NormGradients> {
        let inputs = self.take(Family::Norm, inputs)?;
        let (grad, saved) = (self.read(grad)?, self.kept(saved)?);
        let cpu = of_cpu(|cpu| cpu.normalization())?;
        let grads = cpu.backward(grad, inputs, saved, geometry)?;
        Ok(NormGradients {
            x: self.hide(grads.x),
            weight: grads.weight.map(|x| self.hide(x)),
            bias: grads.bias.map(|x| self.hide(x)),
        })
    }
}

impl CrossEntropyKernels for Mirror {
    fn forward(
        &self,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<(Storage, Saved)> {
        let inputs = self.take(Family::CrossEntropy, inputs)?;
        let (losses, saved) = of_cpu(|cpu| cpu.cross_entropy())?.forward(inputs, geometry)?;
        Ok((self.hide(losses), self.keep(saved)))
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: CrossEntropyInputs,
        saved: &Saved,
        geometry: &CrossEntropyGeometry,
    ) -> Result<Storage> {
        let inputs = self.take(Family::CrossEntropy, inputs)?;
        let (grad, saved) = (self.read(grad)?, self.kept(saved)?);
        let cpu = of_cpu(|cpu| cpu.cross_entropy())?;
        Ok(self.hide(cpu.backward(grad, inputs, saved, geometry)?))
    }
}

impl GridSampleKernels for Mirror {
    fn forward(&self, x: Operand, grid: Operand, geometry: &GridSampleGeometry) -> Result<Storage> {
        let (x, grid) = (self.take(Family::GridSample, x)?, self.read(grid)?);
        let cpu = of_cpu(|cpu| cpu.grid_sample())?;
        Ok(self.hide(cpu.forward(x, grid, geometry)?))
    }

    fn backward(
        &self,
        grad: Operand,
        x: Operand,
        grid: Operand,
        needs: [bool; 2],
        geometry: &GridSampleGeometry,
    ) -> Result<[Option<Storage>; 2]> {
        let (x, grid) = (self.take(Family::GridSample, x)?, self.read(grid)?);
        let cpu = of_cpu(|cpu| cpu.grid_sample())?;
        let grads = cpu.backward(self.read(grad)?, x, grid, needs, geometry)?;
        Ok(grads.map(|grad| grad.map(|grad| self.hide(grad))))
    }
}

impl CtcKernels for Mirror {
    fn forward(&self, x: Operand, geometry: &CtcGeometry) -> Result<Storage> {
        let x = self.take(Family::Ctc, x)?;
        Ok(self.hide(of_cpu(|cpu| cpu.ctc())?.forward(x, geometry)?))
    }

    fn backward(&self, grad: Operand, x: Operand, geometry: &CtcGeometry) -> Result<Storage> {
        let (grad, x) = (self.read(grad)?, self.take(Family::Ctc, x)?);
        Ok(self.hide(of_cpu(|cpu| cpu.ctc())?.backward(grad, x, geometry)?))
    }
}

impl AttentionKernels for Mirror {
    fn forward(
        &self,
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<(Storage, Saved)> {
        let inputs = self.take(Family::Attention, inputs)?;
        let (out, saved) = of_cpu(|cpu| cpu.attention())?.forward(inputs, geometry)?;
        Ok((self.hide(out), self.keep(saved)))
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: AttentionInputs,
        saved: &Saved,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]> {
        let inputs = self.take(Family::Attention, inputs)?;
        let (grad, saved) = (self.read(grad)?, self.kept(saved)?);
        let cpu = of_cpu(|cpu| cpu.attention())?;
        Ok(self.hide_all(cpu.backward(grad, inputs, saved, geometry)?))
    }
}

impl RecurrentKernels for Mirror {
    fn forward(
        &self,
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentStates> {
        let inputs = self.take(Family::Recurrent, inputs)?;
        let states = of_cpu(|cpu| cpu.recurrent())?.forward(inputs, geometry)?;
        Ok(RecurrentStates {
            hidden: self.hide(states.hidden),
            cell: states.cell.map(|c| self.hide(c)),
            saved: self.keep(states.saved),
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
        let inputs = self.take(Family::Recurrent, inputs)?;
        let (grads, saved) = (grads.behind(self)?, self.kept(saved)?);
        let cpu = of_cpu(|cpu| cpu.recurrent())?;
        let grads = cpu.backward(grads, inputs, saved, needed, geometry)?;
        let hide = |x: Option<Storage>| x.map(|x| self.hide(x));
        Ok(RecurrentGradients {
            gates: self.hide(grads.gates),
            hidden: self.hide(grads.hidden),
            cell: hide(grads.cell),
            weight: hide(grads.weight),
            bias: hide(grads.bias),
            projection: hide(grads.projection),
        })
    }
}
