//! The gradients of recurrent layers along their steps, written with operations that have gradients.

use super::gradient::{Fused, RecurrentGrads};
use super::pass::{NAME, Recurrent, States};
use crate::backend::{RecurrentNeeds, RecurrentOp};
use crate::tensor::{Backward, Tensor};
use crate::{Error, Result};

impl Fused {
    pub(super) fn formula(&self, ctx: &Backward, needed: RecurrentNeeds) -> Result<RecurrentGrads> {
        let pass = self.pass.widened()?;
        let states = match &*self.outputs {
            [h, c @ ..] => States {
                hidden: ctx.output_of(0, h),
                cell: c.first().map(|c| ctx.output_of(1, c)),
            },
            [] => {
                let missing = || ctx.grad().device().unavailable(NAME);
                pass.fused()?.ok_or_else(missing)?
            }
        };
        let along = pass.gradients_of_steps(&states, [ctx.grad_of(0), ctx.grad_of(1)])?;
        let weight = || {
            let before = pass.before(&states.hidden, &pass.hidden)?;
            along.sums.t()?.matmul(&before)
        };
        let projection = || {
            let pair = along.states.as_ref().zip(states.cell.as_ref());
            let slope = |(slopes, c): (&Tensor, _)| {
                slopes
                    .t()?
                    .matmul(&pass.states_before_projection(&states.hidden, c)?)
            };
            pair.map(slope).transpose()
        };
        let bias = || along.sums.sum(0);
        let narrow = |x: Option<Tensor>| {
            let dtype = self.pass.gates.dtype();
            x.map(|x| x.to_dtype(dtype)).transpose()
        };
        Ok(RecurrentGrads {
            gates: along.gates.to_dtype(self.pass.gates.dtype())?,
            hidden: along.hidden.to_dtype(self.pass.hidden.dtype())?,
            cell: narrow(along.cell.clone())?,
            weight: narrow(needed.weight.then(weight).transpose()?)?,
            bias: narrow(needed.bias.then(bias).transpose()?)?,
            projection: match needed.projection {
                true => narrow(projection()?)?,
                false => None,
            },
        })
    }
}

/// The gradients of all steps.
struct StepGradients {
    /// Those of the contribution of the input.
    gates: Tensor,
    /// Those of the products of the states.
    sums: Tensor,
    /// Those of the states, if there is a projection.
    states: Option<Tensor>,
    /// Those of the initial states.
    hidden: Tensor,
    cell: Option<Tensor>,
}

impl Recurrent {
    /// The states before the projection, `o · tanh(c)`.
    fn states_before_projection(&self, h: &Tensor, c: &Tensor) -> Result<Tensor> {
        let before = self.before(h, &self.hidden)?;
        let [.., o] = self.lstm(&self.gates.add(&self.sums(&before)?)?)?;
        o.mul(&c.tanh()?)
    }

    fn gradients_of_steps(
        &self,
        states: &States,
        grads: [Option<&Tensor>; 2],
    ) -> Result<StepGradients> {
        let pass = self;
        let geometry = &pass.geometry;
        let local = Local::of(pass, states)?;
        // The gradient of unused states is 0.
        let or_zero = |grad: Option<&Tensor>, states: &Tensor| match grad {
            Some(grad) => grad.widened(),
            None => states.zeros_like(),
        };
        let grad = or_zero(grads[0], &states.hidden)?;
        let grad_c = states.cell.as_ref().map(|c| or_zero(grads[1], c));
        let grad_c = grad_c.transpose()?;
        let (mut dh, mut dc) = (pass.hidden.zeros_like()?, None);
        if let Some(cell) = &pass.cell {
            dc = Some(cell.zeros_like()?);
        }
        let mut steps = geometry.steps();
        steps.reverse();
        let (mut gates, mut sums, mut states) = (Vec::new(), Vec::new(), Vec::new());
        for step in &steps {
            let count = step.len();
            let at = |x: &Tensor| x.narrow(0, step.clone());
            // The gradients of sequences that lack the step bypass it.
            let split = |x: &Tensor| {
                let (first, rest) = (0..count, count..geometry.batch());
                Ok::<_, Error>((x.narrow(0, first)?, x.narrow(0, rest)?))
            };
            let (own, rest) = split(&dh)?;
            let slope = at(&grad)?.add(&own)?;
            let inner = match &pass.projection {
                Some(projection) => slope.matmul(projection)?,
                None => slope.clone(),
            };
            let mut parts = vec![inner.clone(); geometry.op.gates()];
            if let (Some(cell), Some(grad_c), Some(local)) = (&dc, &grad_c, &local.cell) {
                let (own, rest) = split(cell)?;
                let through = inner.mul(&at(&local.from_state)?)?;
                let slope = at(grad_c)?.add(&own)?.add(&through)?;
                parts[..3].fill(slope.clone());
                dc = Some(Tensor::cat(&[slope.mul(&at(&local.forget)?)?, rest], 0)?);
            }
            let all = Tensor::cat(&parts, 1)?;
            let of_sums = all.mul(&at(&local.sums)?)?;
            let mut before = of_sums.matmul(&pass.weight)?;
            if let Some(passed) = &local.passed {
                before = before.add(&inner.mul(&at(passed)?)?)?;
            }
            dh = Tensor::cat(&[before, rest], 0)?;
            gates.push(match &local.gates {
                Some(local) => all.mul(&at(local)?)?,
                None => of_sums.clone(),
            });
            sums.push(of_sums);
            states.push(slope);
        }
        let ordered = |mut x: Vec<Tensor>| {
            if !geometry.reverse {
                x.reverse();
            }
            Tensor::cat(&x, 0)
        };
        Ok(StepGradients {
            gates: ordered(gates)?,
            sums: ordered(sums)?,
            states: match pass.projection {
                Some(_) => Some(ordered(states)?),
                None => None,
            },
            hidden: dh,
            cell: dc,
        })
    }
}

