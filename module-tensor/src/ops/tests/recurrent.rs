//! Recurrent layers: gradients, the kernel compared with the composed operations, and steps by definition.

use super::normalization::{agree, close};
use super::*;
use crate::fused::{RecurrentOp, RecurrentOptions, RecurrentOutput, recurrent};

/// A pass over some sequences: its cell, the sizes of the states, and which inputs it has.
#[derive(Clone, Copy)]
struct Pass {
    op: RecurrentOp,
    hidden: usize,
    projected: Option<usize>,
    biased: bool,
    batch_sizes: &'static [usize],
    reverse: bool,
}

impl Pass {
    fn new(op: RecurrentOp, batch_sizes: &'static [usize]) -> Self {
        Self {
            op,
            hidden: 2,
            projected: None,
            biased: true,
            batch_sizes,
            reverse: false,
        }
    }

    /// The gates, the first state, the weight; then the state c, the bias, the projection.
    fn shapes(self) -> Vec<Vec<usize>> {
        let (rows, batch) = (self.batch_sizes.iter().sum(), self.batch_sizes[0]);
        let width = self.projected.unwrap_or(self.hidden);
        let gates = self.op.gates() * self.hidden;
        let mut shapes = vec![vec![rows, gates], vec![batch, width], vec![gates, width]];
        if self.op == RecurrentOp::Lstm {
            shapes.push(vec![batch, self.hidden]);
        }
        if self.biased {
            shapes.push(vec![gates]);
        }
        if self.projected.is_some() {
            shapes.push(vec![width, self.hidden]);
        }
        shapes
    }

    /// Calls `f` with the tensor, the first states and the options.
    fn with<R>(
        self,
        x: &[Tensor],
        f: impl FnOnce(&Tensor, &Tensor, Option<&Tensor>, &RecurrentOptions<'_>) -> R,
    ) -> R {
        let mut rest = x[3..].iter();
        let cell = (self.op == RecurrentOp::Lstm).then(|| rest.next().unwrap());
        let options = RecurrentOptions::new(self.op, &x[2], self.batch_sizes)
            .bias_hh(self.biased.then(|| rest.next().unwrap()))
            .weight_hr(self.projected.map(|_| rest.next().unwrap()))
            .reverse(self.reverse);
        f(&x[0], &x[1], cell, &options)
    }

    fn run(self, x: &[Tensor]) -> Result<RecurrentOutput> {
        self.with(x, recurrent)
    }

    /// All results, concatenated.
    fn all(self, x: &[Tensor]) -> Result<Tensor> {
        side_by_side(self.run(x)?)
    }

    /// The last state `c` of an LSTM alone.
    fn cell(self, x: &[Tensor]) -> Result<Tensor> {
        let cell = self.run(x)?.cell;
        cell.ok_or_else(|| crate::Error::custom("no state c"))
    }

    fn compose(self, x: &[Tensor]) -> Result<Tensor> {
        let pass = self.with(x, Tensor::pass)?;
        side_by_side(pass.output(pass.compose()?)?)
    }

    fn inputs(self) -> Vec<Tensor> {
        let shapes = self.shapes().into_iter().enumerate();
        shapes.map(|(i, shape)| numbers(shape, i)).collect()
    }

    fn check(self) {
        check_at("recurrent", &self.inputs(), &|x| self.all(x));
    }
}

fn side_by_side(out: RecurrentOutput) -> Result<Tensor> {
    let parts = [Some(out.output), Some(out.hidden), out.cell];
    let flat = parts.iter().flatten().map(|x| x.reshape([-1]));
    Tensor::cat(&flat.collect::<Result<Vec<_>>>()?, 0)
}

const OPS: [RecurrentOp; 4] = [
    RecurrentOp::Tanh,
    RecurrentOp::Relu,
    RecurrentOp::Lstm,
    RecurrentOp::Gru,
];

fn passes() -> Vec<Pass> {
    let mut passes = Vec::new();
    for op in OPS {
        for reverse in [false, true] {
            let pass = Pass {
                reverse,
                ..Pass::new(op, &[3, 2, 2, 1])
            };
            passes.push(pass);
            let biased = reverse;
            let batch_sizes = &[2, 2];
            passes.push(Pass {
                biased,
                batch_sizes,
                ..pass
            });
            if op == RecurrentOp::Lstm {
                let projected = Some(1);
                passes.push(Pass { projected, ..pass });
            }
        }
        passes.push(Pass::new(op, &[0]));
    }
    passes
}

pub(super) fn check_all() {
    passes().into_iter().for_each(Pass::check);
    // A gradient reaches one of the two states alone.
    for projected in [None, Some(1)] {
        let pass = Pass {
            projected,
            ..Pass::new(RecurrentOp::Lstm, &[2, 1])
        };
        check_at("recurrent", &pass.inputs(), &|x| Ok(pass.run(x)?.output));
        check_at("recurrent", &pass.inputs(), &|x| pass.cell(x));
    }
    // In every layout of every input.
    for op in [RecurrentOp::Lstm, RecurrentOp::Gru] {
        let pass = Pass::new(op, &[2, 1]);
        check_layouts("recurrent", &pass.inputs(), &[], &|x| pass.all(x));
    }
}

#[test]
fn kernel_and_formula_give_the_same_gradients() {
    for pass in passes() {
        // Sizes that end within a panel and within a tile of rows.
        for (hidden, batch_sizes) in [(19, &[9, 8, 3][..]), (32, &[6, 6]), (5, &[1, 1, 1])] {
            let pass = Pass {
                hidden,
                batch_sizes,
                projected: pass.projected.map(|_| 3),
                ..pass
            };
            let shapes = pass.shapes();
            let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
            agree(&shapes, |x| pass.all(x));
            agree(&shapes, |x| Ok(pass.run(x)?.output));
            if pass.op == RecurrentOp::Lstm {
                agree(&shapes, |x| pass.cell(x));
            }
        }
    }
}

#[test]
fn what_stands_in_for_the_kernel_gives_the_same() {
    for pass in passes() {
        let x = pass.inputs();
        let kernel = pass.all(&x).unwrap();
        close(&kernel, &pass.compose(&x).unwrap(), 1e-14);
    }
}

#[test]
fn a_sequence_does_not_depend_on_those_beside_it() {
    for op in OPS {
        let pass = Pass::new(op, &[2, 2, 1]);
        let (together, x) = (pass.run(&pass.inputs()).unwrap(), pass.inputs());
        let rows = Tensor::from([0_i64, 2, 4]);
        let mut alone = x.clone();
        alone[0] = x[0].index_select(0, &rows).unwrap();
        alone[1] = x[1].narrow(0, 0..1).unwrap();
        if op == RecurrentOp::Lstm {
            alone[3] = x[3].narrow(0, 0..1).unwrap();
        }
        let batch_sizes = &[1, 1, 1];
        let alone = Pass {
            batch_sizes,
            ..pass
        }
        .run(&alone)
        .unwrap();
        let values = |x: &Tensor| x.to_vec::<f64>().unwrap();
        let first = together.output.index_select(0, &rows).unwrap();
        assert_eq!(values(&first), values(&alone.output));
        let last = together.hidden.narrow(0, 0..1).unwrap();
        assert_eq!(values(&last), values(&alone.hidden));
        assert_eq!(together.cell.is_some(), op == RecurrentOp::Lstm);
    }
}
