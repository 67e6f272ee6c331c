//! Formulas over the memory of several tensors, in one pass over all of it.

use std::borrow::Cow;

use super::float::Float;
use super::lane::Lane;
use super::map::{FloatKernel, run_float};
use super::update_in_place::{LANES, Update, to_write, update_in_place};
use super::view::to_cow;
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

/// Applies a formula to the first `numel` elements of memory.
pub(crate) fn update_cpu<const W: usize, const R: usize>(
    op: &'static str,
    written: [&mut Storage; W],
    read: &[Operand; R],
    numel: usize,
    formula: impl UpdateFormula<W, R>,
) -> Result<()> {
    let Some(dtype) = written.first().map(|x| x.dtype()) else {
        return Ok(());
    };
    let kernel = Kernel {
        op,
        written,
        read,
        numel,
        formula,
    };
    run_float(dtype, kernel)
}

struct Kernel<'a, F, const W: usize, const R: usize> {
    op: &'static str,
    written: [&'a mut Storage; W],
    read: &'a [Operand; R],
    numel: usize,
    formula: F,
}

impl<F: UpdateFormula<W, R>, const W: usize, const R: usize> FloatKernel for Kernel<'_, F, W, R> {
    type Output = ();

    fn name(&self) -> &'static str {
        self.op
    }

    fn run<T: Float>(self) -> Result<()> {
        // Whatever can fail does so before the first number changes.
        let mut read: [Cow<'_, [T]>; R] = [(); R].map(|()| Cow::Borrowed(&[][..]));
        for (to, x) in read.iter_mut().zip(self.read) {
            *to = to_cow(x)?;
        }
        let mut written = [(); W].map(|()| <&mut [T]>::default());
        for (to, x) in written.iter_mut().zip(self.written) {
            *to = to_write(self.op, x, self.numel)?;
        }
        let read = read.each_ref().map(|x| &**x);
        update_in_place(written, read, NS, ByFormula(self.formula))
    }
}

#[derive(Clone, Copy)]
struct ByFormula<F>(F);

impl<T: Float, F: UpdateFormula<W, R>, const W: usize, const R: usize> Update<T, W, R>
    for ByFormula<F>
{
    #[inline(always)]
    #[allow(clippy::inline_always, clippy::needless_range_loop)]
    fn update(self, written: &mut [[T; LANES]; W], read: &[&[T; LANES]; R]) {
        for i in 0..LANES {
            let old = written.each_ref().map(|x| Lane(x[i]));
            let new = self.0.apply(old, read.map(|x| Lane(x[i])));
            for k in 0..W {
                written[k][i] = new[k].0;
            }
        }
    }
}
