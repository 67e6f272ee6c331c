//! Checkpoints: the files that hold models and training runs, in several formats behind one trait.
//!
//! Most programs need only the methods of modules: [`save`](crate::ModuleExt::save), [`load`](crate::ModuleExt::load) and
//! [`load_with`](crate::ModuleExt::load_with), which are built on this module.
//!
//! | for | use |
//! |---|---|
//! | the weights of a model | [`StateDict::load`](crate::StateDict::load) and [`StateDict::save`](crate::StateDict::save), with [`ReadOptions`] |
//! | a whole training run: model, optimizer, schedule, position in the data | [`TrainingCheckpoint`], of anything that is [`Stateful`] |
//! | a `torch.save` file with more than tensors | [`TorchObject`] |
//! | a GGUF file | [`Gguf`] |
//! | a format of your own | [`Format`], [`register_format`], [`CheckpointReader`], [`TensorPlace`] |

#[cfg(feature = "fs")]
mod atomic;
#[cfg(feature = "fs")]
mod background;
#[cfg(any(feature = "npz", feature = "torch-files"))]
mod byte_order;
mod bytes;
mod contents;
#[cfg(feature = "fs")]
mod directory;
#[cfg(feature = "fs")]
mod file;
mod foreign;
mod format;
mod format_error;
mod formats;
mod gguf;
#[cfg(feature = "mmap")]
mod mapping;
#[cfg(feature = "npz")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
#[cfg(feature = "fs")]
mod open;
mod options;
mod output;
#[cfg(feature = "torch-files")]
mod pickle;
#[cfg(feature = "fs")]
mod read_file;
mod reader;
#[cfg(feature = "fs")]
mod regular;
#[cfg(any(feature = "fs", feature = "torch-files"))]
mod restored;
mod safetensors;
#[cfg(feature = "fs")]
mod sharded;
mod snapshot_bytes;
mod sorted;
mod stateful;
#[cfg(feature = "fs")]
mod temporary;
#[cfg(feature = "fs")]
mod tensor_file;
#[cfg(feature = "torch-files")]
mod torch_file;
#[cfg(feature = "torch-files")]
mod torch_io;
#[cfg(feature = "torch-files")]
mod torch_legacy;
#[cfg(feature = "torch-files")]
mod torch_object;
#[cfg(feature = "torch-files")]
mod torch_write;
#[cfg(feature = "torch-files")]
mod torch_zip;
#[cfg(feature = "fs")]
mod training;
mod words;
#[cfg(any(feature = "npz", feature = "torch-files"))]
mod zip;

#[cfg(feature = "fs")]
pub use background::SaveHandle;
pub use contents::Contents;
#[cfg(feature = "fs")]
pub use file::read_bytes;
pub use format::Format;
pub use format_error::FormatError;
pub use formats::register_format;
pub use gguf::{Gguf, GgufArray, GgufType, GgufValue};
pub use options::ReadOptions;
pub use reader::{CheckpointReader, TensorPlace};
#[cfg(feature = "fs")]
pub use regular::{open_regular, read_text};
#[cfg(any(feature = "fs", feature = "torch-files"))]
pub use restored::{ChangedSetting, RestoreReport};
pub use stateful::{Snapshot, Stateful};
#[cfg(feature = "fs")]
pub use tensor_file::TensorFile;
#[cfg(feature = "torch-files")]
pub use torch_object::TorchObject;
#[cfg(feature = "fs")]
pub use training::TrainingCheckpoint;

#[cfg(all(test, feature = "default"))]
mod tests;
