//! State dicts: what a module saves, loaded back completely or not at all.

mod base64;
mod collect;
mod dict;
mod diff;
mod edit;
mod entries;
mod former_keys;
mod given;
mod hooks;
mod inverse;
mod load;
mod options;
mod orientation;
mod packed;
mod prefix;
mod remap;
mod report;
mod saved;
mod serial;
mod swap;
mod transpose;
mod values_lock;

pub(crate) use collect::state_dict;
pub use dict::StateDict;
pub use diff::{Changed, Incompatible, StateDiff};
pub(crate) use entries::StateTensor;
pub(crate) use given::{Held, resolve};
pub use hooks::{LoadStateDictCall, LoadStateDictPreCall, StateDictCall, StateDictPreCall};
pub(crate) use hooks::{
    register_load_post, register_load_pre, register_state_dict_post, register_state_dict_pre,
};
pub(crate) use load::load;
pub use options::LoadOptions;
pub use remap::Remap;
pub use report::LoadReport;
pub(crate) use saved::state_dict_as;
pub use swap::SwappedState;
pub use transpose::Transpose;

#[cfg(test)]
mod tests;
