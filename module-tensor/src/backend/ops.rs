use crate::Scalar;

/// Operations on two elements.
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
        }
    }
}

/// The flat region of a piecewise linear function; the bounds have the dtype of the elements.
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
