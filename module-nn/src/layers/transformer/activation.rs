use std::fmt;
use std::sync::Arc;

use module_core::{Approximate, Result, Tensor};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};

/// A function from a tensor to another of the same shape.
type Function = dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync;

/// The activation of a transformer layer: `"relu"` or `"gelu"` in a configuration, or any other function.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let silu = TransformerActivation::function(Tensor::silu);
/// let layer = TransformerEncoderLayerConfig::new(8, 2).activation(silu).build()?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Default)]
pub enum TransformerActivation {
    /// `max(x, 0)`.
    #[default]
    Relu,
    /// `x · Φ(x)`.
    Gelu,
    /// Any other function; a configuration with one cannot be serialized.
    Function(Arc<Function>),
}

impl TransformerActivation {
    /// Another function.
    pub fn function(f: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static) -> Self {
        Self::Function(Arc::new(f))
    }

    pub(super) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Relu => x.relu(),
            Self::Gelu => x.gelu(Approximate::None),
            Self::Function(function) => function(x),
        }
    }

    fn name(&self) -> Option<&'static str> {
        match self {
            Self::Relu => Some("relu"),
            Self::Gelu => Some("gelu"),
            Self::Function(_) => None,
        }
    }
}

impl fmt::Debug for TransformerActivation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("function"))
    }
}

/// Functions are equal only to their clones.
impl PartialEq for TransformerActivation {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function(a), Self::Function(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.name() == b.name(),
        }
    }
}

impl Serialize for TransformerActivation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.name().ok_or_else(|| {
            S::Error::custom("an activation that is a function of the program has no name")
        })?;
        serializer.serialize_str(name)
    }
}

impl<'de> Deserialize<'de> for TransformerActivation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match &*String::deserialize(deserializer)? {
            "relu" => Ok(Self::Relu),
            "gelu" => Ok(Self::Gelu),
            name => Err(D::Error::unknown_variant(name, &["relu", "gelu"])),
        }
    }
}
