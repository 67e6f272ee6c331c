use crate::Scalar;

/// Operations from one element to one; the numbers that some take are rounded to the dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `|x|`
    Abs,
    /// -1, 0 or 1
    Sign,
    /// `eˣ`
    Exp,
    /// `ln x`
    Log,
    /// `√x`
    Sqrt,
    /// `1/x`
    Reciprocal,
    /// `1/√x`
    Rsqrt,
    /// `ln(1 + x)`
    Log1p,
    /// `eˣ - 1`
    Expm1,
    /// `2/√π · ∫₀ˣ e^(-t²) dt`
    Erf,
    /// `sin x`
    Sin,
    /// `cos x`
    Cos,
    /// `tan x`
    Tan,
    /// `arcsin x`
    Asin,
    /// `arccos x`
    Acos,
    /// `arctan x`
    Atan,
    /// `sinh x`
    Sinh,
    /// `cosh x`
    Cosh,
    /// `arsinh x`
    Asinh,
    /// `arcosh x`
    Acosh,
    /// `artanh x`
    Atanh,
    /// `log₂ x`
    Log2,
    /// `log₁₀ x`
    Log10,
    /// `2ˣ`
    Exp2,
    /// The inverse of [`Erf`](Self::Erf)
    Erfinv,
    /// `ln |Γ(x)|`
    Lgamma,
    /// The derivative of this order of the derivative of `ln Γ(x)`
    Polygamma {
        /// How often the digamma function is differentiated
        order: u32,
    },
    /// The greatest whole number that is at most `x`
    Floor,
    /// The smallest whole number that is at least `x`
    Ceil,
    /// The nearest whole number, the even one of two
    Round,
    /// The whole number before the decimal point
    Trunc,
    /// `tanh x`
    Tanh,
    /// `1/(1 + e⁻ˣ)`
    Sigmoid,
    /// `max(x, 0)`, NaN kept
    Relu,
    /// `x · ½ (1 + erf(x/√2))`
    Gelu,
    /// `x · ½ (1 + tanh(√(2/π) (x + 0.044715 x³)))`
    GeluTanh,
    /// `x / (1 + e⁻ˣ)`
    Silu,
    /// `x tanh(ln(1 + eˣ))`
    Mish,
    /// `x · min(max(x + 3, 0), 6) / 6`
    Hardswish,
    /// `min(max(x + 3, 0), 6) / 6`
    Hardsigmoid,
    /// `min(max(x, low), high)`, NaN kept
    Clamp {
        /// The lower bound, not NaN
        low: f64,
        /// The upper bound, not NaN
        high: f64,
    },
    /// The derivative of [`Gelu`](Self::Gelu)
    GeluGrad,
    /// The derivative of [`GeluTanh`](Self::GeluTanh)
    GeluTanhGrad,
    /// The derivative of [`Silu`](Self::Silu)
    SiluGrad,
    /// The derivative of [`Mish`](Self::Mish)
    MishGrad,
    /// The derivative of [`Hardswish`](Self::Hardswish)
    HardswishGrad,
    /// `ln(1 + e^(βx)) / β`, and `x` where `βx` exceeds the threshold
    Softplus {
        /// `β`
        beta: f64,
        /// Where the function is a line in `f32` anyway
        threshold: f64,
    },
    /// `x` where it is positive, else the slope times `x`
    LeakyRelu {
        /// The slope
        negative_slope: f64,
    },
    /// `λ α (e^(βx) - 1)` where `x` is negative, else `λ x`
    Elu {
        /// `α`
        alpha: f64,
        /// `λ`
        scale: f64,
        /// `β`
        input_scale: f64,
    },
}

impl UnaryOp {
    /// What errors call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Neg => "neg",
            Self::Abs => "abs",
            Self::Sign => "sign",
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sqrt => "sqrt",
            Self::Reciprocal => "reciprocal",
            Self::Rsqrt => "rsqrt",
            Self::Log1p => "log1p",
            Self::Expm1 => "expm1",
            Self::Erf => "erf",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Tan => "tan",
            Self::Asin => "asin",
            Self::Acos => "acos",
            Self::Atan => "atan",
            Self::Sinh => "sinh",
            Self::Cosh => "cosh",
            Self::Asinh => "asinh",
            Self::Acosh => "acosh",
            Self::Atanh => "atanh",
            Self::Log2 => "log2",
            Self::Log10 => "log10",
            Self::Exp2 => "exp2",
            Self::Erfinv => "erfinv",
            Self::Lgamma => "lgamma",
            Self::Polygamma { order: 0 } => "digamma",
            Self::Polygamma { .. } => "polygamma",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Round => "round",
            Self::Trunc => "trunc",
            Self::Tanh => "tanh",
            Self::Sigmoid => "sigmoid",
            Self::Relu => "relu",
            Self::Gelu | Self::GeluTanh | Self::GeluGrad | Self::GeluTanhGrad => "gelu",
            Self::Silu | Self::SiluGrad => "silu",
            Self::Hardsigmoid => "hardsigmoid",
            Self::Clamp { .. } => "clamp",
            Self::Mish | Self::MishGrad => "mish",
            Self::Hardswish | Self::HardswishGrad => "hardswish",
            Self::Softplus { .. } => "softplus",
            Self::LeakyRelu { .. } => "leaky_relu",
            Self::Elu { .. } => "elu",
        }
    }
}

