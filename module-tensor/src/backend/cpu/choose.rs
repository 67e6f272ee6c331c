//! Choices between elements.

use super::aligned_vec::AlignedVec;
use super::joined_runs::{BLOCK, Group, Joined, next};
use super::memory::scratch;
use super::number::FromScalar;
use super::runs::in_parts;
use super::view::take_to_reuse;
use super::{CpuStorage, Element, Operand, Storage, elements};
use crate::layout::{Block, Layout};
use crate::zip::zip_mut3;
use crate::{DType, Result, Scalar};

/// One alternative of a choice: the elements of an operand, or one number.
enum Branch<'a, T> {
    Elements(&'a mut Operand),
    Number(T),
}

impl<T: Element> Branch<'_, T> {
    /// The memory of the elements, if nobody else holds it and they lie in row-major order.
    fn take(&mut self) -> Option<AlignedVec<T>> {
        match self {
            Self::Elements(x) => take_to_reuse(x),
            Self::Number(_) => None,
        }
    }

    /// The memory that is read, and its layout. That of a number is not read.
    fn memory<'a>(&'a self, condition: &'a Operand) -> Result<(Memory<'a, T>, &'a Layout)> {
        Ok(match self {
            Self::Elements(x) => (Memory::Elements(elements(x)?), &x.layout),
            Self::Number(number) => (Memory::Number(*number), &condition.layout),
        })
    }
}

#[derive(Clone, Copy)]
enum Memory<'a, T> {
    Elements(&'a [T]),
    Number(T),
    /// That in which the results replace the elements.
    Own,
}

impl<'a, T: Element> Memory<'a, T> {
    fn runs(self, group: Group, layout: &Layout, most: usize) -> BranchRuns<'a, T> {
        match self {
            Self::Elements(data) => BranchRuns::Elements(group.joined(data, layout)),
            Self::Number(number) => BranchRuns::Number(vec![number; most]),
            Self::Own => BranchRuns::Own(vec![T::default(); most]),
        }
    }
}

/// The elements of runs, or as many times a number as they have elements at most.
enum BranchRuns<'a, T: Element> {
    Elements(Joined<'a, T>),
    Number(Vec<T>),
    Own(Vec<T>),
}

impl<T: Element> BranchRuns<'_, T> {
    fn add<const N: usize>(&mut self, block: &Block<N>, i: usize) {
        if let Self::Elements(runs) = self {
            runs.add(block, i);
        }
    }

    /// The elements that are chosen from, or replaced, in `out`.
    fn take(&mut self, out: &[T]) -> &[T] {
        match self {
            Self::Elements(runs) => runs.take(out.len()),
            Self::Number(numbers) => numbers.get(..out.len()).unwrap_or_default(),
            Self::Own(copy) => {
                let copy = &mut copy[..out.len()];
                copy.copy_from_slice(out);
                copy
            }
        }
    }
}

/// `a` where `condition` is true, else `b`.
pub(super) fn select<T: Element>(
    condition: &Operand,
    a: &mut Operand,
    b: &mut Operand,
) -> Result<Storage> {
    choose::<T>(condition, Branch::Elements(a), Branch::Elements(b))
}

/// A number where the mask is `on`, else the elements.
pub(super) fn fill_where<T: Element + FromScalar>(
    mut x: Operand,
    mask: &Operand,
    on: bool,
    number: Scalar,
) -> Result<Storage> {
    let (x, number) = (
        Branch::Elements(&mut x),
        Branch::Number(T::from_scalar(number)),
    );
    let (a, b) = if on { (number, x) } else { (x, number) };
    choose::<T>(mask, a, b)
}

/// `a` where `condition` is true, else `b`, in row-major order; the layouts have one shape. The result is in the memory of one
/// of both, if nobody else holds it.
fn choose<T: Element>(
    condition: &Operand,
    mut a: Branch<'_, T>,
    mut b: Branch<'_, T>,
) -> Result<Storage> {
    let dtype = condition.storage.dtype();
    if dtype != DType::Bool {
        return Err(dtype.error("where", "a bool condition"));
    }
    let chosen = elements::<bool>(condition)?;
    let of_a = a.take();
    let of_b = if of_a.is_none() { b.take() } else { None };
    let (is_a, is_b) = (of_a.is_some(), of_b.is_some());
    let mut values = match of_a.or(of_b) {
        Some(values) => values,
        None => scratch(condition.layout.shape().numel())?,
    };
    let (a, a_layout) = a.memory(condition)?;
    let (b, b_layout) = b.memory(condition)?;
    let a = if is_a { Memory::Own } else { a };
    let b = if is_b { Memory::Own } else { b };
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
            let (a, b) = (a.take(out), b.take(out));
            for (out, &c, &a, &b) in zip_mut3(out, c.take(length), a, b) {
                // A branch would be mispredicted half of the time.
                *out = std::hint::select_unpredictable(c, a, b);
            }
        }
    })?;
    Ok(CpuStorage::wrap(values))
}
