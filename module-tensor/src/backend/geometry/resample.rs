use crate::layout::Shape;

/// The resizing of images over one to three spatial dimensions, one after another.
///
/// In each spatial dimension pixel `o` of the output is a weighted sum of neighboring input pixels. The weights
/// depend on `o`, on the sizes and on the scale `s`, as [`ResampleMode`] says.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{LinearOp, ResampleGeometry, ResampleMode};
/// use module_tensor::{Device, Layout, Tensor};
///
/// let geometry = ResampleGeometry {
///     input: [1, 1, 2].into(),
///     output: [1, 1, 3].into(),
///     mode: ResampleMode::Linear { align_corners: true },
///     scale: vec![0.5],
/// };
/// let x = Tensor::from([1.0, 3.0]).reshape(&geometry.input)?;
/// let y = Device::cpu().backend().resample(LinearOp::Forward, x.operand(), &geometry)?;
/// let y = Tensor::from_storage(y, Layout::contiguous(geometry.output.clone()));
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ResampleGeometry {
    /// The shape of the input, `[batch, channels, size…]`; no spatial size is 0.
    pub input: Shape,
    /// The shape of the output, `[batch, channels, size…]`; no spatial size is 0.
    pub output: Shape,
    /// The weights of the input pixels.
    pub mode: ResampleMode,
    /// In each spatial dimension the distance in the input between neighboring output pixels: with aligned
    /// corners `(input - 1) / (output - 1)`, or 0 for one pixel; otherwise `1 / scale_factor` where a
    /// factor was given, which makes `⌊input · scale_factor⌋` pixels, and `input / output` where a size
    /// was.
    pub scale: Vec<f64>,
}

/// The formula for pixel `o` of one dimension of an output, from `n` pixels of the input at the scale `s`.
///
/// An index before the first pixel reads the first, and one after the last reads the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResampleMode {
    /// Pixel `min(⌊o · s⌋, n - 1)`, computed in `f32`, or for `f64` in `f64` and rounded to `f32`: another
    /// rounding would choose a different pixel from PyTorch's.
    Nearest,
    /// Pixel `min(⌊((o + ½) · s - ½) + ½⌋, n - 1)`, in the same precision and with the product and
    /// the subtraction rounded once, as one fused operation.
    NearestExact,
    /// `(1 - t) · x[l] + t · x[l + 1]`, where the source `p` is `o · s` with aligned corners and
    /// `max((o + ½) · s - ½, 0)` without, `l = min(⌊p⌋, n - 1)`, and `t` is `p - l`, at most 1. A dimension
    /// that keeps its size is copied.
    Linear {
        /// Whether the centers of the first and last pixels of input and output are aligned.
        align_corners: bool,
    },
    /// `w(1 + t) · x[l - 1] + w(t) · x[l] + w(1 - t) · x[l + 1] + w(2 - t) · x[l + 2]`, where the source `p` is
    /// `o · s` with aligned corners and `(o + ½) · s - ½` without, `l = min(⌊p⌋, n - 1)`, and `t` is `p - l`, at
    /// most 1. With `a = -¾`, `w(d)` is `(a + 2)·d³ - (a + 3)·d² + 1` up to 1, and `a·d³ - 5a·d² + 8a·d - 4a`
    /// beyond.
    Cubic {
        /// Whether the centers of the first and last pixels of input and output are aligned.
        align_corners: bool,
    },
    /// The mean of the pixels `i` around the center `c = (o + ½) · s`, weighted by `max(1 - |d|, 0)` at the
    /// distance `d = (i + ½ - c) / m` with `m = max(s, 1)`, so that the weights sum to 1. The pixels are
    /// those of `⌊max(c - m + ½, 0)⌋..⌊c + m + ½⌋` that are in the input.
    AntialiasedLinear,
    /// The same with the weights `w(|d|)` of [`Cubic`](Self::Cubic) for `a = -½`, which are 0 from a distance of
    /// 2 on, and the pixels of `⌊max(c - 2m + ½, 0)⌋..⌊c + 2m + ½⌋`.
    AntialiasedCubic,
}
