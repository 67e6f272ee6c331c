use crate::DType;

/// The sequences of connectionist temporal classification, with log-probabilities `[time, batch, labels]`.
///
/// A path chooses one label at each step of its sequence. It gives the target if the target remains when repeated labels
/// are merged and blanks are dropped. The loss of a sequence is
///
/// ```text
/// -ln Σ e^(Σ xₜ[pathₜ])
/// ```
///
/// where the outer sum runs over the paths that give the target, and the inner sum over the steps of the sequence.
///
/// # Example
///
/// ```
/// use module_tensor::backend::CtcGeometry;
/// use module_tensor::{DType, Device, Layout, Tensor};
///
/// // One sequence of two steps: the paths "1 1", "0 1" and "1 0" give the target, "0 0" does not.
/// let geometry = CtcGeometry {
///     time: 2,
///     labels: 2,
///     blank: 0,
///     input_lengths: vec![2],
///     targets: vec![vec![1]],
///     compute: DType::F64,
/// };
/// let x = Tensor::full([2, 1, 2], 0.5_f64.ln(), DType::F64)?;
/// let kernels = Device::cpu().backend().ctc().expect("the CPU has this family");
/// let loss = kernels.forward(x.operand(), &geometry)?;
/// let loss = Tensor::from_storage(loss, Layout::contiguous([1].into()));
/// assert!(loss.allclose(&Tensor::from([-0.75_f64.ln()]), Default::default())?);
///
/// // Each step has label 1 in two of the three paths.
/// let grad = kernels.backward(loss.ones_like()?.operand(), x.operand(), &geometry)?;
/// let grad = Tensor::from_storage(grad, Layout::contiguous([2, 2].into()));
/// let expected = Tensor::from([[-1.0 / 3.0, -2.0 / 3.0]; 2]);
/// assert!(grad.allclose(&expected, Default::default())?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtcGeometry {
    /// The number of time steps of the log-probabilities.
    pub time: usize,
    /// The number of labels, with the blank.
    pub labels: usize,
    /// The label that stands for no label.
    pub blank: usize,
    /// The number of time steps of each sequence, at most `time`.
    pub input_lengths: Vec<usize>,
    /// The labels of the target of each sequence, none of which is the blank.
    pub targets: Vec<Vec<usize>>,
    /// The dtype to compute in, whatever dtype the operands have.
    pub compute: DType,
}
