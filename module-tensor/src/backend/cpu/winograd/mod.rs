//! Convolutions by kernels of three by three, with a quarter of the multiplications (Winograd's `F(4×4, 3×3)`).
//!
//! `Y = Aᵀ ((G g Gᵀ) ⊙ (Bᵀ d B)) A` makes four by four outputs `Y` of six by six inputs `d` and a kernel `g`; summed
//! over channels, `⊙` is a product of matrices for each of the 36 positions (Lavin and Gray, "Fast algorithms for
//! convolutional neural networks", 2015). The gradient of the kernel is the transposed function:
//! `Gᵀ (Σ (A dY Aᵀ) ⊙ (Bᵀ d B)) G`, summed over tiles.
//!
//! Sums of inputs are rounded before they are multiplied, so that results differ from those of plain sums by more
//! than rounding does: as shares of the greatest sum of the magnitudes of an output's products, by 1e-7 in the root
//! mean square and up to 3e-6 in `f32`. `f64` does without.

mod forward;
mod gradient_transforms;
mod inputs;
mod tiles;
mod transforms;
mod weight_gradient;

use std::sync::atomic::{AtomicBool, Ordering};

use super::ConvOp;
use super::conv::ConvSizes;
use super::float::Float;
use tiles::Tiles;
use transforms::{OUT, PLACES};

impl ConvSizes {
    /// Whether the convolution, which may be that of a gradient by a turned weight, or the gradient of its weight, is
    /// computed by tiles: where that is possible, and takes less time.
    pub(super) fn is_by_tiles<T: Float>(&self, op: ConvOp) -> bool {
        let window = &self.window;
        let possible = window.kernel == [1, 3, 3]
            && window.stride == [1; 3]
            && window.dilation == [1; 3]
            && window.output[0] == 1
            && window.padding[0] == 0
            && window.padding[1].max(window.padding[2]) <= 2;
        possible
            && !exact_convolutions()
            && self.fits_by_tiles()
            && self.is_faster_by_tiles::<T>(op)
    }

    /// Whether a row of tiles, the least that is transformed at a time, takes little memory.
    fn fits_by_tiles(&self) -> bool {
        let channels = self.out_channels.saturating_add(self.window.channels);
        let columns = self.window.output[2].div_ceil(OUT);
        channels.saturating_mul(columns) <= MOST_ELEMENTS / PLACES
    }

    /// Estimates both times, in multiply-adds of a product of matrices.
    fn is_faster_by_tiles<T: Float>(&self, op: ConvOp) -> bool {
        let tiles = Tiles::new(self).count() as f64;
        let [_, height, width] = self.window.output;
        let positions = self.batch as f64 * height as f64 * width as f64;
        let (o, c) = (self.out_channels as f64, self.window.channels as f64);
        let sums = match op {
            ConvOp::Weight => WEIGHT_COST,
            ConvOp::Forward | ConvOp::Input => 1.0,
        };
        let narrow = 1.0 + (NARROW / width as f64).powi(2);
        let transforms = KERNEL_COST * o * c + TILE_COST * narrow * sums * tiles * (o + c);
        let plain = self.direct_cost::<T>(op).unwrap_or(PLAIN_COST);
        PLACES as f64 * tiles * o * c + transforms < 9.0 * positions * o * c * plain
    }
}

/// The elements of the transformed inputs and outputs of a row of tiles.
const MOST_ELEMENTS: usize = 1 << 24;

/// The multiply-adds that transforming a kernel, and a tile of one channel, takes as long as.
const KERNEL_COST: f64 = 400.0;
const TILE_COST: f64 = 800.0;
/// The width of an output for which tiles take twice the time to transform, and what they take more where the products
/// of all tiles are summed.
const NARROW: f64 = 8.0;
const WEIGHT_COST: f64 = 1.5;
/// The time of a multiply-add of a plain convolution, which unfolds its input.
const PLAIN_COST: f64 = 1.15;

static EXACT: AtomicBool = AtomicBool::new(false);

/// Sets whether every convolution is computed by plain sums of products.
///
/// Otherwise, the default, those of many channels by kernels of three by three with a stride and a dilation of 1, and
/// their gradients, are computed with a quarter of the multiplications in `F32` and in half precision where that takes
/// less time, and are less accurate: results may be off by 3e-6 of the greatest sum of the magnitudes of an output's
/// products (1e-7 in the root mean square), where plain sums are by 2e-7.
///
/// # Example
///
/// ```
/// module_tensor::set_exact_convolutions(true);
/// assert!(module_tensor::exact_convolutions());
/// # module_tensor::set_exact_convolutions(false);
/// ```
pub fn set_exact_convolutions(exact: bool) {
    EXACT.store(exact, Ordering::Relaxed);
}

/// Whether every convolution is computed by plain sums of products.
///
/// # Example
///
/// ```
/// assert!(!module_tensor::exact_convolutions());
/// ```
pub fn exact_convolutions() -> bool {
    EXACT.load(Ordering::Relaxed)
}
