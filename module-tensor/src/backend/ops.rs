use crate::Scalar;

/// Operations on two elements.
///
/// # Example
///
/// ```
/// use module_tensor::backend::BinaryOp;
/// use module_tensor::{Device, Layout, Scalar, Tensor};
///
/// let backend = Device::cpu().backend();
/// let (a, b) = (Tensor::from([7.0, -7.0]), Tensor::from([4.0, 4.0]));
/// let tensor = |storage| Tensor::from_storage(storage, Layout::contiguous(2.into()));
///
/// // The remainder has the sign of the divisor, as in Python.
/// let rest = backend.binary(BinaryOp::Remainder, a.operand(), b.operand())?;
/// assert_eq!(tensor(rest).to_vec::<f64>()?, [3.0, 1.0]);
/// let rest = backend.binary_scalar(BinaryOp::Fmod, a.operand(), Scalar::from(4.0))?;
/// assert_eq!(tensor(rest).to_vec::<f64>()?, [3.0, -3.0]);
/// let sum = backend.add_scaled(a.operand(), b.operand(), Scalar::from(0.5))?;
/// assert_eq!(tensor(sum).to_vec::<f64>()?, [9.0, -5.0]);
/// assert_eq!(BinaryOp::FloorDivide.name(), "floor_divide");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BinaryOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a·b`
    Mul,
    /// `a/b`
    Div,
    /// `aᵇ`
    Pow,
    /// The greater, NaN if either is NaN
    Maximum,
    /// The smaller, NaN if either is NaN
    Minimum,
    /// `a/b` rounded down to an integer; for integers, `b` is not 0
    FloorDivide,
    /// The remainder of [`FloorDivide`](Self::FloorDivide), with the sign of `b`
    Remainder,
    /// The remainder of a division rounded toward 0, with the sign of `a`
    Fmod,
    /// The angle of the point `(b, a)`
    Atan2,
    /// `√(a² + b²)`
    Hypot,
    /// `|a|` with the sign of `b`
    Copysign,
    /// `a` where it is above 0, else `a·b`
    Prelu,
}

impl BinaryOp {
    /// The name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Div => "div",
            Self::Pow => "pow",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::FloorDivide => "floor_divide",
            Self::Remainder => "remainder",
            Self::Fmod => "fmod",
            Self::Atan2 => "atan2",
            Self::Hypot => "hypot",
            Self::Copysign => "copysign",
            Self::Prelu => "prelu",
        }
    }
}

/// The flat region of a piecewise linear function; the bounds have the dtype of the elements.
///
/// # Example
///
/// ```
/// use module_tensor::backend::FillRange;
/// use module_tensor::{Device, Layout, Tensor};
///
/// let x = Tensor::from([-2.0, 0.0, 2.0, f64::NAN]);
/// let grad = Tensor::from([1.0, 1.0, 1.0, 1.0]);
/// let filled = |region| {
///     let backend = Device::cpu().backend();
///     let filled = backend.fill_in_range(region, 0.0.into(), x.operand(), grad.operand())?;
///     Tensor::from_storage(filled, Layout::contiguous(4.into())).to_vec::<f64>()
/// };
/// assert_eq!(filled(FillRange::Within(0.0.into(), 1.0.into()))?, [1.0, 0.0, 1.0, 1.0]);
/// assert_eq!(filled(FillRange::Outside((-1.0).into(), 1.0.into()))?, [0.0, 1.0, 0.0, 1.0]);
/// assert_eq!(filled(FillRange::NotBetween((-1.0).into(), 1.0.into()))?, [0.0, 1.0, 0.0, 0.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FillRange {
    /// `low ≤ x ≤ high`
    Within(Scalar, Scalar),
    /// `x ≤ low` or `x ≥ high`
    Outside(Scalar, Scalar),
    /// Not `low < x < high`, which includes NaN
    NotBetween(Scalar, Scalar),
}

