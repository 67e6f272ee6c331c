//! Code shared by models of timm.

use module_nn::init::{self, TimmTruncNormal};
use module_nn::prelude::*;
use serde::Deserialize;

use super::initialize::draw;

/// timm's `config.json` for a model with the arguments `A`.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound(deserialize = "A: Default + Deserialize<'de>"))]
pub struct TimmConfig<A> {
    /// The name of the published architecture.
    pub architecture: String,
    /// The number of classes.
    pub num_classes: usize,
    /// The differences from the published sizes.
    #[serde(default)]
    pub model_args: A,
}

/// How the last features of a convolutional network are pooled.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GlobalPool {
    /// By their mean.
    #[default]
    Avg,
}

impl<A: Default> TimmConfig<A> {
    /// The published sizes of an architecture, for the classes of ImageNet.
    pub fn new(architecture: impl Into<String>) -> Self {
        let (architecture, model_args) = (architecture.into(), A::default());
        Self {
            architecture,
            num_classes: 1000,
            model_args,
        }
    }

    /// The error for an architecture that a model does not know.
    pub fn unknown(&self, model: &'static str, known: &str) -> Error {
        Error::argument(
            model,
            "architecture",
            &self.architecture,
            format!("must be {known}"),
        )
    }
}

/// Two linear layers with a GELU in between, over the last dimension.
#[derive(Module)]
pub struct Mlp {
    fc1: Linear,
    act: GELU,
    fc2: Linear,
}

impl Mlp {
    /// With `hidden` features in between.
    ///
    /// # Errors
    ///
    /// Sizes of 0.
    pub fn new(features: usize, hidden: usize) -> Result<Self> {
        let (fc1, fc2) = (
            Linear::new(features, hidden)?,
            Linear::new(hidden, features)?,
        );
        Ok(Self {
            fc1,
            act: GELU::new(),
            fc2,
        })
    }
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.fc2.call(self.act.call(self.fc1.call(x)?)?)
    }
}

/// Initializes linear layers and convolutions from a truncated normal distribution, with biases of 0.
///
/// # Errors
///
/// None for a model that was just built.
pub fn initialize(model: &impl Module, std: f64) -> Result<()> {
    let normal = TimmTruncNormal {
        std,
        ..TimmTruncNormal::default()
    };
    init::each(model, |_, layer: &Linear| {
        draw(layer.weight(), layer.bias(), normal)
    })?;
    init::each(model, |_, layer: &Conv2d| {
        draw(layer.weight(), layer.bias(), normal)
    })
}
