//! The record of a formula.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::backend::{Formula, FormulaOp, FormulaStep, Real, UpdateFormula};

/// A value in a recorded formula.
#[derive(Clone, Copy)]
struct Expr<'a> {
    steps: &'a RefCell<Vec<FormulaStep>>,
    /// The number of values before the first step.
    inputs: usize,
    number: usize,
}

impl Expr<'_> {
    fn join3(self, op: FormulaOp, b: Self, c: Self) -> Self {
        let mut steps = self.steps.borrow_mut();
        let number = self.inputs + steps.len();
        let inputs = [self.number, b.number, c.number];
        steps.push(FormulaStep { op, inputs });
        Self { number, ..self }
    }

    fn join(self, op: FormulaOp, other: Self) -> Self {
        self.join3(op, other, self)
    }

    fn map(self, op: FormulaOp) -> Self {
        self.join3(op, self, self)
    }
}

impl Neg for Expr<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.map(FormulaOp::Neg)
    }
}

macro_rules! operators {
    ($($operator:ident: $method:ident;)*) => {$(
        impl $operator for Expr<'_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.join(FormulaOp::$operator, other)
            }
        }
    )*};
}

operators! {
    Add: add;
    Sub: sub;
    Mul: mul;
    Div: div;
}

impl Add<f64> for Expr<'_> {
    type Output = Self;

    fn add(self, number: f64) -> Self {
        self.map(FormulaOp::AddNumber(number))
    }
}

impl Sub<f64> for Expr<'_> {
    type Output = Self;

    fn sub(self, number: f64) -> Self {
        self.map(FormulaOp::AddNumber(-number))
    }
}

impl Mul<f64> for Expr<'_> {
    type Output = Self;

    fn mul(self, number: f64) -> Self {
        self.map(FormulaOp::MulNumber(number))
    }
}

impl Div<f64> for Expr<'_> {
    type Output = Self;

    fn div(self, number: f64) -> Self {
        self.map(FormulaOp::DivNumber(number))
    }
}

impl Real for Expr<'_> {
    fn abs(self) -> Self {
        self.map(FormulaOp::Abs)
    }

    fn recip(self) -> Self {
        self.map(FormulaOp::Recip)
    }

    fn sqrt(self) -> Self {
        self.map(FormulaOp::Sqrt)
    }

    fn sign(self) -> Self {
        self.map(FormulaOp::Sign)
    }

    fn maximum(self, other: Self) -> Self {
        self.join(FormulaOp::Maximum, other)
    }

    fn clamp(self, min: f64, max: f64) -> Self {
        self.map(FormulaOp::Clamp(min, max))
    }

    fn add_scaled(self, y: Self, s: f64) -> Self {
        self.join(FormulaOp::AddScaled(s), y)
    }

    fn add_product(self, s: f64, y: Self, z: Self) -> Self {
        self.join3(FormulaOp::AddProduct(s), y, z)
    }

    fn add_quotient(self, s: f64, y: Self, z: Self) -> Self {
        self.join3(FormulaOp::AddQuotient(s), y, z)
    }

    fn lerp(self, y: Self, w: f64) -> Self {
        self.join(FormulaOp::Lerp(w), y)
    }

    fn where_positive(self, y: Self, z: Self) -> Self {
        self.join3(FormulaOp::WherePositive, y, z)
    }
}

/// Records a formula.
pub(super) fn record<const W: usize, const R: usize>(formula: impl UpdateFormula<W, R>) -> Formula {
    let steps = RefCell::new(Vec::new());
    let first = Expr {
        steps: &steps,
        inputs: W + R,
        number: 0,
    };
    let (mut written, mut read) = ([first; W], [first; R]);
    number_from(0, &mut written);
    number_from(W, &mut read);
    let results = formula.apply(written, read);
    let results = numbers(&results);
    Formula {
        written: W,
        read: R,
        steps: steps.into_inner(),
        results,
    }
}

/// Numbers values consecutively; separate from [`record`], because that is compiled for each formula.
fn number_from(start: usize, values: &mut [Expr<'_>]) {
    for (number, value) in (start..).zip(values) {
        value.number = number;
    }
}

fn numbers(values: &[Expr<'_>]) -> Vec<usize> {
    values.iter().map(|value| value.number).collect()
}
