//! Formulas over the memory of several tensors, in one pass over all of it.

use super::float::Float;
use super::lane::Lane;
use super::update_in_place::{
    Few, LANES, Update, UpdateLoop, to_write, update_chunks, update_in_place,
};
use super::view::to_row_major;
use super::{Device, Operand, Storage, UpdateFormula};
use crate::{DType, Result};

/// Nanoseconds for each element, about.
const NS: usize = 2;

/// Whether [`update_cpu`] has loops for the memory of a device and a dtype. Half precision is rounded after each
/// operation, which is composed.
pub(crate) fn cpu_computes(device: Device, dtype: DType) -> bool {
    device == Device::cpu() && matches!(dtype, DType::F32 | DType::F64)
}

/// Has the first `numel` elements in memory that no other handle shares.
pub(crate) fn cpu_unshare(storage: &mut Storage, numel: usize) -> Result<()> {
    const NAME: &str = "unshare";
    match storage.dtype() {
        DType::F32 => to_write::<f32>(NAME, storage, numel).map(|_| ()),
        _ => to_write::<f64>(NAME, storage, numel).map(|_| ()),
    }
}

/// A formula with the loops that the CPU has for it.
pub(crate) trait CompiledFormula: UpdateLoop<f32> + UpdateLoop<f64> {}

/// A formula of `W` memories that are written and `R` that are read.
#[derive(Clone, Copy)]
pub(crate) struct ByFormula<F, const W: usize, const R: usize>(pub(crate) F);

impl<F: UpdateFormula<W, R>, const W: usize, const R: usize> CompiledFormula
    for ByFormula<F, W, R>
{
}

impl<T: Float, F: UpdateFormula<W, R>, const W: usize, const R: usize> UpdateLoop<T>
    for ByFormula<F, W, R>
{
    fn run(&self, written: &mut [&mut [[T; LANES]]], read: &[&[[T; LANES]]]) {
        update_chunks(written, read, *self);
    }
}

impl<T: Float, F: UpdateFormula<W, R>, const W: usize, const R: usize> Update<T, W, R>
    for ByFormula<F, W, R>
{
    #[inline(always)]
    #[allow(clippy::inline_always, clippy::needless_range_loop)]
    fn update(self, written: &mut [[T; LANES]; W], read: &[&[T; LANES]; R]) {
        // Loops, because each closure that maps an array is compiled for itself.
        let (mut old, mut other) = ([Lane(T::zero()); W], [Lane(T::zero()); R]);
        for i in 0..LANES {
            for k in 0..W {
                old[k] = Lane(written[k][i]);
            }
            for k in 0..R {
                other[k] = Lane(read[k][i]);
            }
            let new = self.0.apply(old, other);
            for k in 0..W {
                written[k][i] = new[k].0;
            }
        }
    }
}

/// Applies a formula to the first `numel` elements of memory.
pub(crate) fn update_cpu(
    op: &'static str,
    written: &mut [&mut Storage],
    read: &[Operand],
    numel: usize,
    formula: &dyn CompiledFormula,
) -> Result<()> {
    match written.first().map(|x| x.dtype()) {
        None => Ok(()),
        Some(DType::F32) => update::<f32>(op, written, read, numel, formula),
        Some(_) => update::<f64>(op, written, read, numel, formula),
    }
}

fn update<T: Float>(
    op: &'static str,
    written: &mut [&mut Storage],
    read: &[Operand],
    numel: usize,
    formula: &dyn UpdateLoop<T>,
) -> Result<()> {
    // Whatever can fail does so before the first number changes.
    let read = read.iter().map(to_row_major).collect::<Result<Few<_>>>()?;
    let read: Few<&[T]> = read.iter().map(|x| &**x).collect();
    let written = written.iter_mut().map(|x| to_write(op, x, numel));
    update_in_place(written.collect::<Result<_>>()?, &read, NS, formula)
}
