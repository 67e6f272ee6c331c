//! Adapters: a few parameters beside frozen weights, which are trained in their place.
//!
//! The structure of a model never changes; a layer can hold adapters, under PEFT's names. [`add_adapter`] gives one
//! to the layers that are selected.

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
mod peft;
mod saved;
mod switch;
mod tied;
mod weighted;

pub(crate) use adapters::{Adaptable, Adapters};
pub use add::{LoraReport, add_adapter};
pub use config::{InitLoraWeights, LoraBias, LoraConfig};
pub use error::LoraError;
pub use merge::{merge, merge_and_unload, unload, unmerge};
pub use patterns::Patterns;
pub use peft::{PeftAdapter, PeftConfig, PeftError, TargetModules};
#[cfg(feature = "fs")]
pub use peft::{load_pretrained, save_pretrained};
pub use switch::{
    adaptable_layers, adapted_layers, adapter_config, adapter_names, delete_adapter,
    disable_adapters, set_adapter, set_scale,
};
pub use weighted::{Combination, add_weighted_adapter};
