//! State dicts: what a module saves, and loading it back whole or not at all.

mod base64;
mod dict;
mod diff;
mod edit;
mod entries;
mod hooks;
mod load;
mod options;
mod remap;
mod report;
mod serial;

pub use dict::StateDict;
pub use diff::{Changed, StateDiff, Unlike};
pub(crate) use entries::state_dict;
pub use hooks::{LoadStateDictCall, LoadStateDictPreCall, StateDictCall, StateDictPreCall};
pub(crate) use hooks::{
    register_load_post, register_load_pre, register_state_dict_post, register_state_dict_pre,
};
pub(crate) use load::load;
pub use options::LoadOptions;
pub use remap::Remap;
pub use report::LoadReport;

#[cfg(test)]
mod tests;
