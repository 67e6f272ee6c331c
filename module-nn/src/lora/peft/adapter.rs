use module_core::StateDict;

use super::config::PeftConfig;

/// An adapter as PEFT saves it, independent of any model.
///
/// [`load`](Self::load) and [`save`](Self::save) read and write its two files, [`PeftConfig::from_json`] and
/// [`StateDict::from_bytes`] their contents.
///
/// # State dict
///
/// `base_model.model.<path>.lora_A.weight` and `lora_B.weight`; for an embedding `lora_embedding_A` and `lora_embedding_B`;
/// with DoRA also `lora_magnitude_vector`. For `modules_to_save`, the keys of the layers themselves. For trained biases,
/// `<path>.base_layer.bias` if the layer is adapted, else `<path>.bias`. Inside an adapted attention layer,
/// `<path>.base_layer.out_proj`.
///
/// # Example
///
/// ```
/// use module_nn::StateDict;
/// use module_nn::lora::{self, LoraConfig, PeftAdapter, PeftConfig};
/// use module_nn::prelude::*;
///
/// #[derive(Module)]
/// struct Net {
///     hidden: Linear,
///     head: Linear,
/// }
///
/// let net = || -> Result<Net> { Ok(Net { hidden: Linear::new(4, 8)?, head: Linear::new(8, 2)? }) };
/// let mut trained = net()?;
/// lora::add_adapter(&mut trained, "default", "hidden", &LoraConfig::new().r(2))?;
/// let adapter = PeftAdapter::of(&trained, "default")?;
/// assert_eq!(adapter.tensors.keys().collect::<Vec<_>>(), [
///     "base_model.model.hidden.lora_A.weight",
///     "base_model.model.hidden.lora_B.weight",
/// ]);
///
/// // The two files, as texts and bytes.
/// let (json, bytes) = (adapter.config.to_json()?, adapter.tensors.to_bytes()?);
/// let tensors = StateDict::from_bytes(bytes)?;
/// let again = PeftAdapter { config: PeftConfig::from_json(&json)?, tensors };
/// let report = again.add_to(&mut net()?, "default")?;
/// assert_eq!(report.matched, ["hidden"]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PeftAdapter {
    /// Which layers are adapted, and how.
    pub config: PeftConfig,
    /// The tensors, under the keys of `adapter_model.safetensors`.
    pub tensors: StateDict,
}
