use super::{BackwardOptions, engine};
use crate::tensor::Tensor;
use crate::{Error, Result};

/// The gradients of the sum of one-element `outputs` with respect to `inputs`, without touching
/// the gradients that leaves keep: PyTorch's `torch.autograd.grad`.
///
/// An input may be a leaf or an intermediate result; `None` stands for one that the outputs do not depend on. Only the
/// operations between inputs and outputs run; their graph is freed unless the options keep it.
///
/// # Errors
///
/// As [`Tensor::backward`], and an input that nothing tracks.
///
/// # Example
///
/// ```
/// use module_tensor::{BackwardOptions, Tensor, autograd};
///
/// let x = Tensor::from(2.0_f64).with_grad()?;
/// let y = x.mul(&x)?.mul(&x)?;
/// let keep = BackwardOptions::new().create_graph(true);
/// let slope = autograd::grad(&[&y], &[&x], keep)?.remove(0).unwrap();
/// let curvature = autograd::grad(&[&slope], &[&x], keep)?.remove(0).unwrap();
/// assert_eq!((slope.item::<f64>()?, curvature.item::<f64>()?), (12.0, 12.0));
/// assert!(x.grad().is_none());
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn grad(
    outputs: &[&Tensor],
    inputs: &[&Tensor],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    let ones = outputs.iter().map(|output| output.unit_gradient());
    let ones = ones.collect::<Result<Vec<_>>>()?;
    grad_with(outputs, &ones.iter().collect::<Vec<_>>(), inputs, options)
}

/// [`grad`] of outputs of any shape, from their gradients.
///
/// # Errors
///
/// As [`grad`], and as [`Tensor::backward_with`]; another number of gradients than of outputs.
///
/// # Example
///
/// ```
/// use module_tensor::{BackwardOptions, Tensor, autograd};
///
/// let x = Tensor::from([1.0_f32, 2.0]).with_grad()?;
/// let y = x.square()?;
/// let weights = Tensor::from([1.0_f32, 10.0]);
/// let grads = autograd::grad_with(&[&y], &[&weights], &[&x], BackwardOptions::new())?;
/// assert_eq!(grads[0].as_ref().unwrap().to_vec::<f32>()?, [2.0, 40.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn grad_with(
    outputs: &[&Tensor],
    grads: &[&Tensor],
    inputs: &[&Tensor],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    if outputs.len() != grads.len() {
        let problem = format!("gradient(s) for {} output(s)", outputs.len());
        return Err(Error::argument("grad", "grads", grads.len(), problem));
    }
    let mut roots = Vec::with_capacity(outputs.len());
    for (output, &grad) in outputs.iter().zip(grads) {
        roots.push((output.root(grad)?.clone(), grad.clone()));
    }
    let mut edges = Vec::with_capacity(inputs.len());
    for (i, input) in inputs.iter().enumerate() {
        let edge = input.edge.clone().ok_or_else(|| {
            let problem = "is not tracked; make it a leaf with `with_grad` before it is used";
            Error::argument("grad", "inputs", format_args!("input {i}"), problem)
        })?;
        edges.push(edge);
    }
    engine::gradients(&roots, &edges, options)
}
