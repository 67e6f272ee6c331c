//! The losses of connectionist temporal classification by the kernel of a device.

use module_core::autograd::grad_with;
use module_core::backend::CtcGeometry;
use module_core::{
    Backward, BackwardOptions, Function, Gradients, Layout, Result, Tensor, is_grad_enabled,
};

use super::composed;

/// The loss of each sequence, `[batch]`, in the dtype of the computation: infinite for an impossible target.
pub(super) fn losses(x: &Tensor, geometry: CtcGeometry) -> Result<Tensor> {
    let device = x.device();
    let Some(kernels) = device.backend().ctc() else {
        return composed::losses(x, &geometry);
    };
    let losses = kernels.forward(x.operand(), &geometry)?;
    let layout = Layout::contiguous(geometry.targets.len().into());
    let losses = Tensor::from_storage(losses, layout);
    Ok(losses.record([x], |_| CtcLosses {
        x: x.clone(),
        geometry,
    }))
}

struct CtcLosses {
    x: Tensor,
    geometry: CtcGeometry,
}

impl CtcLosses {
    /// The same as the kernel, with a graph: the gradient of the composed losses.
    fn formula(&self, grad: &Tensor) -> Result<Option<Tensor>> {
        // A tensor of its own, so that hooks on the input do not see this pass.
        let x = self.x.unsqueeze(0)?.squeeze(0)?;
        let losses = composed::losses(&x, &self.geometry)?;
        let options = BackwardOptions::new().create_graph(true);
        let mut grads = grad_with(&[&losses], &[grad], &[&x], options)?;
        Ok(grads.pop().flatten())
    }
}

impl Function for CtcLosses {
    fn name(&self) -> &'static str {
        "ctc_loss"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (x, grad) = (&self.x, ctx.grad());
        let device = x.device();
        let gradient = match device.backend().ctc() {
            Some(kernels) if !is_grad_enabled() => {
                let gradient = kernels.backward(grad.operand(), x.operand(), &self.geometry)?;
                let layout = Layout::contiguous(x.shape().clone());
                Some(Tensor::from_storage(gradient, layout))
            }
            _ => self.formula(grad)?,
        };
        Ok([gradient].into_iter().collect())
    }
}
