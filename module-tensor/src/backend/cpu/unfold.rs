//! The windows of a whole tensor laid side by side as columns, and back.

use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::memory::filled;
use super::view::to_row_major;
use super::window::{Window, three};
use super::{CpuStorage, Operand, Storage, UnfoldGeometry, UnfoldOp, check_allocatable};
use crate::Result;

pub(super) fn unfold(op: UnfoldOp, x: &Operand, geometry: &UnfoldGeometry) -> Result<Storage> {
    let UnfoldGeometry {
        input,
        output,
        kernel,
        stride,
        padding,
        dilation,
    } = geometry;
    let &[batch, channels, ref size @ ..] = &**input else {
        return Err(input.error("im2col", "[batch, channels, size…]"));
    };
    let window = Window {
        channels,
        input: three(size, 1),
        output: three(output, 1),
        kernel: three(kernel, 1),
        stride: three(stride, 1),
        padding: three(padding, 0),
        dilation: three(dilation, 1),
    };
    let kernel = Unfold {
        op,
        x,
        batch,
        window,
    };
    run_float(x.storage.dtype(), kernel)
}

struct Unfold<'a> {
    op: UnfoldOp,
    x: &'a Operand,
    batch: usize,
    window: Window,
}

impl FloatKernel for Unfold<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        match self.op {
            UnfoldOp::Unfold => "im2col",
            UnfoldOp::Fold => "col2im",
        }
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self {
            op,
            x,
            batch,
            window,
        } = self;
        let x = to_row_major::<T>(x)?;
        let (columns, input) = (window.rows() * window.positions(), window.input_len());
        let (from, to) = match op {
            UnfoldOp::Unfold => (input, columns),
            UnfoldOp::Fold => (columns, input),
        };
        check_allocatable::<T>(batch * to)?;
        let mut out = filled(batch * to, T::zero())?;
        if columns == 0 || input == 0 {
            return Ok(CpuStorage::wrap(out));
        }
        let tile = window.whole();
        for (from, to) in x.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            match op {
                UnfoldOp::Unfold => window.unfold(from, &tile, to, tile.positions.len()),
                UnfoldOp::Fold => window.fold(from, &tile, to, [tile.positions.len(), 0]),
            }
        }
        Ok(CpuStorage::wrap(out))
    }
}
