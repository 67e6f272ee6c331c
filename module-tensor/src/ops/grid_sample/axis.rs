//! One dimension of an image whose pixels a grid names.

use crate::backend::GridPaddingMode;
use crate::tensor::Tensor;
use crate::{DType, Result};

/// A dimension of an image.
pub(super) struct Axis {
    pub(super) size: usize,
    pub(super) align_corners: bool,
}

impl Axis {
    /// The pixels between -1 and 1.
    fn extent(&self) -> f64 {
        match self.align_corners {
            true => self.size as f64 - 1.0,
            false => self.size as f64,
        }
    }

    fn last(&self) -> f64 {
        self.size as f64 - 1.0
    }

    /// Converts a coordinate in [-1, 1] to pixels.
    pub(super) fn location_of(&self, at: &Tensor) -> Result<Tensor> {
        let at = at.add(1.0)?.mul(self.extent() / 2.0)?;
        match self.align_corners {
            true => Ok(at),
            false => at.sub(0.5),
        }
    }

    /// Moves a location into the image, if the padding mode requires it.
    pub(super) fn apply_padding(
        &self,
        location: &Tensor,
        padding: GridPaddingMode,
    ) -> Result<Tensor> {
        let inside = match padding {
            GridPaddingMode::Zeros => return Ok(location.clone()),
            GridPaddingMode::Border => location.clone(),
            GridPaddingMode::Reflection => self.reflect(location)?,
        };
        let ends = inside.detach().clamp(0.0, self.last())?;
        self.is_inside(&inside)?.where_(&inside, &ends)
    }

    /// Whether locations are between the first and the last pixel: at these they have no gradient, as in PyTorch.
    fn is_inside(&self, location: &Tensor) -> Result<Tensor> {
        location.gt(0.0)?.logical_and(&location.lt(self.last())?)
    }

    fn reflect(&self, location: &Tensor) -> Result<Tensor> {
        let (low, span) = (self.low(), self.extent());
        if span == 0.0 {
            return location.mul(0.0);
        }
        let from_low = location.sub(low)?.abs()?;
        let rest = from_low.fmod(span)?;
        let goes_back = Self::goes_back(&from_low, span)?;
        goes_back.where_(&rest.neg()?.add(span)?, &rest)?.add(low)
    }

    /// Where the image is reflected first.
    fn low(&self) -> f64 {
        if self.align_corners { 0.0 } else { -0.5 }
    }

    /// Whether locations that lie so far away have been reflected an odd number of times.
    fn goes_back(from_low: &Tensor, span: f64) -> Result<Tensor> {
        from_low.detach().div(span)?.floor()?.fmod(2.0)?.eq(1.0)
    }

    /// How locations that were moved into the image change with the grid, from what they were before.
    pub(super) fn slope(&self, location: &Tensor, padding: GridPaddingMode) -> Result<Tensor> {
        let location = location.detach();
        let scale = location.full_like(self.extent() / 2.0)?;
        if padding == GridPaddingMode::Zeros {
            return Ok(scale);
        }
        let (mut slope, mut inside) = (scale, location.clone());
        if padding == GridPaddingMode::Reflection {
            inside = self.reflect(&location)?;
            if self.extent() > 0.0 {
                let from_low = location.sub(self.low())?;
                let goes_back = Self::goes_back(&from_low.abs()?, self.extent())?;
                let is_falling = goes_back.logical_xor(&from_low.lt(0.0)?)?;
                slope = is_falling.where_(&slope.neg()?, &slope)?;
            }
        }
        self.is_inside(&inside)?.where_(&slope, 0.0)
    }

    /// The coordinates of all pixels, in `F32` or `F64` depending on the tensor's dtype.
    pub(super) fn coordinates(&self, like: &Tensor) -> Result<Tensor> {
        let dtype = match like.dtype() {
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        if self.size == 1 {
            return Tensor::zeros([1], (dtype, &like.device()));
        }
        let size = self.size as f64;
        let end = match self.align_corners {
            true => 1.0,
            false => (size - 1.0) / size,
        };
        Tensor::linspace(-end, end, self.size, (dtype, &like.device()))
    }
}
