//! Linear maps along the last dimensions, each of which is its own kind's gradient.

use std::ops::Range;

use crate::backend::{Band, host_room};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Result, Shape};

impl Tensor {
    /// The last dimensions through one band each.
    pub(super) fn resample(&self, name: &'static str, bands: Vec<Band>) -> Result<Self> {
        let lead = self.rank().saturating_sub(bands.len());
        let sizes = self.shape().iter().take(lead).copied();
        let shape: Shape = sizes
            .chain(bands.iter().map(|band| band.ranges.len()))
            .collect();
        shape.checked_numel(name, self.dtype().size_in_bytes())?;
        let storage = self.device().backend().resample(self.operand(), &bands)?;
        Ok(Self::fresh(storage, shape).record([self], |_| Resample { name, bands }))
    }
}

/// What each of `count` places sees; their number is as large as an argument says.
pub(super) fn ranges(
    count: usize,
    range: impl Fn(usize) -> Range<usize>,
) -> Result<Vec<Range<usize>>> {
    host_room::<Range<usize>>(count)?;
    Ok((0..count).map(range).collect())
}

struct Resample {
    name: &'static str,
    bands: Vec<Band>,
}

impl Function for Resample {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let bands = self.bands.iter().map(Band::transposed).collect();
        one(ctx.grad().resample(self.name, bands)?)
    }
}