/// Operations from two elements to one.
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
    /// The greater, NaN if either is
    Maximum,
    /// The smaller, NaN if either is
    Minimum,
    /// The greatest whole number that is at most `a/b`; of integers, `b` is not 0
    FloorDivide,
    /// What a [`FloorDivide`](Self::FloorDivide) leaves, with the sign of `b`
    Remainder,
    /// What a division rounded toward 0 leaves, with the sign of `a`
    Fmod,
    /// The angle of the point `(b, a)`
    Atan2,
    /// `√(a² + b²)`
    Hypot,
    /// `|a|` with the sign of `b`
    Copysign,
}

impl BinaryOp {
    /// What errors call it.
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

/// Where a function of straight pieces is flat; the bounds have the dtype of the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FillRange {
    /// `low ≤ x ≤ high`
    Within(Scalar, Scalar),
    /// `x ≤ low` or `x ≥ high`
    Outside(Scalar, Scalar),
    /// Not `low < x < high`, as it is with NaN
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

/// Folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReduceOp {
    /// The sum; 0 of nothing.
    Sum,
    /// The product; 1 of nothing.
    Prod,
    /// The greatest, NaN if any is.
    Max,
    /// The smallest, NaN if any is.
    Min,
}

impl ReduceOp {
    /// What errors call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// Places of extremes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArgReduceOp {
    /// The first place of the greatest, or of the first NaN.
    Max,
    /// The first place of the smallest, or of the first NaN.
    Min,
}

impl ArgReduceOp {
    /// What errors call it.
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
    /// What errors call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::LogSoftmax => "log_softmax",
        }
    }
}

/// A convolution `y = x ∗ w` is linear in `x` and in `w`; each of the three computes one tensor
/// from the other two, so that they are each other's gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvOp {
    /// `y` from `a = x` and `b = w`.
    Forward,
    /// The gradient of `x` from `a = y`'s and `b = w`: the transposed convolution.
    Input,
    /// The gradient of `w` from `a = x` and `b = y`'s.
    Weight,
}

/// An image read between places is linear in the image and in the weights of its places; each of the
/// three computes one tensor from the other two, so that they are each other's gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleOp {
    /// What is read, from `a`, the image, and `b`, the weights.
    Forward,
    /// The gradient of the image, from that of what was read, `a`, and `b`, the weights.
    Input,
    /// The gradient of the weights, from `a`, the image, and `b`, the gradient of what was read.
    Weight,
}

/// Which way a linear operation on one tensor runs; each of the two is the other's gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinearOp {
    /// From an input to the output.
    Forward,
    /// From the gradient of the output to that of the input: with the transposed matrix, so that each
    /// element of the output adds its share to every element of the input that it was computed from.
    Backward,
}

impl LinearOp {
    /// The gradient's way.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// Windows laid side by side; each of the two is the other's gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnfoldOp {
    /// `[batch, channels, size…]` to columns, `[batch, channels · kernel, windows]`.
    Unfold,
    /// Columns added to the places that they came from.
    Fold,
}

/// The steps of recurrent layers: the next state `h′` from the state `h` and the sums `x` and `s` of the
/// input and of the state, each with its own weights and bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecurrentOp {
    /// `h′ = tanh(x + s)`
    Tanh,
    /// `h′ = max(0, x + s)`
    Relu,
    /// `c′ = σ(f)·c + σ(i)·tanh(g)` and `h′ = σ(o)·tanh(c′)`, where `[i, f, g, o] = x + s`
    Lstm,
    /// `h′ = (1 - z)·n + z·h`, where `[r, z] = σ(x + s)` and `n = tanh(x + r·s)`, each of its third of
    /// `x` and `s`
    Gru,
}

impl RecurrentOp {
    /// How many numbers a step sums for each element of the state.
    pub fn gates(self) -> usize {
        match self {
            Self::Tanh | Self::Relu => 1,
            Self::Lstm => 4,
            Self::Gru => 3,
        }
    }
}
