use module_core::{DType, Error, Result, Tensor};

use super::super::{DataError, Dataset};
use super::ReaderError;

/// Images in memory with a class number for each, such as MNIST and CIFAR. A sample is an image `[channels, height, width]`
/// and its label.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, LabeledImages};
/// use module_nn::prelude::*;
///
/// let images = Tensor::from([0_u8, 51, 102, 255]).reshape([1, 1, 2, 2])?;
/// let dataset = LabeledImages::new(images, Tensor::from([3_i64]))?;
/// let (image, label) = dataset.get(0)?;
/// assert_eq!((image.dtype(), label), (DType::U8, 3));
/// let (image, _) = dataset.scaled().get(0)?;
/// assert_eq!(image.to_vec::<f32>()?[3], 1.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LabeledImages {
    images: Tensor,
    labels: Tensor,
    /// The labels as numbers.
    numbers: Vec<i64>,
    scaled: bool,
}

impl LabeledImages {
    /// Images `[count, channels, height, width]` of `U8` and labels `[count]` of `I64`.
    ///
    /// # Errors
    ///
    /// Other dtypes, wrong numbers of dimensions, different counts ([`ReaderError::Counts`]).
    pub fn new(images: Tensor, labels: Tensor) -> Result<Self> {
        const OP: &str = "labeled_images";
        if images.rank() != 4 {
            return Err(images.shape().error(OP, "[count, channels, height, width]"));
        }
        if images.dtype() != DType::U8 {
            let problem = "must be uint8, as the files hold them";
            return Err(Error::argument(OP, "images.dtype", images.dtype(), problem));
        }
        if labels.rank() != 1 {
            return Err(labels.shape().error(OP, "[count]"));
        }
        let numbers = labels.to_vec::<i64>()?;
        let (count, found) = (images.size(0)?, numbers.len());
        if count != found {
            return Err(ReaderError::Counts {
                images: count,
                labels: found,
            }
            .into());
        }
        Ok(Self {
            images,
            labels,
            numbers,
            scaled: false,
        })
    }

    /// The same samples with images of `F32` from 0 to 1, each pixel multiplied by `1/255`, like torchvision's
    /// `ToDtype(torch.float32, scale=True)`. The images in memory stay `U8`.
    #[must_use]
    pub fn scaled(mut self) -> Self {
        self.scaled = true;
        self
    }

    /// All images, `[count, channels, height, width]` of `U8`.
    pub fn images(&self) -> &Tensor {
        &self.images
    }

    /// All labels, `[count]` of `I64`.
    pub fn labels(&self) -> &Tensor {
        &self.labels
    }
}

impl Dataset for LabeledImages {
    type Item = (Tensor, i64);

    fn len(&self) -> usize {
        self.numbers.len()
    }

    fn get(&self, index: usize) -> Result<(Tensor, i64)> {
        let len = self.numbers.len();
        let label = *self
            .numbers
            .as_slice()
            .get(index)
            .ok_or(DataError::Index { index, len })?;
        let image = self
            .images
            .select(0, isize::try_from(index).unwrap_or(isize::MAX))?;
        let image = match self.scaled {
            true => image.to_dtype(DType::F32)?.mul(1.0 / 255.0)?,
            false => image,
        };
        Ok((image, label))
    }
}