/// Comparisons.
///
/// # Example
///
/// ```
/// use module_tensor::backend::CompareOp;
/// use module_tensor::{Device, Layout, Tensor};
///
/// let backend = Device::cpu().backend();
/// let (a, b) = (Tensor::from([1_i64, 2, 3]), Tensor::from([3_i64, 2, 1]));
/// let tensor = |storage| Tensor::from_storage(storage, Layout::contiguous(3.into()));
///
/// let less = tensor(backend.compare(CompareOp::Lt, a.operand(), b.operand())?);
/// assert_eq!(less.to_vec::<bool>()?, [true, false, false]);
/// let minimum = backend.select(less.operand(), a.operand(), b.operand())?;
/// assert_eq!(tensor(minimum).to_vec::<i64>()?, [1, 2, 1]);
///
/// let mask = tensor(backend.compare_scalar(CompareOp::Ge, a.operand(), 2_i64.into())?);
/// let filled = backend.masked_fill(a.operand(), mask.operand(), true, 0_i64.into())?;
/// assert_eq!(tensor(filled).to_vec::<i64>()?, [1, 0, 0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompareOp {
    /// `a = b`
    Eq,
    /// `a ≠ b`
    Ne,
    /// `a < b`
    Lt,
    /// `a ≤ b`
    Le,
    /// `a > b`
    Gt,
    /// `a ≥ b`
    Ge,
}

/// Reductions.
///
/// # Example
///
/// ```
/// use module_tensor::backend::ReduceOp;
/// use module_tensor::{Device, Layout, Tensor};
///
/// let backend = Device::cpu().backend();
/// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// let tensor = |storage, shape: [usize; 1]| {
///     Tensor::from_storage(storage, Layout::contiguous(shape.into()))
/// };
/// let columns = backend.reduce(ReduceOp::Prod, x.operand(), &[0])?;
/// assert_eq!(tensor(columns, [2]).to_vec::<f64>()?, [3.0, 8.0]);
/// let squares = backend.sum_squares(x.operand(), &[0, 1])?;
/// assert_eq!(tensor(squares, [1]).to_vec::<f64>()?, [30.0]);
/// let large = x.ge(2.0)?;
/// let (any, all) = (backend.any(large.operand(), &[1])?, backend.all(large.operand(), &[1])?);
/// assert_eq!(tensor(any, [2]).to_vec::<bool>()?, [true, true]);
/// assert_eq!(tensor(all, [2]).to_vec::<bool>()?, [false, true]);
///
/// // From each element to the last one of its row.
/// let sums = backend.cumsum(x.operand(), 1, true)?;
/// assert_eq!(tensor(sums, [4]).to_vec::<f64>()?, [3.0, 2.0, 7.0, 4.0]);
/// let products = backend.cumprod(x.operand(), 0)?;
/// assert_eq!(tensor(products, [4]).to_vec::<f64>()?, [1.0, 2.0, 3.0, 8.0]);
/// assert_eq!(ReduceOp::Prod.name(), "prod");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReduceOp {
    /// The sum; 0 without elements.
    Sum,
    /// The product; 1 without elements.
    Prod,
    /// The maximum, NaN if any element is NaN.
    Max,
    /// The minimum, NaN if any element is NaN.
    Min,
}

impl ReduceOp {
    /// The name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// Indices of extremes.
///
/// # Example
///
/// ```
/// use module_tensor::backend::ArgReduceOp;
/// use module_tensor::{Device, Layout, Tensor};
///
/// let backend = Device::cpu().backend();
/// let x = Tensor::from([2.0, 5.0, 1.0, 5.0]);
/// let indices = |storage, count: usize| {
///     Tensor::from_storage(storage, Layout::contiguous(count.into())).to_vec::<i64>()
/// };
/// assert_eq!(indices(backend.arg_reduce(ArgReduceOp::Max, x.operand(), 0)?, 1)?, [1]);
/// // The two greatest elements; equal ones stay in order.
/// assert_eq!(indices(backend.argsort(x.operand(), 2, true)?, 2)?, [1, 3]);
/// assert_eq!(ArgReduceOp::Max.name(), "argmax");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArgReduceOp {
    /// The first index of the maximum, or of the first NaN.
    Max,
    /// The first index of the minimum, or of the first NaN.
    Min,
}

