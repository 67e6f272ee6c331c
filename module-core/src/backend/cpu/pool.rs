//! Pooling over two spatial dimensions.

use super::number::Convert;
use super::view::to_cow;
use super::{CpuStorage, Operand, PoolGeometry, Storage, room};
use crate::Result;

/// The greatest element of each window of `[batch, channels, height, width]`, and its place.
pub(super) fn max_pool<T: Convert + PartialOrd>(
    x: &Operand,
    geometry: &PoolGeometry,
) -> Result<(Storage, Storage)> {
    let values = to_cow::<T>(x)?;
    let &[batch, channels, height, width] = &**x.layout.shape() else {
        return Err(x
            .layout
            .shape()
            .error("max_pool2d", "[batch, channels, height, width]"));
    };
    let [out_height, out_width] = geometry.output;
    let len = batch * channels * out_height * out_width;
    room::<T>(len)?;
    room::<i64>(len)?;
    let (mut out, mut places) = (Vec::with_capacity(len), Vec::with_capacity(len));
    // An empty output has no windows, whatever the planes are.
    if len > 0 {
        for plane in values.chunks_exact(height * width) {
            for oy in 0..out_height {
                for ox in 0..out_width {
                    let place = winner(plane, [height, width], [oy, ox], geometry);
                    out.push(plane[place]);
                    places.push(place as i64);
                }
            }
        }
    }
    Ok((CpuStorage::wrap(out), CpuStorage::wrap(places)))
}

/// The place of the first greatest element, or of the last NaN, as in PyTorch.
fn winner<T: Convert + PartialOrd>(
    plane: &[T],
    size: [usize; 2],
    at: [usize; 2],
    geometry: &PoolGeometry,
) -> usize {
    let window = |d: usize| {
        let PoolGeometry {
            kernel,
            stride,
            padding,
            dilation,
            ..
        } = geometry;
        // Only the places inside are walked: a window may be far larger than the input.
        let start = at[d] * stride[d];
        let first = padding[d].saturating_sub(start).div_ceil(dilation[d]);
        let end = (size[d] + padding[d])
            .saturating_sub(start)
            .div_ceil(dilation[d]);
        (first..end.min(kernel[d])).map(move |k| start + k * dilation[d] - padding[d])
    };
    let mut best: Option<usize> = None;
    for y in window(0) {
        for x in window(1) {
            let place = y * size[1] + x;
            let v = plane[place];
            // Only NaN differs from itself.
            #[allow(clippy::eq_op)]
            if best.is_none_or(|best| v > plane[best] || v != v) {
                best = Some(place);
            }
        }
    }
    // The op refuses windows that lie wholly in the padding.
    best.unwrap_or(0)
}
