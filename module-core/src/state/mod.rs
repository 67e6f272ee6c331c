//! State dicts: what a module saves, and loading it back whole or not at all.

mod dict;
mod entries;
mod load;

pub use dict::StateDict;
pub(crate) use entries::state_dict;
pub(crate) use load::load;
pub use load::{LoadOptions, LoadReport};
