use std::collections::HashMap;
use std::fmt;

use super::entries::entries;
use crate::module::{IdSet, Module, TensorId, convert, path};
use crate::rng::{Generator, with_default};
use crate::{Mismatch, Result};

/// What a load did.
///
/// It prints as PyTorch's result does; keys of other shapes, which PyTorch never leaves out, follow on
/// lines of their own.
#[must_use = "the report tells which tensors keep their old values"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Keys that were loaded, in the module's order.
    pub loaded: Vec<String>,
    /// Keys that were meant to be loaded and keep the values they had, or have no values yet, in the
    /// module's order.
    pub fresh: Vec<String>,
    /// Keys that the module has and the state dict lacks. A tied tensor that came under another of
    /// its names is not missing.
    pub missing: Vec<String>,
    /// Keys that the state dict has and the module lacks.
    pub unexpected: Vec<String>,
    /// Keys whose shapes differ.
    pub mismatched: Vec<Mismatch>,
}

impl LoadReport {
    /// Draws the parameters that stay fresh by their own initialisers, from the default generator, and
    /// gives the buffers among them their first values; nothing else changes.
    ///
    /// `model` is the one that was loaded.
    ///
    /// # Errors
    ///
    /// A fresh parameter that owns no initialiser, a key that the model lacks; then nothing is
    /// changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{LoadOptions, Module, ModuleExt, Parameter, StateDict, Tensor};
    ///
    /// #[derive(Module)]
    /// struct Net {
    ///     stem: Parameter,
    ///     head: Parameter,
    /// }
    ///
    /// let ones = || Parameter::with_init(2, module_core::module::ConstantInit(1.0));
    /// let net = Net { stem: ones()?, head: ones()? };
    /// net.head.set(Tensor::from([5.0_f32, 5.0]))?;
    /// let state = StateDict::from_iter([("stem", Tensor::from([3.0_f32, 4.0]))]);
    /// let report = net.load_state_dict_with(&state, LoadOptions::new().strict(false))?;
    /// assert_eq!(report.fresh, ["head"]);
    /// report.reset_fresh(&net)?;
    /// assert_eq!(net.head.tensor().to_vec::<f32>()?, [1.0, 1.0]);
    /// assert_eq!(net.stem.tensor().to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn reset_fresh(&self, model: &dyn Module) -> Result<()> {
        with_default(|generator| self.reset_fresh_with(model, generator))
    }

    /// [`reset_fresh`](Self::reset_fresh) with a generator.
    ///
    /// # Errors
    ///
    /// As [`reset_fresh`](Self::reset_fresh).
    pub fn reset_fresh_with(&self, model: &dyn Module, generator: &mut Generator) -> Result<()> {
        let model = model.as_module();
        let slots: HashMap<_, _> = entries(model)?.into_iter().collect();
        let mut fresh: IdSet<TensorId> = IdSet::default();
        for key in &self.fresh {
            match slots.get(key) {
                Some(slot) => fresh.insert(slot.id()),
                // The error says which step of the path leads nowhere.
                None => fresh.insert(path::parameter(model, key)?.id()),
            };
        }
        convert::reset(model, generator, &|id| fresh.contains(&id))
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.missing.is_empty() && self.unexpected.is_empty() {
            f.write_str("<All keys matched successfully>")?;
        } else {
            let (missing, unexpected) = (List(&self.missing), List(&self.unexpected));
            write!(
                f,
                "_IncompatibleKeys(missing_keys={missing}, unexpected_keys={unexpected})"
            )?;
        }
        self.mismatched
            .iter()
            .try_for_each(|mismatch| write!(f, "\n\t{mismatch}"))
    }
}

/// A list of texts as Python writes it.
struct List<'a>(&'a [String]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, key) in self.0.iter().enumerate() {
            write!(f, "{}'{key}'", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}
