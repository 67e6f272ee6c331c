use std::fmt;

use module_core::{Result, Tensor};

/// Maps an image `[…, channels, height, width]` to an image. A function of a tensor is a transform.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{Transform, functional};
/// use module_nn::prelude::*;
///
/// let middle = |image: &Tensor| functional::center_crop(image, [1, 1]);
/// assert_eq!(middle.apply(&Tensor::from([[[1_u8, 2, 3]]]))?.to_vec::<u8>()?, [2]);
/// # Ok::<(), Error>(())
/// ```
pub trait Transform: Send + Sync {
    /// The transformed image; random transforms draw from the default generator.
    ///
    /// # Errors
    ///
    /// A tensor that the transform does not accept as an image.
    fn apply(&self, image: &Tensor) -> Result<Tensor>;
}

impl<F: Fn(&Tensor) -> Result<Tensor> + Send + Sync> Transform for F {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        self(image)
    }
}

/// Transforms in sequence.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{Compose, Transform, functional};
/// use module_nn::prelude::*;
///
/// let both = Compose::new().push(functional::horizontal_flip).push(functional::invert);
/// assert_eq!(both.apply(&Tensor::from([[[1_u8, 2]]]))?.to_vec::<u8>()?, [253, 254]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct Compose {
    transforms: Vec<Box<dyn Transform>>,
}

impl Compose {
    /// No transforms, which leaves the image unchanged.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a transform after the others.
    #[must_use]
    pub fn push(mut self, transform: impl Transform + 'static) -> Self {
        self.transforms.push(Box::new(transform));
        self
    }
}

impl Transform for Compose {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let mut transforms = self.transforms.iter();
        transforms.try_fold(image.clone(), |image, transform| transform.apply(&image))
    }
}

impl fmt::Debug for Compose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compose({} transforms)", self.transforms.len())
    }
}
