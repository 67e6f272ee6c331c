//! State dicts: what a module saves, and loading it back whole or not at all.

mod base64;
mod dict;
mod diff;
mod edit;
mod entries;
mod load;
mod remap;
mod serial;

pub use dict::StateDict;
pub use diff::{Changed, StateDiff, Unlike};
pub(crate) use entries::state_dict;
pub(crate) use load::load;
pub use load::{LoadOptions, LoadReport};
pub use remap::Remap;

#[cfg(test)]
mod tests;
