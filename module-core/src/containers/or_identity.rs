use super::Identity;
use crate::{Forward, Module, Result};

/// A child module that may be absent: an `M`, or [`Identity`] if absent.
///
/// It behaves like the module that it holds: a present module has just the keys of the field (`downsample.0.weight`), an
/// absent one has none, and the module tree prints one or the other. A call works in both cases, so a network needs no
/// `match`.
///
/// A parameter or a buffer that may be absent is a [`Maybe`](crate::Maybe).
///
/// # Shapes
///
/// Those of `M`, if it maps one tensor to one tensor; else any shape to the same.
///
/// # Example
///
/// ```
/// use module_core::{Call, Forward, Identity, Module, ModuleExt, OrIdentity, Parameter, Result, Tensor};
///
/// #[derive(Module)]
/// #[module(debug)]
/// struct Scale {
///     weight: Parameter,
/// }
///
/// impl Forward for Scale {
///     type Output = Tensor;
///
///     fn forward(&self, x: Tensor) -> Result<Tensor> {
///         x.mul(&self.weight.tensor())
///     }
/// }
///
/// #[derive(Module)]
/// struct Block {
///     norm: OrIdentity<Scale>,
/// }
///
/// let block = |norm: bool| -> Result<Block> {
///     let scale = || Ok(Scale { weight: Parameter::new(Tensor::from(2.0_f32))? });
///     Ok(Block { norm: OrIdentity::when(norm, scale)? })
/// };
/// let (with, without) = (block(true)?, block(false)?);
/// assert_eq!(with.state_dict()?.keys().collect::<Vec<_>>(), ["norm.weight"]);
/// assert_eq!(without.state_dict()?.len(), 0);
/// assert_eq!(without.tree().to_string(), "Block(\n  (norm): Identity()\n)");
/// assert_eq!(without.norm.call(Tensor::from(3.0_f32))?.item::<f32>()?, 3.0);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{OrIdentity, Parameter, Tensor};
///
/// let mut list = OrIdentity::from(vec![Parameter::new(Tensor::from(1.0_f32))?]);
/// assert!(list.is_present());
/// if let Some(list) = list.get_mut() {
///     list.clear();
/// }
/// assert_eq!(list.get().map(Vec::len), Some(0));
/// list = OrIdentity::absent();
/// assert!(list.get().is_none());
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Module, Forward)]
#[module(debug)]
pub enum OrIdentity<M> {
    /// The module.
    Module(M),
    /// The placeholder for an absent module.
    Identity(Identity),
}

impl<M> OrIdentity<M> {
    /// No module.
    pub const fn absent() -> Self {
        Self::Identity(Identity::new())
    }

    /// Makes the module if `wanted`.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn when(wanted: bool, make: impl FnOnce() -> Result<M>) -> Result<Self> {
        match wanted {
            true => make().map(Self::Module),
            false => Ok(Self::absent()),
        }
    }

    /// The module, unless it is absent.
    pub const fn get(&self) -> Option<&M> {
        match self {
            Self::Module(module) => Some(module),
            Self::Identity(_) => None,
        }
    }

    /// [`get`](Self::get), mutably.
    pub const fn get_mut(&mut self) -> Option<&mut M> {
        match self {
            Self::Module(module) => Some(module),
            Self::Identity(_) => None,
        }
    }

    /// Whether there is a module.
    pub const fn is_present(&self) -> bool {
        self.get().is_some()
    }
}

impl<M> Default for OrIdentity<M> {
    /// No module.
    fn default() -> Self {
        Self::absent()
    }
}

impl<M> From<M> for OrIdentity<M> {
    fn from(module: M) -> Self {
        Self::Module(module)
    }
}
