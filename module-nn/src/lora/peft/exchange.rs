use module_core::{Module, Result};

use super::super::add::LoraReport;
use super::adapter::PeftAdapter;
use super::{read, write};

impl PeftAdapter {
    /// Extracts an adapter of a model.
    ///
    /// Its layers are written as the last names of their paths if these match no others, otherwise as their paths,
    /// otherwise as an expression. A factor of [`set_scale`](crate::lora::set_scale) is not saved. An adapter that was
    /// initialized with PiSSA belongs to the original weights, from before it was added; PEFT too reduces them again when
    /// it reads the adapter.
    ///
    /// # Errors
    ///
    /// An adapter that the model does not have; one that was initialized with
    /// [`PissaNiter`](crate::lora::InitLoraWeights::PissaNiter), for which PEFT would draw other weights when it reads it;
    /// weights of a recurrent layer whose paths also match others.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::lora::{self, LoraConfig, PeftAdapter, TargetModules};
    /// use module_nn::prelude::*;
    ///
    /// #[derive(Module)]
    /// struct Tagger {
    ///     recurrent: GRU,
    ///     classes: Linear,
    /// }
    ///
    /// let mut net = Tagger { recurrent: GRU::new(8, 4)?, classes: Linear::new(4, 2)? };
    /// let select = ["classes", "recurrent.weight_hh_l0"];
    /// lora::add_adapter(&mut net, "default", select, &LoraConfig::new().r(2))?;
    /// let adapter = PeftAdapter::of(&net, "default")?;
    /// assert_eq!(adapter.config.target_modules, TargetModules::from(["classes"]));
    /// assert_eq!(adapter.config.target_parameters, ["recurrent.weight_hh_l0"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn of<M: Module + ?Sized>(model: &M, name: &str) -> Result<Self> {
        write::of(model.as_module(), name, "")
    }

    /// The adapter for a PEFT model whose paths have a prefix: `"model"` if ours is `layers.0.q_proj` and PEFT's is
    /// `model.layers.0.q_proj`.
    ///
    /// # Errors
    ///
    /// Those of [`of`](Self::of).
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::lora::{self, LoraConfig, PeftAdapter};
    /// use module_nn::prelude::*;
    ///
    /// let mut net = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
    /// lora::add_adapter(&mut net, "default", "1", &LoraConfig::new().r(2))?;
    /// let adapter = PeftAdapter::with_prefix(&net, "default", "model")?;
    /// assert!(adapter.tensors.contains_key("base_model.model.model.1.lora_A.weight"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_prefix<M: Module + ?Sized>(model: &M, name: &str, prefix: &str) -> Result<Self> {
        write::of(model.as_module(), name, &dotted(prefix))
    }

    /// Adds the adapter to a model, like [`add_adapter`](crate::lora::add_adapter), with its values.
    ///
    /// It is used and trained at once if it is the first; freeze it if it should not be trained. Trained biases replace
    /// those of the model, as in PEFT. Names in `modules_to_save` that the model does not have are ignored; with
    /// `all-linear`, a layer `lm_head` or `embed_out` without values is left out, because PEFT leaves it out.
    ///
    /// # Errors
    ///
    /// Those of [`PeftConfig::select`](crate::lora::PeftConfig::select) and [`add_adapter`](crate::lora::add_adapter);
    /// tensors that are missing, unexpected or have another shape ([`LoadProblems`](module_core::LoadProblems), under the
    /// keys of the file). Then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::lora::{self, LoraConfig, PeftAdapter};
    /// use module_nn::prelude::*;
    ///
    /// let net = || Ok::<_, Error>(Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?));
    /// let mut trained = net()?;
    /// lora::add_adapter(&mut trained, "default", "1", &LoraConfig::new().r(2))?;
    /// let mut other = net()?;
    /// PeftAdapter::of(&trained, "default")?.add_to(&mut other, "mine")?;
    /// assert_eq!(lora::adapted_layers(&other, "mine")?, ["1"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_to<M: Module + ?Sized>(&self, model: &mut M, name: &str) -> Result<LoraReport> {
        read::add_to(self, model.as_module_mut(), name, "")
    }

    /// [`add_to`](Self::add_to) for a model whose paths are PEFT's without a prefix, as in
    /// [`with_prefix`](Self::with_prefix).
    ///
    /// # Errors
    ///
    /// Those of [`add_to`](Self::add_to).
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::lora::{LoraConfig, PeftAdapter, PeftConfig};
    /// use module_nn::prelude::*;
    /// use module_nn::StateDict;
    ///
    /// #[derive(Module)]
    /// struct Net {
    ///     query: Linear,
    /// }
    ///
    /// let factor = |shape: [usize; 2]| Tensor::ones(shape, DType::F32);
    /// let adapter = PeftAdapter {
    ///     config: PeftConfig::new(["query"], LoraConfig::new().r(1)),
    ///     tensors: StateDict::from_iter([
    ///         ("base_model.model.model.query.lora_A.weight", factor([1, 4])?),
    ///         ("base_model.model.model.query.lora_B.weight", factor([4, 1])?),
    ///     ]),
    /// };
    /// let mut net = Net { query: Linear::new(4, 4)? };
    /// assert!(adapter.add_to(&mut net, "default").is_err());
    /// adapter.add_to_prefixed(&mut net, "default", "model")?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_to_prefixed<M: Module + ?Sized>(
        &self,
        model: &mut M,
        name: &str,
        prefix: &str,
    ) -> Result<LoraReport> {
        read::add_to(self, model.as_module_mut(), name, &dotted(prefix))
    }
}

/// A prefix with a final dot, or none.
fn dotted(prefix: &str) -> String {
    match prefix.trim_end_matches('.') {
        "" => String::new(),
        prefix => format!("{prefix}."),
    }
}
