//! How a scheme is represented in files.

use std::collections::HashMap;

use super::description::{Description, JOIN};
use crate::backend::Storage;
use crate::{Error, Result, Tensor};

/// A scheme in files. To add one, add a file beside this one and an entry of `FORMATS`.
pub(super) trait PackedFormat: Sync {
    /// The suffix of a description's key.
    fn name(&self) -> &'static str;

    /// The names of the other parts; the weight itself has none.
    fn parts(&self) -> &'static [&'static str];

    /// The parts of a storage of this scheme: the weight first, then the others.
    fn split(&self, storage: &Storage) -> Result<Option<Split>>;

    /// The storage made from these parts.
    fn join(&self, parts: &Parts<'_>) -> Result<Storage>;
}

/// The parts of a packed tensor, except its shape.
pub(super) struct Split {
    pub(super) description: Description,
    pub(super) weight: Tensor,
    pub(super) others: Vec<(&'static str, Tensor)>,
}

/// The parts that a state dict has.
pub(super) struct Parts<'a> {
    pub(super) description: Description,
    pub(super) weight: &'a Tensor,
    pub(super) others: HashMap<&'static str, &'a Tensor>,
}

impl Parts<'_> {
    /// A required part.
    pub(super) fn get(&self, name: &'static str) -> Result<&Tensor> {
        self.others.get(name).copied().ok_or_else(|| {
            let problem = "is missing beside the packed weight; load the file as it was saved";
            Error::argument(JOIN, "part", name, problem)
        })
    }
}
