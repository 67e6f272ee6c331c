use crate::layout::Shape;

/// How images are brought to another size over one to three spatial dimensions, one after the other.
///
/// In each spatial dimension place `o` of the output is a weighted sum of neighbors in the input. What they
/// weigh depends on `o`, on the sizes and on the scale `s`, as [`ResampleMode`] says.
#[derive(Clone, Debug, PartialEq)]
pub struct ResampleGeometry {
    /// The shape of the input, `[batch, channels, size…]`; no spatial size is 0.
    pub input: Shape,
    /// The shape of the output, `[batch, channels, size…]`; no spatial size is 0.
    pub output: Shape,
    /// What a place of the output reads.
    pub mode: ResampleMode,
    /// In each spatial dimension how far neighbors of the output lie apart in the input: with aligned
    /// corners `(input - 1) / (output - 1)`, or 0 for one place; otherwise `1 / scale_factor` where a
    /// factor was given, which makes `⌊input · scale_factor⌋` places, and `input / output` where a size
    /// was.
    pub scale: Vec<f64>,
}

/// What place `o` of one dimension of an output reads of `n` places of the input, `s` apart.
///
/// Where a place beyond the first or last is read, that one stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResampleMode {
    /// Place `min(⌊o · s⌋, n - 1)`, computed in `f32`, or for `f64` in `f64` and rounded to `f32`: another
    /// rounding would choose another place than PyTorch.
    Nearest,
    /// Place `min(⌊((o + ½) · s - ½) + ½⌋, n - 1)`, in the same precision and with the product and
    /// the subtraction rounded once, as one fused operation.
    NearestExact,
    /// `(1 - t) · x[l] + t · x[l + 1]`, where the source `p` is `o · s` with aligned corners and
    /// `max((o + ½) · s - ½, 0)` without, `l = min(⌊p⌋, n - 1)`, and `t` is `p - l`, at most 1. A dimension
    /// whose size stays is copied.
    Linear {
        /// Whether the middles of the first and last places of input and output meet.
        align_corners: bool,
    },
    /// `w(1 + t) · x[l - 1] + w(t) · x[l] + w(1 - t) · x[l + 1] + w(2 - t) · x[l + 2]`, where the source `p` is
    /// `o · s` with aligned corners and `(o + ½) · s - ½` without, `l = min(⌊p⌋, n - 1)`, and `t` is `p - l`, at
    /// most 1. With `a = -¾`, `w(d)` is `(a + 2)·d³ - (a + 3)·d² + 1` up to 1, and `a·d³ - 5a·d² + 8a·d - 4a`
    /// beyond.
    Cubic {
        /// Whether the middles of the first and last places of input and output meet.
        align_corners: bool,
    },
    /// The mean of the places `i` around the center `c = (o + ½) · s`, weighted by `max(1 - |d|, 0)` at the
    /// distance `d = (i + ½ - c) / m` with `m = max(s, 1)`, so that the weights sum to 1. The places are
    /// those of `⌊max(c - m + ½, 0)⌋..⌊c + m + ½⌋` that are in the input.
    AntialiasedLinear,
    /// The same with the weights `w(|d|)` of [`Cubic`](Self::Cubic) for `a = -½`, which are 0 from a distance of
    /// 2 on, and the places of `⌊max(c - 2m + ½, 0)⌋..⌊c + 2m + ½⌋`.
    AntialiasedCubic,
}
