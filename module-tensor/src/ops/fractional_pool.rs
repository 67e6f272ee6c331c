//! Fractional max pooling: windows of equal size at random distances.

use super::AutocastPolicy;
use super::window::{check_positive, images, name_by_dims, product};
use crate::backend::check_host_allocatable;
use crate::tensor::Tensor;
use crate::{DType, Error, Result};

impl Tensor {
    /// The maxima of each window, as `torch.nn.functional.fractional_max_pool2d` and `fractional_max_pool3d`, and the
    /// indices of the maxima in the flattened spatial dimensions, as `I64`.
    ///
    /// Along a dimension with the sample `u`, window `i` starts at `⌊(i + u)·α⌋ - ⌊u·α⌋` with
    /// `α = (size - kernel)/(out - 1)`, and the last at the end. The gradient goes to the first of equal
    /// maxima; NaN counts as the greatest.
    ///
    /// Source: Graham, *Fractional Max-Pooling* (2014).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, size…]` with `N` sizes, or without the batch, and `samples`
    /// `[batch, channels, N]`, with a batch of 1 where there is none. As in PyTorch the samples of an image are
    /// those of its width and its height, those of a volume of its depth, height and width.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, a zero kernel or output, fewer than `kernel + out - 1` elements in a dimension, a
    /// dtype that is not floating-point, samples of another shape or dtype or outside `[0, 1)`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::arange(0, 16, ())?.reshape([1, 4, 4])?.to_dtype(DType::F32)?;
    /// let samples = Tensor::full([1, 1, 2], 0.5, DType::F32)?;
    /// let (y, indices) = x.fractional_max_pool([2, 2], [2, 2], &samples)?;
    /// assert_eq!(y.to_vec::<f32>()?, [5.0, 7.0, 13.0, 15.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [5, 7, 13, 15]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias("fractional_max_pool2d", "fractional_max_pool3d"))]
    #[doc(alias = "fractional_max_pool2d_with_indices")]
    #[doc(alias = "fractional_max_pool3d_with_indices")]
    pub fn fractional_max_pool<const N: usize>(
        &self,
        kernel_size: [usize; N],
        output_size: [usize; N],
        samples: &Self,
    ) -> Result<(Self, Self)> {
        let pool = |[x, samples]: [&Self; 2], []: [Option<&Self>; 0]| {
            x.fractional_max_pool(kernel_size, output_size, samples)
        };
        if let Some(out) = AutocastPolicy::Float32.apply([self, samples], [], pool) {
            return out;
        }
        let name = name_by_dims::<N>([
            "fractional_max_pool1d",
            "fractional_max_pool2d",
            "fractional_max_pool3d",
        ]);
        let (input, batched) = self.batched::<N>(name)?;
        input.check_floating(name)?;
        if batched {
            input.check_channels(name)?;
        }
        input.check_same(name, samples)?;
        let arguments = [("kernel_size", kernel_size), ("output_size", output_size)];
        check_positive(name, arguments)?;
        let sizes = input.spatial::<N>();
        for (d, &size) in sizes.iter().enumerate() {
            let needs = kernel_size[d].checked_add(output_size[d] - 1);
            if needs.is_none_or(|needs| needs > size) {
                let expected = format!(
                    "{} with at least kernel_size = {kernel_size:?} + output_size = {output_size:?} - 1",
                    images::<N>(["batch", "channels"])
                );
                return Err(self.shape().error(name, expected));
            }
        }
        let (batch, channels) = (input.shape()[0], input.shape()[1]);
        if **samples.shape() != [batch, channels, N] {
            let expected = format!("samples [{batch}, {channels}, {N}]");
            return Err(samples.shape().error(name, expected));
        }
        let samples = samples.to_dtype(DType::F64)?.to_vec::<f64>()?;
        if let Some(wrong) = samples.iter().find(|u| !(0.0..1.0).contains(*u)) {
            return Err(Error::argument(name, "samples", wrong, "must be in [0, 1)"));
        }
        let (planes, windows) = (batch * channels, product(&output_size));
        let counts = product(&kernel_size)
            .zip(windows)
            .and_then(|(elements, windows)| {
                let each = elements.checked_mul(windows)?;
                Some((windows, elements, each.checked_mul(planes)?))
            });
        let Some((windows, size, count)) = counts else {
            return Err(self.shape().error(name, "windows that fit memory"));
        };
        check_host_allocatable::<i64>(count)?;
        let mut seen = Vec::with_capacity(count);
        for samples in samples.chunks_exact(N) {
            let mut starts = Vec::with_capacity(N);
            for d in 0..N {
                let sample = samples[if N == 2 { 1 - d } else { d }];
                let room = sizes[d] - kernel_size[d];
                starts.push(starts_of(room, output_size[d], sample, self.dtype()));
            }
            for_each(&output_size, |window| {
                for_each(&kernel_size, |offset| {
                    let at =
                        (0..N).fold(0, |at, d| at * sizes[d] + starts[d][window[d]] + offset[d]);
                    // Less than the number of elements of a tensor.
                    seen.push(at as i64);
                });
            });
        }
        let seen = Self::from_vec(seen, [planes, windows, size])?.to_device(&self.device())?;
        let flat = input.flatten(2, -1)?.flatten(0, 1)?;
        let elements = flat.gather(1, &seen.flatten(1, 2)?)?.detach();
        let first = elements
            .reshape([planes, windows, size])?
            .argmax_keepdim(2)?;
        let maxima = seen.gather(2, &first)?.squeeze(2)?;
        let shape = [batch, channels].into_iter().chain(output_size).collect();
        let whole = |x: Self| x.reshape_to(&shape)?.unbatched(batched);
        Ok((whole(flat.gather(1, &maxima)?)?, whole(maxima)?))
    }
}

/// The starts of the windows along one dimension, computed in the tensor's precision as in PyTorch.
fn starts_of(room: usize, count: usize, sample: f64, dtype: DType) -> Vec<usize> {
    let last = count - 1;
    let start = |at: usize| match dtype {
        DType::F64 => {
            let alpha = room as f64 / last as f64;
            ((at as f64 + sample) * alpha) as usize - (sample * alpha) as usize
        }
        _ => {
            let (sample, alpha) = (sample as f32, room as f32 / last as f32);
            ((at as f32 + sample) * alpha) as usize - (sample * alpha) as usize
        }
    };
    // Rounding may exceed the end.
    let inside = |at| start(at).min(room);
    (0..last).map(inside).chain([room]).collect()
}

/// Calls `f` with every index into a window of these sizes, the last dimension varying fastest.
fn for_each<const N: usize>(sizes: &[usize; N], mut f: impl FnMut([usize; N])) {
    let mut index = [0; N];
    loop {
        f(index);
        let Some(d) = (0..N).rev().find(|&d| index[d] + 1 < sizes[d]) else {
            return;
        };
        index[d] += 1;
        index[d + 1..].fill(0);
    }
}
