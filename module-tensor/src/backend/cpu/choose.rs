//! Choices between elements.

use super::aligned_vec::AlignedVec;
use super::joined_runs::{BLOCK, Group, Joined, next};
use super::memory::scratch;
use super::runs::in_parts;
use super::{Element, Operand, elements};
use crate::Result;
use crate::layout::{Block, Layout};
use crate::zip::zip_mut3;

/// One alternative of a choice: the elements of an operand, or one number.
#[derive(Clone, Copy)]
pub(super) enum Branch<'a, T> {
    Elements(&'a Operand),
    Number(T),
}

impl<'a, T: Element> Branch<'a, T> {
    /// The memory that is read, and its layout. That of a number is not read.
    fn memory(self, condition: &'a Operand) -> Result<(Memory<'a, T>, &'a Layout)> {
        Ok(match self {
            Self::Elements(x) => (Memory::Elements(elements(x)?), &x.layout),
            Self::Number(number) => (Memory::Number(number), &condition.layout),
        })
    }
}

#[derive(Clone, Copy)]
enum Memory<'a, T> {
    Elements(&'a [T]),
    Number(T),
}

impl<'a, T: Element> Memory<'a, T> {
    fn runs(self, group: Group, layout: &Layout, most: usize) -> BranchRuns<'a, T> {
        match self {
            Self::Elements(data) => BranchRuns::Elements(group.joined(data, layout)),
            Self::Number(number) => BranchRuns::Number(vec![number; most]),
        }
    }
}

/// The elements of runs, or as many times a number as they have elements at most.
enum BranchRuns<'a, T: Element> {
    Elements(Joined<'a, T>),
    Number(Vec<T>),
}

impl<T: Element> BranchRuns<'_, T> {
    fn add<const N: usize>(&mut self, block: &Block<N>, i: usize) {
        if let Self::Elements(runs) = self {
            runs.add(block, i);
        }
    }

    fn take(&mut self, length: usize) -> &[T] {
        match self {
            Self::Elements(runs) => runs.take(length),
            Self::Number(numbers) => numbers.get(..length).unwrap_or_default(),
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
    let chosen = elements::<bool>(condition)?;
    let (a, a_layout) = a.memory(condition)?;
    let (b, b_layout) = b.memory(condition)?;
    let most = values.len().min(BLOCK);
    let layouts = [&condition.layout, a_layout, b_layout];
    in_parts(layouts, 1, &mut values, &|[c, at, bt], mut out| {
        let (mut blocks, group) = Group::of([&c, &at, &bt]);
        let mut c = group.joined(chosen, &c);
        let (mut a, mut b) = (a.runs(group, &at, most), b.runs(group, &bt, most));
        while let Some(length) = group.read(&mut blocks, |block| {
            c.add(block, 0);
            a.add(block, 1);
            b.add(block, 2);
        }) {
            let out = next(&mut out, length);
            for (out, &c, &a, &b) in zip_mut3(out, c.take(length), a.take(length), b.take(length)) {
                // A branch would be mispredicted half of the time.
                *out = std::hint::select_unpredictable(c, a, b);
            }
        }
    })?;
    Ok(values)
}
