//! Elementwise formulas, which a kernel computes in one pass over several tensors.

/// An operation of a [`Formula`], on up to three elements `a`, `b` and `c`.
///
/// Each rounds once to the dtype of the elements, except for the intermediate roundings that its formula has in PyTorch.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FormulaOp {
    /// `-a`
    Neg,
    /// `|a|`
    Abs,
    /// `1/a`
    Recip,
    /// `√a`
    Sqrt,
    /// 1, -1 or 0, as `a` is above, below or neither.
    Sign,
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a · b`
    Mul,
    /// `a / b`
    Div,
    /// The greater one; NaN if either is NaN.
    Maximum,
    /// `a + s`
    AddNumber(f64),
    /// `a · s`
    MulNumber(f64),
    /// `a / s`
    DivNumber(f64),
    /// `a`, at least the first and at most the second number; NaN stays.
    Clamp(f64, f64),
    /// `a + s·b`
    AddScaled(f64),
    /// `a + (s·b)·c`
    AddProduct(f64),
    /// `a + (s·b)/c`
    AddQuotient(f64),
    /// `a + w·(b - a)`, or `b + (w - 1)·(b - a)` if `w` is at least ½, which rounds less.
    Lerp(f64),
    /// `b` where `a` is above 0, else `c`.
    WherePositive,
}

/// A step of a [`Formula`]: its operation, and the numbers of its operands. Unused operands repeat the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormulaStep {
    /// The operation.
    pub op: FormulaOp,
    /// The numbers of `a`, `b` and `c`.
    pub inputs: [usize; 3],
}

/// An elementwise formula of several tensors of the same shape and dtype.
///
/// Its values are numbered: first the elements of the written tensors, then those of the tensors that are only read, then
/// the results of the steps, each of which uses earlier values.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{Formula, FormulaOp, FormulaStep};
///
/// // `w - 0.1·g`: value 0 is the weight, which is written, and value 1 the gradient.
/// let step = FormulaStep { op: FormulaOp::AddScaled(-0.1), inputs: [0, 1, 0] };
/// let formula = Formula { written: 1, read: 1, steps: vec![step], results: vec![2] };
///
/// /// What a device does for each element.
/// fn evaluate(formula: &Formula, mut values: Vec<f64>) -> Vec<f64> {
///     for step in &formula.steps {
///         let [a, b, _] = step.inputs.map(|input| values[input]);
///         values.push(match step.op {
///             FormulaOp::Mul => a * b,
///             FormulaOp::AddScaled(scale) => a + scale * b,
///             op => unimplemented!("{op:?}"),
///         });
///     }
///     formula.results.iter().map(|result| values[*result]).collect()
/// }
///
/// assert_eq!(evaluate(&formula, vec![1.0, 5.0]), [0.5]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// How many tensors are written.
    pub written: usize,
    /// How many tensors are only read.
    pub read: usize,
    /// The steps, in order.
    pub steps: Vec<FormulaStep>,
    /// The numbers of the values that are written, one for each written tensor.
    pub results: Vec<usize>,
}
