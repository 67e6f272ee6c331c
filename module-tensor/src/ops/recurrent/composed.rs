//! Recurrent layers composed of other operations, for devices that lack the kernel.

use super::pass::{NAME, Recurrent, States};
use crate::Result;
use crate::backend::RecurrentOp;
use crate::tensor::Tensor;

impl Recurrent {
    pub(super) fn sums(&self, h: &Tensor) -> Result<Tensor> {
        h.linear(&self.weight, self.bias.as_ref())
    }

    /// Parts of the last dimension, each of the size of a state.
    fn parts(&self, x: &Tensor) -> Result<Vec<Tensor>> {
        let hidden = self.geometry.hidden;
        let parts = x.size(1)?.checked_div(hidden).unwrap_or(0);
        (0..parts)
            .map(|i| x.narrow(1, i * hidden..(i + 1) * hidden))
            .collect()
    }

    /// The same as the kernel, composed of other operations.
    pub(in super::super) fn compose(&self) -> Result<States> {
        let dtype = self.gates.dtype();
        let states = self.widened()?.composed_states()?;
        Ok(States {
            hidden: states.hidden.to_dtype(dtype)?,
            cell: states.cell.map(|c| c.to_dtype(dtype)).transpose()?,
        })
    }

    fn composed_states(&self) -> Result<States> {
        let geometry = &self.geometry;
        let (mut h, mut c) = (self.hidden.clone(), self.cell.clone());
        let mut rows = vec![(h.clone(), c.clone()); geometry.batch_sizes.len()];
        let steps = geometry.steps();
        for (i, step) in steps.iter().enumerate() {
            let count = 0..step.len();
            let x = self.gates.narrow(0, step.clone())?;
            let before = h.narrow(0, count.clone())?;
            let before_c = c.as_ref().map(|c| c.narrow(0, count.clone())).transpose()?;
            let (mut next, next_c) = self.step(&x, &before, before_c.as_ref())?;
            if let Some(projection) = &self.projection {
                next = next.linear(projection, None)?;
            }
            // Sequences that lack the step keep their state.
            let kept = |new: &Tensor, old: &Tensor| {
                let rest = old.narrow(0, step.len()..geometry.batch())?;
                Tensor::cat(&[new, &rest], 0)
            };
            h = kept(&next, &h)?;
            c = match (&next_c, &c) {
                (Some(new), Some(old)) => Some(kept(new, old)?),
                _ => None,
            };
            let at = if geometry.reverse {
                steps.len() - 1 - i
            } else {
                i
            };
            if let Some(row) = rows.get_mut(at) {
                *row = (next, next_c);
            }
        }
        let states = rows.iter().map(|(h, _)| h);
        let cells: Vec<&Tensor> = rows.iter().filter_map(|(_, c)| c.as_ref()).collect();
        Ok(States {
            hidden: Tensor::cat(&states.collect::<Vec<_>>(), 0)?,
            cell: match cells.is_empty() {
                true => None,
                false => Some(Tensor::cat(&cells, 0)?),
            },
        })
    }

    /// One step, before the projection.
    fn step(&self, x: &Tensor, h: &Tensor, c: Option<&Tensor>) -> Result<(Tensor, Option<Tensor>)> {
        let sums = self.sums(h)?;
        let op = self.geometry.op;
        if op == RecurrentOp::Gru {
            let [_, z, n, _] = self.gru(x, &sums)?;
            return Ok((n.add(&z.mul(&h.sub(&n)?)?)?, None));
        }
        let sums = x.add(&sums)?;
        match (op, c) {
            (RecurrentOp::Tanh, _) => Ok((sums.tanh()?, None)),
            (RecurrentOp::Lstm, Some(c)) => {
                let [i, f, g, o] = self.lstm(&sums)?;
                let c = f.mul(c)?.add(&i.mul(&g)?)?;
                Ok((o.mul(&c.tanh()?)?, Some(c)))
            }
            _ => Ok((sums.relu()?, None)),
        }
    }

    /// The gates `i`, `f`, `g`, `o`.
    pub(super) fn lstm(&self, sums: &Tensor) -> Result<[Tensor; 4]> {
        match &self.parts(sums)?[..] {
            [i, f, g, o] => Ok([i.sigmoid()?, f.sigmoid()?, g.tanh()?, o.sigmoid()?]),
            _ => Err(sums.shape().error(NAME, "four gates")),
        }
    }

    /// The gates `r`, `z`, `n`, and the factor of `r`.
    pub(super) fn gru(&self, x: &Tensor, sums: &Tensor) -> Result<[Tensor; 4]> {
        match (&self.parts(x)?[..], &self.parts(sums)?[..]) {
            ([xr, xz, xn], [sr, sz, sn]) => {
                let (r, z) = (xr.add(sr)?.sigmoid()?, xz.add(sz)?.sigmoid()?);
                let n = xn.add(&r.mul(sn)?)?.tanh()?;
                Ok([r, z, n, sn.clone()])
            }
            _ => Err(sums.shape().error(NAME, "three gates")),
        }
    }
}
