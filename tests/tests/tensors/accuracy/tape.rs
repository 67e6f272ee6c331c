//! References of formulas of many steps, whose gradients come from a tape of numbers, so that only the formula is written.
//!
//! A number carries its scale: how much it changes, to first order, if each step on the way to it is off by one unit in the
//! last place. The scale of a leaf is its magnitude, those of a sum are added, that of a product `ab` is `|a| · scale(b) +
//! |b| · scale(a) - |ab|`, and that of a function `f` is `|f| + |f'| · scale`. Gradients are made of such numbers too.

use std::cell::RefCell;
use std::ops::{Add, Mul, Sub};

use super::case::{Element, Reference};
use super::lanes::Lanes;

/// A value and its scale.
#[derive(Clone, Copy, Default)]
struct Number {
    value: f64,
    scale: f64,
}

impl Number {
    fn exact(value: f64) -> Self {
        let scale = value.abs();
        Self { value, scale }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            scale: self.scale + other.scale,
        }
    }

    fn times(self, other: Self) -> Self {
        let (a, b) = (self.value.abs(), other.value.abs());
        Self {
            value: self.value * other.value,
            scale: self.scale * b + a * other.scale - a * b,
        }
    }

    fn element(self, bound: f64) -> Element {
        Element::sum(self.value, self.scale, bound)
    }

    /// A function's value, and its derivative here.
    fn mapped(self, value: f64, slope: f64) -> Self {
        let scale = value.abs() + slope.abs() * self.scale;
        Self { value, scale }
    }
}

#[derive(Default)]
struct Steps {
    values: Vec<Number>,
    /// What each step depends on, and the derivatives.
    edges: Vec<(usize, Number)>,
    /// Where the edges of each step end.
    ends: Vec<usize>,
}

/// The steps of a formula.
#[derive(Default)]
pub(crate) struct Tape(RefCell<Steps>);

/// A number on a tape.
#[derive(Clone, Copy)]
pub(crate) struct Var<'t> {
    tape: &'t Tape,
    index: usize,
}

impl Tape {
    fn push(&self, value: Number, edges: &[(usize, Number)]) -> Var<'_> {
        let steps = &mut *self.0.borrow_mut();
        steps.values.push(value);
        steps.edges.extend_from_slice(edges);
        steps.ends.push(steps.edges.len());
        let index = steps.values.len() - 1;
        Var { tape: self, index }
    }

    fn leaves(&self, values: &[f64]) -> Vec<Var<'_>> {
        values.iter().map(|&value| self.number(value)).collect()
    }

    pub(crate) fn number(&self, value: f64) -> Var<'_> {
        self.push(Number::exact(value), &[])
    }

    /// `Σ aᵢ bᵢ`
    pub(crate) fn dot<'t>(&'t self, pairs: impl Iterator<Item = (Var<'t>, Var<'t>)>) -> Var<'t> {
        let (mut sum, mut edges) = (Number::default(), Vec::new());
        for (a, b) in pairs {
            let (x, y) = (a.read(), b.read());
            sum = sum.plus(x.times(y));
            edges.extend([(a.index, y), (b.index, x)]);
        }
        self.push(sum, &edges)
    }

    /// `Σ xᵢ`
    pub(crate) fn sum<'t>(&'t self, all: impl Iterator<Item = Var<'t>>) -> Var<'t> {
        let (mut sum, mut edges) = (Number::default(), Vec::new());
        for x in all {
            sum = sum.plus(x.read());
            edges.push((x.index, Number::exact(1.0)));
        }
        self.push(sum, &edges)
    }

    /// `e^(xᵢ) / Σ e^(xⱼ)`
    pub(crate) fn softmax<'t>(&'t self, all: &[Var<'t>]) -> Vec<Var<'t>> {
        let most = self.number(greatest(all));
        let powers: Vec<_> = all.iter().map(|&x| (x - most).exp()).collect();
        let share = self.sum(powers.iter().copied()).recip();
        powers.iter().map(|&power| power * share).collect()
    }

    /// `ln Σ e^(xᵢ)`
    pub(crate) fn logsumexp<'t>(&'t self, all: &[Var<'t>]) -> Var<'t> {
        let most = self.number(greatest(all));
        most + self.sum(all.iter().map(|&x| (x - most).exp())).ln()
    }

    /// The gradients of all numbers, if those of some are given.
    fn backward(&self, outputs: &[Var<'_>], grad: &[f64]) -> Vec<Number> {
        let steps = self.0.borrow();
        let mut grads = vec![Number::default(); steps.values.len()];
        for (output, &grad) in outputs.iter().zip(grad) {
            grads[output.index] = grads[output.index].plus(Number::exact(grad));
        }
        for step in (0..grads.len()).rev() {
            let start = step.checked_sub(1).map_or(0, |before| steps.ends[before]);
            for &(from, slope) in &steps.edges[start..steps.ends[step]] {
                grads[from] = grads[from].plus(grads[step].times(slope));
            }
        }
        grads
    }
}

fn greatest(all: &[Var<'_>]) -> f64 {
    let values = all.iter().map(|x| x.value());
    values.fold(f64::NEG_INFINITY, f64::max)
}

impl<'t> Var<'t> {
    pub(crate) fn value(self) -> f64 {
        self.read().value
    }

    fn read(self) -> Number {
        self.tape.0.borrow().values[self.index]
    }

    /// A function's value, its derivative and the second one.
    fn mapped(self, [value, slope, bend]: [f64; 3]) -> Self {
        let x = self.read();
        self.tape.push(
            x.mapped(value, slope),
            &[(self.index, x.mapped(slope, bend))],
        )
    }

    pub(crate) fn exp(self) -> Self {
        let y = self.value().exp();
        self.mapped([y, y, y])
    }

    pub(crate) fn ln(self) -> Self {
        let x = self.value();
        self.mapped([x.ln(), x.recip(), -x.powi(-2)])
    }

    pub(crate) fn tanh(self) -> Self {
        let y = self.value().tanh();
        let slope = 1.0 - y * y;
        self.mapped([y, slope, -2.0 * y * slope])
    }

    pub(crate) fn sigmoid(self) -> Self {
        let y = 1.0 / (1.0 + (-self.value()).exp());
        let slope = y * (1.0 - y);
        self.mapped([y, slope, slope * (1.0 - 2.0 * y)])
    }

    /// `1/√x`
    pub(crate) fn rsqrt(self) -> Self {
        let x = self.value();
        let y = x.sqrt().recip();
        self.mapped([y, -0.5 * y / x, 0.75 * y / (x * x)])
    }

    pub(crate) fn recip(self) -> Self {
        let x = self.value();
        self.mapped([x.recip(), -x.powi(-2), 2.0 * x.powi(-3)])
    }
}

impl<'t> Add for Var<'t> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.tape.sum([self, other].into_iter())
    }
}

impl<'t> Sub for Var<'t> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let (a, b) = (self.read(), other.read());
        let value = Number {
            value: a.value - b.value,
            scale: a.scale + b.scale,
        };
        let one = Number::exact(1.0);
        let edges = [(self.index, one), (other.index, Number::exact(-1.0))];
        self.tape.push(value, &edges)
    }
}

