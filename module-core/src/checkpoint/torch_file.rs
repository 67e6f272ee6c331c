//! What both layouts of PyTorch's files have in common.

use super::pickle::{Pickle, Storages};
use super::{CheckpointReader, Format, FormatError, ReadOptions, TorchObject};

/// What is made of a pickle and the storages that it names.
pub(super) type Make<'a, T> =
    &'a mut dyn FnMut(&Pickle<'_>, &dyn Storages) -> Result<T, FormatError>;

/// A layout of the files of `torch.save`, of which more than state dicts is read.
pub(super) trait TorchFile: Format {
    /// The object of a file, or that at the entry of the options.
    fn read_object(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<TorchObject, FormatError>;
}
