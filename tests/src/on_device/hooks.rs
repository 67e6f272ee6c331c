use std::sync::{Arc, Mutex};

use module_nn::prelude::*;

use super::{Net, Seen, batch};

/// Hooks of every kind that read and replace what they see, in the order in which they run.
///
/// # Errors
///
/// None that is expected.
pub fn hooks(device: &Device) -> Result<Seen> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let log = |name: &'static str| {
        let seen = Arc::clone(&seen);
        move |path: &str, x: &Tensor| {
            let mut seen = seen.lock().unwrap();
            seen.text(name, &(path, x.shape(), x.dtype()));
            seen.values(name, x)
        }
    };
    let device = *device;
    let there = move |x: &Tensor| assert_eq!(x.device(), device);
    let model = Net::new(&device)?;
    let (before, after) = (log("forward pre"), log("forward"));
    let (grad_before, grad_after) = (log("backward pre"), log("backward"));
    let _handles = [
        model.first.register_forward_pre_hook(move |call| {
            let x = call.tracked_inputs().remove(0);
            there(&x);
            before(call.path(), &x)?;
            call.set_input(x.mul(0.5)?)
        }),
        model.norm.register_forward_hook(move |call| {
            let y = call.tracked_outputs().remove(0);
            there(&y);
            after(call.path(), &y)?;
            call.set_output(y.add(1.0)?)
        }),
        model.head.register_full_backward_pre_hook(move |call| {
            let mut grads = call.grad_outputs();
            for grad in grads.iter_mut().flatten() {
                there(grad);
                grad_before(call.path(), grad)?;
                *grad = grad.mul(2.0)?;
            }
            call.set_grad_outputs(grads)
        }),
        model.norm.register_full_backward_hook(move |call| {
            let mut grads = call.grad_inputs();
            for grad in grads.iter_mut().flatten() {
                there(grad);
                grad_after(call.path(), grad)?;
                *grad = grad.mul(-3.0)?;
            }
            call.set_grad_inputs(grads)
        }),
    ];
    let weight = model.head.weight();
    let accumulated = log("accumulated");
    let _handle = weight.register_post_accumulate_grad_hook(move |p| {
        accumulated("head.weight", &p.grad().unwrap())
    });
    let (x, y) = batch(5, &device)?;
    let x = x.with_grad()?;
    let loss = CrossEntropyLoss::new().loss(&model.call(x.clone())?, &y)?;
    loss.backward()?;
    let mut seen = seen.lock().unwrap();
    seen.values("loss", &loss)?;
    seen.values("input", &x.grad().unwrap())?;
    for (path, parameter) in model.named_parameters() {
        let grad = parameter.grad().unwrap();
        there(&grad);
        seen.values(path, &grad)?;
    }
    Ok(std::mem::take(&mut *seen))
}
