//! Choices between elements.

use super::aligned_vec::AlignedVec;
use super::memory::scratch;
use super::runs::{BLOCK, next, run};
use super::{Element, Operand, elements};
use crate::Result;
use crate::layout::{Layout, Runs};
use crate::zip::zip_mut3;

/// What a choice gives: the elements of an operand, or one number.
#[derive(Clone, Copy)]
pub(super) enum Branch<'a, T> {
    Elements(&'a Operand),
    Number(T),
}

impl<'a, T: Element> Branch<'a, T> {
    /// The memory that is read, its layout, and a buffer. A number is as many elements as a run has at
    /// most, whose layout is not read.
    fn memory(self, condition: &'a Operand) -> Result<(&'a [T], &'a Layout, Vec<T>)> {
        Ok(match self {
            Self::Elements(x) => (elements(x)?, &x.layout, Vec::new()),
            Self::Number(number) => {
                let most = condition.layout.shape().numel().min(BLOCK);
                (&[], &condition.layout, vec![number; most])
            }
        })
    }

    /// The elements of a run.
    fn run<'b>(
        self,
        data: &'b [T],
        offset: usize,
        step: usize,
        length: usize,
        buffer: &'b mut Vec<T>,
    ) -> &'b [T] {
        match self {
            Self::Elements(_) => run(data, offset, step, length, buffer),
            Self::Number(_) => buffer.get(..length).unwrap_or_default(),
        }
    }
}

/// `a` where `condition` is true, else `b`, in row-major order; the layouts have one shape.
pub(super) fn choose<T: Element>(
    condition: &Operand,
    a: Branch<'_, T>,
    b: Branch<'_, T>,
) -> Result<AlignedVec<T>> {
    let mut values = scratch(condition.layout.shape().numel())?;
    let (c_data, mut c_buffer) = (elements::<bool>(condition)?, Vec::new());
    let (a_data, a_layout, mut a_buffer) = a.memory(condition)?;
    let (b_data, b_layout, mut b_buffer) = b.memory(condition)?;
    let mut rest = &mut *values;
    let runs = Runs::new([&condition.layout, a_layout, b_layout]);
    for r in runs.pieces(BLOCK) {
        let c = run(c_data, r.offsets[0], r.steps[0], r.length, &mut c_buffer);
        let a = a.run(a_data, r.offsets[1], r.steps[1], r.length, &mut a_buffer);
        let b = b.run(b_data, r.offsets[2], r.steps[2], r.length, &mut b_buffer);
        let out = next(&mut rest, r.length);
        for (out, &c, &a, &b) in zip_mut3(out, c, a, b) {
            // A branch would be mispredicted half of the time.
            *out = std::hint::select_unpredictable(c, a, b);
        }
    }
    Ok(values)
}
