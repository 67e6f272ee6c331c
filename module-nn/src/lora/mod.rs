//! Adapters: a few parameters beside frozen weights, which are trained instead of them.
//!
//! The structure of a model does not change: a layer can hold adapters, under the keys of PEFT's models. A layer without
//! adapters has no additional member or key, and computes as usual.
//!
//! | PEFT | here |
//! |---|---|
//! | `LoraConfig`, without `target_modules` | [`LoraConfig`] |
//! | `get_peft_model`, `add_adapter` | [`add_adapter`], which selects the layers with a [`Select`](crate::Select) |
//! | `target_parameters` | the same, by paths of weights of recurrent layers: `"lstm.weight_hh_l0"` |
//! | `set_adapter` | [`set_adapter`] |
//! | `set_scale` | [`set_scale`] |
//! | `disable_adapter` | [`disable_adapters`] |
//! | `add_weighted_adapter` | [`add_weighted_adapter`] |
//! | `delete_adapter` | [`delete_adapter`] |
//! | `merge_adapter`, `unmerge_adapter` | [`merge`], [`unmerge`] |
//! | `merge_and_unload`, `unload` | [`merge_and_unload`], [`unload`] |
//!
//! The parameters of an adapter belong to the model: they are saved, loaded, cast, moved, frozen and trained like all
//! others. Some things that PEFT does silently are errors here: merging into a tied weight, which would change another
//! layer; loading merged weights beside an adapter that would be added a second time; layers that match but cannot be
//! adapted; patterns of ranks that match no layer; files of [`InitLoraWeights::PissaNiter`], for which PEFT reads
//! weights other than those they were trained with.
//!
//! # Example
//!
//! ```
//! use module_nn::lora::{self, LoraConfig};
//! use module_nn::prelude::*;
//!
//! let mut net = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new()).push(Linear::new(8, 2)?);
//! let x = Tensor::randn([16, 4], DType::F32)?;
//! let plain = net.call(x.clone())?;
//!
//! let config = LoraConfig::new().r(2).lora_alpha(4);
//! let report = lora::add_adapter(&mut net, "default", "0", &config)?;
//! assert!(report.to_string().starts_with("trainable params: 24 || all params: 82"));
//!
//! let mut optimizer = AdamWConfig::new(0.01).build(&net)?;
//! for _ in 0..3 {
//!     net.zero_grad();
//!     net.call(x.clone())?.square()?.mean(..)?.backward()?;
//!     optimizer.step(&net)?;
//! }
//! let adapted = net.call(x.clone())?;
//! assert!(!adapted.equal(&plain)?);
//! assert!(lora::disable_adapters(&net, || net.call(x.clone()))??.equal(&plain)?);
//!
//! lora::merge_and_unload(&mut net)?;
//! assert_eq!(net.state_dict()?.len(), 4);
//! # Ok::<(), Error>(())
//! ```

mod adapters;
mod add;
mod base;
mod config;
mod delta;
mod error;
mod find;
mod forward;
mod fresh;
mod merge;
mod parts;
mod patterns;
#[cfg(feature = "peft")]
mod peft;
mod pissa;
mod saved;
mod switch;
mod tied;
mod weighted;
mod weights;

pub(crate) use adapters::{Adaptable, Adapters};
pub use add::{LoraReport, add_adapter};
pub use config::{InitLoraWeights, LoraBias, LoraConfig};
pub use error::LoraError;
pub use merge::{merge, merge_and_unload, unload, unmerge};
pub use patterns::Patterns;
#[cfg(feature = "peft")]
pub use peft::{PeftAdapter, PeftConfig, PeftError, TargetModules};
#[cfg(all(feature = "fs", feature = "peft"))]
pub use peft::{load_pretrained, save_pretrained};
pub use switch::{
    adaptable_layers, adapted_layers, adapter_config, adapter_names, delete_adapter,
    disable_adapters, set_adapter, set_scale,
};
pub use weighted::{Combination, add_weighted_adapter};
pub(crate) use weights::WeightAdapters;
