//! Code that both layouts of PyTorch's files share.

use super::pickle::{Budget, Pickle, Storages};
use super::{CheckpointReader, Contents, Format, FormatError, ReadOptions, TorchObject};
use crate::StateDict;

/// The pickle of the saved object, and the storages that it names.
pub(super) type Opened<'a> = (Pickle<'a>, Box<dyn Storages + 'a>);

/// A layout of `torch.save` files, from which more than state dicts is read.
pub(super) trait TorchFile: Format {
    /// Finds the pickle and the storages, and checks the data around them.
    fn open<'a>(
        &self,
        contents: &'a Contents,
        budget: &'a Budget,
        options: &ReadOptions,
    ) -> Result<Opened<'a>, FormatError>;

    /// The tensors of a file, or those at the entry in the options.
    fn read_state(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError> {
        let contents = file.contents()?;
        let budget = Budget::of(contents.bytes());
        let (pickle, storages) = self.open(&contents, &budget, options)?;
        pickle.state(options, &*storages)
    }

    /// The object of a file, or the one at the entry in the options.
    fn read_object(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<TorchObject, FormatError> {
        let contents = file.contents()?;
        let budget = Budget::of(contents.bytes());
        let (pickle, storages) = self.open(&contents, &budget, options)?;
        pickle.object(options, &*storages)
    }
}
