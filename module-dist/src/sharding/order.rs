//! Which unit computes after which: what is gathered ahead of time.

/// A part of a step, in which units compute in an order of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Forward,
    /// A forward pass that computes activations again in the backward pass.
    Recomputation,
    Backward,
}

/// The order in which units began to compute.
#[derive(Default)]
pub(super) struct Order {
    /// For each unit in a phase, the one after it when it computed last.
    next: Vec<(Phase, usize, usize)>,
    last: Option<(Phase, usize)>,
}

impl Order {
    /// Records that a unit begins to compute; returns the one that followed it before.
    pub(super) fn begin(&mut self, phase: Phase, unit: usize) -> Option<usize> {
        if let Some((same, last)) = self.last.replace((phase, unit))
            && same == phase
        {
            match self.entry(phase, last) {
                Some(next) => *next = unit,
                None => self.next.push((phase, last, unit)),
            }
        }
        self.entry(phase, unit).map(|next| *next)
    }

    /// Records that nothing follows the last unit.
    pub(super) fn end(&mut self) {
        if let Some(last) = self.last.take() {
            self.next.retain(|&(phase, unit, _)| (phase, unit) != last);
        }
    }

    fn entry(&mut self, phase: Phase, unit: usize) -> Option<&mut usize> {
        let mut all = self.next.iter_mut();
        let found = all.find(|entry| (entry.0, entry.1) == (phase, unit));
        found.map(|entry| &mut entry.2)
    }
}

#[cfg(test)]
mod tests {
    use super::Phase::{Backward, Forward};
    use super::*;

    #[test]
    fn each_unit_leads_to_the_one_that_followed_it_before() {
        let mut order = Order::default();
        let mut run = |phase, units: &[usize]| -> Vec<Option<usize>> {
            let next = units.iter().map(|&unit| order.begin(phase, unit)).collect();
            order.end();
            next
        };
        assert_eq!(run(Forward, &[0, 1, 2]), [None, None, None]);
        assert_eq!(run(Backward, &[2, 1, 0]), [None, None, None]);
        assert_eq!(run(Forward, &[0, 1, 2]), [Some(1), Some(2), None]);
        assert_eq!(run(Backward, &[2, 0]), [Some(1), None]);
        assert_eq!(run(Backward, &[2, 0]), [Some(0), None]);
        // Another way through the model is followed from the next time on.
        assert_eq!(run(Forward, &[0, 2, 1]), [Some(1), None, Some(2)]);
        assert_eq!(run(Forward, &[0, 2, 1]), [Some(2), Some(1), None]);
    }
}
