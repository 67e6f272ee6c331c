//! Writing through a layout: the inverse of views, and constant padding.

use super::dispatch::dispatch_moved;
use super::full::full;
use super::joined_runs::run;
use super::map::{NumberKernel, by_width, run_number, through_wide};
use super::memory::filled;
use super::number::Number;
use super::{CpuStorage, Element, Operand, Storage, check_allocatable, elements};
use crate::layout::{Layout, Runs, Shape};
use crate::{Result, Scalar};

pub(super) fn as_strided_scatter(
    x: Operand,
    layout: &Layout,
    numel: usize,
    fill: Scalar,
) -> Result<Storage> {
    if layout.overlaps() {
        return through_wide([x], |[x]| {
            run_number(x.storage.dtype(), Add { x, layout, numel })
        });
    }
    let fill = Operand {
        storage: full(1, x.storage.dtype(), fill)?,
        layout: Layout::contiguous(Shape::from(1)),
    };
    by_width([x, fill], |[x, fill]| {
        dispatch_moved!("place", x.storage.dtype(), T => {
            check_allocatable::<T>(numel)?;
            let value = elements::<T>(&fill)?.first().copied().unwrap_or_default();
            let mut out = filled(numel, value)?;
            write(&x, layout, &mut out, |slot, v: T| *slot = v)?;
            Ok(CpuStorage::wrap(out))
        })
    })
}

struct Add<'a> {
    x: Operand,
    layout: &'a Layout,
    numel: usize,
}

impl NumberKernel for Add<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "slice"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        check_allocatable::<T>(self.numel)?;
        let mut out = filled(self.numel, T::zero())?;
        write(&self.x, self.layout, &mut out, |slot, v: T| {
            *slot = slot.plus(v);
        })?;
        Ok(CpuStorage::wrap(out))
    }
}

/// Puts each element of `x` where `layout` says.
fn write<T: Element>(
    x: &Operand,
    layout: &Layout,
    out: &mut [T],
    put: impl Fn(&mut T, T),
) -> Result<()> {
    let (data, mut buffer) = (elements::<T>(x)?, Vec::new());
    for r in Runs::new([&x.layout, layout]) {
        let values = run(data, r.offsets[0], r.steps[0], r.length, &mut buffer);
        let slots = out.get_mut(r.offsets[1]..).unwrap_or_default();
        match r.steps[1] {
            0 => {
                if let Some(slot) = slots.first_mut() {
                    values.iter().for_each(|&v| put(slot, v));
                }
            }
            1 => slots
                .iter_mut()
                .zip(values)
                .for_each(|(slot, &v)| put(slot, v)),
            step => {
                let slots = slots.iter_mut().step_by(step);
                slots.zip(values).for_each(|(slot, &v)| put(slot, v));
            }
        }
    }
    Ok(())
}
