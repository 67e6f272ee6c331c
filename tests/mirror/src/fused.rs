//! The fused families, behind the mirror.

use module_tensor::backend::{
    AdamWKernels, AdamWMemory, AdamWStep, AttentionGeometry, AttentionInputs, AttentionKernels,
    Backend, CrossEntropyGeometry, CrossEntropyInputs, CrossEntropyKernels, NormGeometry,
    NormInputs, NormKernels, Normalised, Operand, RecurrentGeometry, RecurrentInputs,
    RecurrentKernels, RecurrentSlopes, SoftmaxKernels, SoftmaxOp, Storage,
};
use module_tensor::{Device, Result};

use crate::Mirror;
use crate::inputs::Inputs;
use crate::storage::MirrorStorage;

/// The CPU's kernels of a family, which it has.
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

    fn logsumexp(&self, x: Operand, dim: usize) -> Result<Storage> {
        let cpu = of_cpu(|cpu| cpu.softmax_family())?;
        Ok(self.hide(cpu.logsumexp(self.read(x)?, dim)?))
    }

    fn logsumexp_backward(
        &self,
        grad: Operand,
        x: Operand,
        y: Operand,
        dim: usize,
    ) -> Result<Storage> {
        let (grad, x, y) = (self.read(grad)?, self.read(x)?, self.read(y)?);
        let cpu = of_cpu(|cpu| cpu.softmax_family())?;
        Ok(self.hide(cpu.logsumexp_backward(grad, x, y, dim)?))
    }
}

impl NormKernels for Mirror {
    fn forward(&self, inputs: NormInputs, geometry: &NormGeometry) -> Result<Normalised> {
        let cpu = of_cpu(|cpu| cpu.normalization())?;
        Ok(self.hide_norm(cpu.forward(inputs.behind(self)?, geometry)?))
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: NormInputs,
        geometry: &NormGeometry,
    ) -> Result<[Storage; 3]> {
        let (grad, inputs) = (self.read(grad)?, inputs.behind(self)?);
        let cpu = of_cpu(|cpu| cpu.normalization())?;
        Ok(self.hide_all(cpu.backward(grad, inputs, geometry)?))
    }
}

impl CrossEntropyKernels for Mirror {
    fn forward(
        &self,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<[Storage; 2]> {
        let cpu = of_cpu(|cpu| cpu.cross_entropy())?;
        Ok(self.hide_all(cpu.forward(inputs.behind(self)?, geometry)?))
    }

    fn backward(
        &self,
        grad: Operand,
        log: Operand,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<Storage> {
        let (grad, log, inputs) = (self.read(grad)?, self.read(log)?, inputs.behind(self)?);
        let cpu = of_cpu(|cpu| cpu.cross_entropy())?;
        Ok(self.hide(cpu.backward(grad, log, inputs, geometry)?))
    }
}

impl AttentionKernels for Mirror {
    fn forward(
        &self,
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 2]> {
        let cpu = of_cpu(|cpu| cpu.attention())?;
        Ok(self.hide_all(cpu.forward(inputs.behind(self)?, geometry)?))
    }

    fn backward(
        &self,
        grad: Operand,
        outputs: [Operand; 2],
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]> {
        let (grad, outputs) = (self.read(grad)?, outputs.behind(self)?);
        let cpu = of_cpu(|cpu| cpu.attention())?;
        Ok(self.hide_all(cpu.backward(grad, outputs, inputs.behind(self)?, geometry)?))
    }
}

impl RecurrentKernels for Mirror {
    fn forward(
        &self,
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<[Storage; 2]> {
        let cpu = of_cpu(|cpu| cpu.recurrent())?;
        Ok(self.hide_all(cpu.forward(inputs.behind(self)?, geometry)?))
    }

    fn backward(
        &self,
        grad: Operand,
        outputs: [Operand; 2],
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentSlopes> {
        let (grad, outputs) = (self.read(grad)?, outputs.behind(self)?);
        let cpu = of_cpu(|cpu| cpu.recurrent())?;
        Ok(self.hide_slopes(cpu.backward(grad, outputs, inputs.behind(self)?, geometry)?))
    }
}

impl AdamWKernels for Mirror {
    fn step(
        &self,
        value: Operand,
        grad: Operand,
        moments: AdamWMemory<'_>,
        step: &AdamWStep,
    ) -> Result<Storage> {
        let (value, grad) = (self.read(value)?, self.read(grad)?);
        let device = self.device();
        let behind = |x: &Storage| -> Result<Storage> {
            let data: &MirrorStorage = x.data("adamw", device)?;
            Ok(data.behind.clone())
        };
        let mut exp_avg = behind(moments.exp_avg)?;
        let mut exp_avg_sq = behind(moments.exp_avg_sq)?;
        let most = moments.max_exp_avg_sq.as_deref().map(behind);
        let mut most = most.transpose()?;
        let inner = AdamWMemory {
            exp_avg: &mut exp_avg,
            exp_avg_sq: &mut exp_avg_sq,
            max_exp_avg_sq: most.as_mut(),
        };
        let moved = of_cpu(|cpu| cpu.adamw())?.step(value, grad, inner, step)?;
        *moments.exp_avg = self.hide(exp_avg);
        *moments.exp_avg_sq = self.hide(exp_avg_sq);
        if let (Some(to), Some(most)) = (moments.max_exp_avg_sq, most) {
            *to = self.hide(most);
        }
        Ok(self.hide(moved))
    }
}
