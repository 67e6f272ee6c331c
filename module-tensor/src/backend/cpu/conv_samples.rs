//! How many samples a product of a convolution has: small images are joined.

use super::conv::ConvSizes;

/// The approximate number of windows of a product of several samples, and the most windows of a sample that is joined.
const WIDE: usize = 256;
const SMALL: usize = 128;

/// The same for windows of one element.
const WIDE_POINTWISE: usize = 512;
const SMALL_POINTWISE: usize = 256;

/// The number of columns of the widest tile.
const TILE: usize = 32;

impl ConvSizes {
    /// The number of samples of a product with windows.
    pub(super) fn samples_of_product(&self) -> usize {
        let positions = self.window.positions();
        match positions <= SMALL && self.groups == 1 {
            true => WIDE.div_ceil(positions.max(1)).min(self.batch),
            false => 1,
        }
    }

    /// The same for the gradient of the input, if it is more than one.
    pub(super) fn joined_samples(&self) -> Option<usize> {
        let samples = self.samples_of_product();
        (samples > 1 && !self.is_thin()).then_some(samples)
    }

    /// How many samples a product has if it has several: small ones, of which each would leave a part of a tile empty. Their
    /// number changes no bits of an output or of an input's gradient, and does not depend on the level or the number of
    /// threads.
    pub(super) fn joined_pointwise(&self) -> Option<usize> {
        let positions = self.window.positions();
        let is_small = positions <= SMALL_POINTWISE && !positions.is_multiple_of(TILE);
        if !self.window.is_pointwise() || !is_small || self.groups > 1 || self.is_thin() {
            return None;
        }
        let products = self.batch.div_ceil(WIDE_POINTWISE.div_ceil(positions));
        // Even, so that two threads have as much to do each.
        let products = if products > 1 {
            products.next_multiple_of(2)
        } else {
            1
        };
        let samples = self.batch.div_ceil(products);
        (samples > 1).then_some(samples)
    }
}
