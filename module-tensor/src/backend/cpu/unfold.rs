//! The windows of a whole tensor laid side by side as columns, and back.

use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::memory::scratch;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::window::{Window, three};
use super::{CpuStorage, Operand, Storage, UnfoldGeometry, UnfoldOp};
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
    // Each channel of a sample has windows of its own.
    let window = Window {
        channels: 1,
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
        planes: batch * channels,
        window,
    };
    run_float(x.storage.dtype(), kernel)
}

struct Unfold<'a> {
    op: UnfoldOp,
    x: &'a Operand,
    /// The channels of all samples.
    planes: usize,
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
            planes,
            window,
        } = self;
        let x = to_row_major::<T>(x)?;
        let (columns, input) = (window.rows() * window.positions(), window.input_len());
        let (from, to) = match op {
            UnfoldOp::Unfold => (input, columns),
            UnfoldOp::Fold => (columns, input),
        };
        let mut out = scratch(planes * to)?;
        if columns == 0 || input == 0 {
            out.fill(T::zero());
            return Ok(CpuStorage::wrap(out));
        }
        let (tile, work) = (window.whole(), (columns + input) / 4);
        parallel_for(planes, work, Items(&mut out, to), &|planes, out| {
            let x = x[planes.start * from..].chunks_exact(from);
            for (from, to) in x.zip(out.0.chunks_exact_mut(to)) {
                match op {
                    UnfoldOp::Unfold => window.unfold(from, &tile, to, tile.positions.len()),
                    UnfoldOp::Fold => {
                        to.fill(T::zero());
                        window.fold(from, &tile, to, [tile.positions.len(), 0]);
                    }
                }
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}
