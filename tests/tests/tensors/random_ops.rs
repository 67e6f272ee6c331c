//! Random chains of operations match their definitions, forward and backward.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod kinds;
mod plain;
mod views;

use std::collections::BTreeMap;

use kinds::KINDS;
use module_nn::{BackwardOptions, DType, Result, Tensor, autograd};
use plain::Plain;

/// A small separate generator, so that nothing is shared with the crates.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A number between -2 and 2.
    fn number(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 53) as f64 * 4.0 - 2.0
    }

    pub(crate) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    pub(crate) fn shape(&mut self) -> Vec<usize> {
        let rank = self.below(5);
        (0..rank).map(|_| 1 + self.below(4)).collect()
    }

    pub(crate) fn dim(&mut self, shape: &[usize]) -> Option<usize> {
        (!shape.is_empty()).then(|| self.below(shape.len()))
    }

    pub(crate) fn order(&mut self, rank: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rank).collect();
        (1..rank).for_each(|i| order.swap(i, self.below(i + 1)));
        order
    }

    /// Dimensions, some of them counted from the end.
    pub(crate) fn signed(&mut self, dims: &[usize], rank: usize) -> Vec<isize> {
        let from_end = |&dim: &usize| dim as isize - (self.below(2) * rank) as isize;
        dims.iter().map(from_end).collect()
    }

    /// Sizes whose product is `numel`.
    pub(crate) fn factors(&mut self, mut numel: usize) -> Vec<usize> {
        let mut sizes = Vec::new();
        while sizes.len() < 3 && numel > 1 {
            let divisors: Vec<usize> = (1..=numel).filter(|n| numel.is_multiple_of(*n)).collect();
            let size = self.of(&divisors);
            sizes.push(size);
            numel /= size;
        }
        if numel > 1 || self.below(4) == 0 {
            sizes.push(numel);
        }
        sizes
    }
}

type Ours = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;
type Defined = Box<dyn Fn(&[Plain]) -> Plain>;

/// One operation, in the library's form and in a plain one.
pub(crate) struct Step {
    label: String,
    /// Its inputs, by their positions in the chain.
    of: Vec<usize>,
    ours: Ours,
    plain: Defined,
}

/// Leaves and the values computed from them, each from earlier values.
#[derive(Default)]
pub(crate) struct Chain {
    pub(crate) values: Vec<Plain>,
    /// How each value is computed; `None` for a leaf.
    steps: Vec<Option<Step>>,
    last: usize,
}

impl Chain {
    /// The value that the next step must use.
    pub(crate) fn last(&self) -> usize {
        self.last
    }

    pub(crate) fn shape(&self) -> Vec<usize> {
        self.values[self.last].shape.clone()
    }

    pub(crate) fn numel(&self) -> usize {
        self.values[self.last].data.len()
    }

    /// A new leaf.
    pub(crate) fn leaf(&mut self, d: &mut Draw, shape: &[usize]) -> usize {
        self.values.push(Plain::from_fn(shape, |_| d.number()));
        self.steps.push(None);
        self.values.len() - 1
    }

    fn push(&mut self, step: Step) {
        let inputs: Vec<Plain> = step.of.iter().map(|&i| self.values[i].clone()).collect();
        self.values.push((step.plain)(&inputs));
        self.steps.push(Some(step));
        self.last = self.values.len() - 1;
    }

    /// A chain of `length` operations, and the count of each kind.
    fn random(d: &mut Draw, length: usize, counts: &mut BTreeMap<&str, usize>) -> Self {
        let mut chain = Self::default();
        let shape = d.shape();
        chain.leaf(d, &shape);
        let mut steps = 0;
        while steps < length {
            let (name, kind) = d.of(&KINDS);
            let leaves = chain.values.len();
            let Some(step) = kind(d, &mut chain) else {
                continue;
            };
            chain.push(step);
            let last = &chain.values[chain.last];
            if last.data.len() > 150 || last.rank() > 4 {
                // Too large to continue; the chain resumes from the step before.
                chain.values.truncate(leaves);
                chain.steps.truncate(leaves);
                chain.last = (0..leaves)
                    .rev()
                    .find(|&i| i == 0 || chain.steps[i].is_some())
                    .unwrap();
                continue;
            }
            *counts.entry(name).or_default() += 1;
            steps += 1;
            let largest = last.data.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
            if largest > 4.0 {
                let factor = 2.0 / largest;
                chain.push(Step {
                    label: format!("mul {factor}"),
                    of: vec![chain.last],
                    ours: Box::new(move |x| x[0].mul(factor)),
                    plain: Box::new(move |x| x[0].map(|v| v * factor)),
                });
            }
        }
        chain
    }

    fn leaves(&self) -> Vec<usize> {
        let leaf = |i: &usize| self.steps[*i].is_none();
        (0..self.steps.len()).filter(leaf).collect()
    }

