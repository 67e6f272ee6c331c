use module_core::{Call, Forward, Result, Tensor};

use super::{
    BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HingeEmbeddingLoss, HuberLoss, KLDivLoss, L1Loss,
    LinearCrossEntropyLoss, MSELoss, MultiLabelMarginLoss, MultiLabelSoftMarginLoss,
    MultiMarginLoss, NLLLoss, PoissonNLLLoss, SmoothL1Loss, SoftMarginLoss,
};

/// A loss of an input and a target, like most losses.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = MSELoss::new();
/// let (input, target) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f32, 4.0]));
/// assert_eq!(criterion.loss(&input, &target)?.item::<f32>()?, 2.0);
/// let criterion: &dyn Loss<Output = Tensor> = &criterion;
/// # Ok::<(), Error>(())
/// ```
///
/// Implement it for your own loss with `impl Loss for MyLoss {}`.
pub trait Loss: Forward<(Tensor, Tensor), Output = Tensor> {
    /// `call((input.clone(), target.clone()))`, which copies no elements.
    ///
    /// # Errors
    ///
    /// Those of the loss, and of the hooks on it.
    fn loss(&self, input: &Tensor, target: &Tensor) -> Result<Tensor> {
        self.call((input.clone(), target.clone()))
    }
}

macro_rules! losses {
    ($($name:ident)*) => {$(
        impl Loss for $name {}
    )*};
}

losses!(
    BCELoss BCEWithLogitsLoss CrossEntropyLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss
    LinearCrossEntropyLoss MSELoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss
    NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss
);