/// The factors of the gradients of a step, for all rows.
struct Local {
    /// From the gradients of `h`, or for an LSTM three times `c` and once `h`, to the sums of the state.
    sums: Tensor,
    /// The same for the contribution of the input, if it differs.
    gates: Option<Tensor>,
    /// From the gradient of `h` to the part of the previous `h`'s gradient that bypasses the sums.
    passed: Option<Tensor>,
    cell: Option<LocalCell>,
}

struct LocalCell {
    /// From the gradient of `h` to that of `c`.
    from_state: Tensor,
    /// From the gradient of `c` to that of the previous `c`.
    forget: Tensor,
}

impl Local {
    fn of(pass: &Recurrent, states: &States) -> Result<Self> {
        let rest = |y: &Tensor| y.neg()?.add(1.0);
        let sigmoid = |y: &Tensor| y.mul(&rest(y)?);
        let tanh = |y: &Tensor| rest(&y.mul(y)?);
        let (h, c) = (&states.hidden, &states.cell);
        let h_before = pass.before(h, &pass.hidden)?;
        let plain = |sums| Self {
            sums,
            gates: None,
            passed: None,
            cell: None,
        };
        match (pass.geometry.op, c, &pass.cell) {
            (RecurrentOp::Tanh, ..) => Ok(plain(tanh(h)?)),
            (RecurrentOp::Gru, ..) => {
                let [r, z, n, s] = pass.gru(&pass.gates, &pass.sums(&h_before)?)?;
                let slope = rest(&z)?.mul(&tanh(&n)?)?;
                let of_r = slope.mul(&s)?.mul(&sigmoid(&r)?)?;
                let of_z = h_before.sub(&n)?.mul(&sigmoid(&z)?)?;
                let of_s = slope.mul(&r)?;
                Ok(Self {
                    sums: Tensor::cat(&[&of_r, &of_z, &of_s], 1)?,
                    gates: Some(Tensor::cat(&[&of_r, &of_z, &slope], 1)?),
                    passed: Some(z),
                    cell: None,
                })
            }
            (RecurrentOp::Lstm, Some(c), Some(first)) => {
                let sums = pass.gates.add(&pass.sums(&h_before)?)?;
                let [i, f, g, o] = pass.lstm(&sums)?;
                let t = c.tanh()?;
                let of_i = g.mul(&sigmoid(&i)?)?;
                let of_f = pass.before(c, first)?.mul(&sigmoid(&f)?)?;
                let of_g = i.mul(&tanh(&g)?)?;
                let of_o = t.mul(&sigmoid(&o)?)?;
                let cell = LocalCell {
                    from_state: o.mul(&tanh(&t)?)?,
                    forget: f,
                };
                Ok(Self {
                    cell: Some(cell),
                    ..plain(Tensor::cat(&[&of_i, &of_f, &of_g, &of_o], 1)?)
                })
            }
            _ => Ok(plain(h.le(0.0)?.logical_not()?.to_dtype(h.dtype())?)),
        }
    }
}