    /// All values computed with our operations, with random memory layouts for the leaves.
    fn ours(&self, d: &mut Draw) -> Vec<Tensor> {
        let mut values: Vec<Tensor> = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            values.push(match step {
                None => laid_out(d, &self.values[i]).with_grad().unwrap(),
                Some(step) => {
                    let inputs: Vec<Tensor> = step.of.iter().map(|&i| values[i].clone()).collect();
                    (step.ours)(&inputs).unwrap_or_else(|e| panic!("{e}\n{}", self.story(i)))
                }
            });
        }
        values
    }

    /// The weighted sum of the last value, with the value of a leaf replaced.
    fn total(&self, place: usize, leaf: Plain, weights: &[f64]) -> f64 {
        let mut values = self.values.clone();
        values[place] = leaf;
        for (i, step) in self.steps.iter().enumerate() {
            if let Some(step) = step {
                let inputs: Vec<Plain> = step.of.iter().map(|&i| values[i].clone()).collect();
                values[i] = (step.plain)(&inputs);
            }
        }
        let last = &values[self.last].data;
        last.iter().zip(weights).map(|(v, w)| v * w).sum()
    }

    /// The steps that led to value `last`.
    fn story(&self, last: usize) -> String {
        let line = |i: usize| {
            let shape = &self.values[i].shape;
            match &self.steps[i] {
                None => format!("{i}: leaf {shape:?}"),
                Some(step) => format!("{i}: {} of {:?} -> {shape:?}", step.label, step.of),
            }
        };
        (0..=last).map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The numbers as a tensor whose dimensions have a random order in memory.
fn laid_out(d: &mut Draw, x: &Plain) -> Tensor {
    let x = Tensor::from_vec(x.data.clone(), x.shape.as_slice()).unwrap();
    let order: Vec<isize> = d.order(x.rank()).iter().map(|&dim| dim as isize).collect();
    let mut back = vec![0; order.len()];
    (0..)
        .zip(&order)
        .for_each(|(i, &dim)| back[dim as usize] = i);
    let turned = x.permute(&order).unwrap().contiguous().unwrap();
    turned.permute(&back).unwrap().detach()
}

pub(crate) fn int_tensor(x: &Plain) -> Tensor {
    let values = x.data.iter().map(|&v| v as i64).collect();
    Tensor::from_vec(values, x.shape.as_slice()).unwrap()
}

pub(crate) fn mask_tensor(x: &Plain) -> Tensor {
    int_tensor(x).to_dtype(DType::Bool).unwrap()
}

fn weights(count: usize) -> Vec<f64> {
    let weight = |i: usize| 1.0 + (i as f64 * 0.618_033_988_749_895).fract();
    (0..count).map(weight).collect()
}

#[test]
fn random_chains_agree_with_their_definitions() {
    let mut counts = BTreeMap::new();
    for seed in 0..6000 {
        let d = &mut Draw::new(seed);
        let length = 1 + d.below(12);
        let chain = Chain::random(d, length, &mut counts);
        for (i, (ours, plain)) in chain.ours(d).iter().zip(&chain.values).enumerate() {
            assert_eq!(
                ours.shape().to_vec(),
                plain.shape,
                "chain {seed}\n{}",
                chain.story(i)
            );
            for (a, b) in ours.to_vec::<f64>().unwrap().iter().zip(&plain.data) {
                let close = (a - b).abs() <= 1e-9 * b.abs().max(1.0);
                assert!(close, "{a} and {b}, chain {seed}\n{}", chain.story(i));
            }
        }
    }
    assert_eq!(counts.len(), KINDS.len());
    assert!(counts.values().all(|&count| count > 100), "{counts:?}");
}

#[test]
fn gradients_of_random_chains_agree_with_differences_of_their_definitions() {
    const STEP: f64 = 1e-5;
    let (mut checked, mut kinks) = (0, 0);
    for seed in 0..4000 {
        let d = &mut Draw::new(100_000 + seed);
        let length = 1 + d.below(8);
        let chain = Chain::random(d, length, &mut BTreeMap::new());
        let (ours, leaves) = (chain.ours(d), chain.leaves());
        let output = &ours[chain.last];
        let weights = weights(output.numel());
        let seeds = Tensor::from_vec(weights.clone(), output.shape()).unwrap();
        let inputs: Vec<&Tensor> = leaves.iter().map(|&i| &ours[i]).collect();
        let options = BackwardOptions::default();
        let grads = autograd::grad_with(&[output], &[&seeds], &inputs, options).unwrap();
        for (&place, grad) in leaves.iter().zip(grads) {
            let leaf = &chain.values[place];
            let grad = grad.map_or_else(|| vec![0.0; leaf.data.len()], |g| g.to_vec().unwrap());
            for _ in 0..2 {
                let element = d.below(leaf.data.len());
                let at = |step: f64| {
                    let mut moved = leaf.clone();
                    moved.data[element] += step;
                    chain.total(place, moved, &weights)
                };
                let (after, here, before) = (at(STEP), at(0.0), at(-STEP));
                let numeric = (after - before) / (2.0 * STEP);
                let scale = numeric.abs().max(1.0);
                // A step across a kink or a jump has two slopes.
                if ((after - here) - (here - before)).abs() > 1e-2 * STEP * scale {
                    kinks += 1;
                    continue;
                }
                checked += 1;
                let analytic = grad[element];
                let close = (analytic - numeric).abs() <= 1e-5 * scale;
                let story = || chain.story(chain.last);
                assert!(
                    close,
                    "{analytic} and {numeric}: element {element} of {place}, chain {seed}\n{}",
                    story()
                );
            }
        }
    }
    assert!(
        checked > 10_000 && kinks * 50 < checked,
        "{checked}, {kinks}"
    );
}
