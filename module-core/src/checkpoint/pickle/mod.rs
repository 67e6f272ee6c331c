//! PyTorch's pickles, read without Python: a [machine](machine) for the operations, an allow-list of [globals], and an
//! [emulation](call) of their calls. No code is ever executed.

mod budget;
mod call;
mod globals;
mod heap;
mod machine;
mod objects;
mod reader;
mod select;
mod tensors;
mod write;

pub(super) use budget::Budget;
pub(super) use heap::Storage;
use heap::{Heap, Value};
use indexmap::IndexMap;
use machine::Machine;
use reader::Reader;
pub(super) use tensors::Storages;
pub(super) use write::pickle;

use super::{FormatError, ReadOptions, TorchObject};
use crate::StateDict;

/// The object that a pickle describes.
pub(super) struct Pickle<'a> {
    heap: Heap<'a>,
    root: Value,
    /// The number of bytes that it takes.
    pub(super) length: usize,
}

impl<'a> Pickle<'a> {
    /// Reads the pickle at the start of `bytes`, in which nothing may be opaque. `whole` names the data that end with
    /// `bytes`.
    pub(super) fn read(
        bytes: &'a [u8],
        whole: &'static str,
        budget: &'a Budget,
    ) -> Result<Self, String> {
        let pickle = Self::read_objects(bytes, whole, budget, None)?;
        match pickle.heap.first_opaque() {
            Some((module, name)) => Err(globals::explain_refusal(module, name).0),
            None => Ok(pickle),
        }
    }

    /// Reads a pickle in which objects may be opaque; [`state`](Self::state) is then to find the tensors at `entry`.
    pub(super) fn read_objects(
        bytes: &'a [u8],
        whole: &'static str,
        budget: &'a Budget,
        entry: Option<&str>,
    ) -> Result<Self, String> {
        let mut reader = Reader::new(bytes, whole);
        let mut machine = Machine::new(Heap::new(budget));
        let root = machine.run(&mut reader);
        let (heap, length) = (machine.heap, reader.at());
        let root = root.map_err(|problem| match (entry, heap.first_opaque()) {
            // The whole object would have been refused for this first.
            (None, Some((module, name))) => globals::explain_refusal(module, name).0,
            _ => problem,
        })?;
        Ok(Self { heap, root, length })
    }

    /// The object as an integer.
    pub(super) fn int(&self) -> Option<i128> {
        self.heap.int(self.root)
    }

    /// The items of the object if it is a list, each as a string.
    pub(super) fn texts(&self) -> Option<impl Iterator<Item = Option<&'a str>>> {
        let items = self.heap.sequence(self.root)?;
        Some(items.iter().map(|&item| self.heap.text(item)))
    }

    /// Every storage that it names.
    pub(super) fn storages(&self) -> &IndexMap<&'a str, Storage> {
        self.heap.storages()
    }

    /// The tensors of the object, or of the entry in the options.
    pub(super) fn state(
        &self,
        options: &ReadOptions,
        storages: &dyn Storages,
    ) -> Result<StateDict, FormatError> {
        select::state(&self.heap, self.root, options, storages)
    }

    /// The object, or the one at the entry in the options.
    pub(super) fn object(
        &self,
        options: &ReadOptions,
        storages: &dyn Storages,
    ) -> Result<TorchObject, FormatError> {
        objects::object(&self.heap, self.root, options, storages)
    }
}
