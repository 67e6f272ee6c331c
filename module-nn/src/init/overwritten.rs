use module_core::{DType, Generator, Init, Result, Shape, Tensor};

use super::zeros;

/// Zeros after the draws of another initializer, for cases in which PyTorch overwrites what an inner layer drew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overwritten<I>(pub(crate) I);

impl<I: Init> Init for Overwritten<I> {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        self.0.skip(shape, dtype, generator)?;
        zeros().init(shape, dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        self.0.skip(shape, dtype, generator)
    }
}