impl ArgReduceOp {
    /// The name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Max => "argmax",
            Self::Min => "argmin",
        }
    }
}

/// Normalized exponentials.
///
/// # Example
///
/// ```
/// use module_tensor::backend::SoftmaxOp;
/// use module_tensor::{Device, Layout, Tensor};
///
/// let backend = Device::cpu().backend();
/// let x = Tensor::from([0.0, 3.0_f64.ln()]);
/// let y = backend.softmax(SoftmaxOp::Softmax, x.operand(), 0)?;
/// let y = Tensor::from_storage(y, Layout::contiguous(2.into()));
/// assert!(y.allclose(&Tensor::from([0.25, 0.75]), Default::default())?);
/// assert_eq!(SoftmaxOp::LogSoftmax.name(), "log_softmax");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SoftmaxOp {
    /// `eˣ / Σ eˣ`
    Softmax,
    /// `x - ln Σ eˣ`
    LogSoftmax,
}

impl SoftmaxOp {
    /// The name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::LogSoftmax => "log_softmax",
        }
    }
}

/// A convolution `y = x ∗ w` is linear in `x` and in `w`; each of the three operations computes one tensor from the other
/// two, so they are each other's gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvOp {
    /// `y` from `a = x` and `b = w`.
    Forward,
    /// The gradient of `x` from `a`, the gradient of `y`, and `b = w`: the transposed convolution.
    Input,
    /// The gradient of `w` from `a = x` and `b`, the gradient of `y`.
    Weight,
}

/// Sampling an image between pixels is linear in the image and in the weights of its pixels; each of the three operations
/// computes one tensor from the other two, so they are each other's gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleOp {
    /// The sampled values, from `a`, the image, and `b`, the weights.
    Forward,
    /// The gradient of the image, from `a`, the gradient of the sampled values, and `b`, the weights.
    Input,
    /// The gradient of the weights, from `a`, the image, and `b`, the gradient of the sampled values.
    Weight,
}

/// The direction of a linear operation on one tensor; each direction is the other's gradient.
///
/// # Example
///
/// ```
/// use module_tensor::backend::LinearOp;
///
/// assert_eq!(LinearOp::Forward.reversed(), LinearOp::Backward);
/// assert_eq!(LinearOp::Backward.reversed(), LinearOp::Forward);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinearOp {
    /// From an input to the output.
    Forward,
    /// From the gradient of the output to that of the input: with the transposed matrix, so that each element of the output
    /// adds its share to every element of the input that it was computed from.
    Backward,
}

impl LinearOp {
    /// The direction of the gradient.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// Windows laid out side by side; each direction is the other's gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnfoldOp {
    /// `[batch, channels, size…]` to columns, `[batch, channels · kernel, windows]`.
    Unfold,
    /// Columns added at the positions that they came from.
    Fold,
}

/// The steps of recurrent layers: the next state `h′` from the state `h` and the sums `x` and `s` of the input and of the
/// state, each with its own weights and bias.
///
/// # Example
///
/// ```
/// use module_tensor::backend::RecurrentOp;
///
/// // The rows of an LSTM's weight: four gates of the size of the state.
/// let hidden = 5;
/// assert_eq!(RecurrentOp::Lstm.gates() * hidden, 20);
/// assert_eq!((RecurrentOp::Gru.gates(), RecurrentOp::Tanh.gates()), (3, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecurrentOp {
    /// `h′ = tanh(x + s)`
    Tanh,
    /// `h′ = max(0, x + s)`
    Relu,
    /// `c′ = σ(f)·c + σ(i)·tanh(g)` and `h′ = σ(o)·tanh(c′)`, where `[i, f, g, o] = x + s`
    Lstm,
    /// `h′ = (1 - z)·n + z·h`, where `[r, z] = σ(x + s)` and `n = tanh(x + r·s)`, each from its third of `x` and `s`
    Gru,
}

impl RecurrentOp {
    /// The number of gates of each element of the state.
    pub fn gates(self) -> usize {
        match self {
            Self::Tanh | Self::Relu => 1,
            Self::Lstm => 4,
            Self::Gru => 3,
        }
    }
}