impl<'t> Mul for Var<'t> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        self.tape.dot([(self, other)].into_iter())
    }
}

/// From the operands on a tape to the outputs.
pub(crate) type Formula = Box<dyn for<'t> Fn(&'t Tape, &[Vec<Var<'t>>]) -> Vec<Var<'t>>>;

/// From the elements of a lane on a tape to its outputs.
pub(crate) type LaneFormula = Box<dyn for<'t> Fn(&'t Tape, &[Var<'t>]) -> Vec<Var<'t>>>;

/// Half a unit for each rounding, and `√n` for sums of at most `n` products.
fn bound(roundings: f64, products: usize) -> f64 {
    0.5 * roundings + (products as f64).sqrt()
}

/// A formula with so many roundings on the way from an operand to a result, and sums of at most so many products. An
/// exponential, a logarithm and a hyperbolic tangent count as four, and the gradient's roundings count too.
pub(crate) fn formula(roundings: f64, products: usize, formula: Formula) -> Reference {
    let bound = bound(roundings, products);
    Box::new(move |operands, grad| {
        let tape = Tape::default();
        let leaves: Vec<_> = operands.iter().map(|values| tape.leaves(values)).collect();
        let outputs = formula(&tape, &leaves);
        assert_eq!(outputs.len(), grad.len());
        let grads = tape.backward(&outputs, grad);
        let mut results = vec![outputs.iter().map(|y| y.read().element(bound)).collect()];
        for leaves in &leaves {
            let of_leaf = |leaf: &Var<'_>| grads[leaf.index].element(bound);
            results.push(leaves.iter().map(of_leaf).collect());
        }
        results
    })
}

/// The same of each lane of one operand, which has one result or one for each element.
pub(crate) fn formula_of_lanes(
    roundings: f64,
    products: usize,
    lanes: Lanes,
    formula: LaneFormula,
) -> Reference {
    let bound = bound(roundings, products);
    Box::new(move |operands, grad| {
        let none = Number::default().element(0.0);
        let mut results = vec![vec![none; grad.len()], vec![none; lanes.numel()]];
        for lane in 0..lanes.count() {
            let tape = Tape::default();
            let values: Vec<_> = lanes.places(lane).map(|place| operands[0][place]).collect();
            let leaves = tape.leaves(&values);
            let outputs = formula(&tape, &leaves);
            let places = match outputs.len() {
                1 => vec![lane],
                _ => lanes.places(lane).collect(),
            };
            let grad: Vec<_> = places.iter().map(|&place| grad[place]).collect();
            let grads = tape.backward(&outputs, &grad);
            for (place, output) in places.into_iter().zip(&outputs) {
                results[0][place] = output.read().element(bound);
            }
            for (place, leaf) in lanes.places(lane).zip(&leaves) {
                results[1][place] = grads[leaf.index].element(bound);
            }
        }
        results
    })
}
