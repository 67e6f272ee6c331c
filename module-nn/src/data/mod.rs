//! Data sets, samplers and the loader that makes batches: PyTorch's `torch.utils.data`.
//!
//! A [`Dataset`] returns the sample at an index, and a [`Sampler`] the indices of an epoch. A [`Collate`] makes a batch from
//! several samples, and a [`DataLoader`] combines all three. For a given seed, the order is PyTorch's.
//!
//! # Example
//!
//! ```
//! use module_nn::data::{DataLoaderConfig, TensorDataset};
//! use module_nn::prelude::*;
//!
//! let images = Tensor::zeros([10, 3], DType::F32)?;
//! let labels = Tensor::arange(0, 10, DType::I64)?;
//! let dataset = TensorDataset::new((images, labels))?;
//! let loader = DataLoaderConfig::new().batch_size(4).shuffle(true).seed(0).build(dataset)?;
//! for batch in &loader {
//!     let (images, labels) = batch?;
//!     assert_eq!(images.shape()[0], labels.shape()[0]);
//! }
//! assert_eq!(loader.len(), 3);
//! # Ok::<(), Error>(())
//! ```
//!
//! # What is here
//!
//! | group | items |
//! |---|---|
//! | the loader | [`DataLoader`], [`DataLoaderConfig`]; one pass over it: [`Epoch`] |
//! | data sets | [`Dataset`]: a `Vec`, [`TensorDataset`] (of [`TensorRows`]), [`StackDataset`] (of [`Stacked`]), [`ConcatDataset`], [`Subset`], [`random_split`] (by [`SplitLengths`]) |
//! | transforms | [`DatasetExt::map`] ([`MapDataset`]); those of images are in [`transforms`] |
//! | files | [`CsvConfig`] ([`CsvData`], [`CsvColumn`], [`CsvLabels`]); [`load_mnist`], [`load_cifar10`], [`load_cifar100`] ([`LabeledImages`], [`CifarLabels`]) and [`load_idx`]; [`ImageFolder`] and [`load_image`]; from any reader instead of a path: [`read_mnist`], [`read_cifar10`], [`read_cifar100`], [`read_idx`], [`GzipReader`] |
//! | the order of samples | [`Sampler`]: [`SequentialSampler`], [`RandomSampler`], [`SubsetRandomSampler`], [`WeightedRandomSampler`], [`DistributedSampler`]; whole batches of indices: [`BatchSampler`] |
//! | batches | [`Collate`], [`DefaultCollate`] and the [`Sample`]s that it stacks; [`pad_batch`] ([`PaddedBatch`]) |
//! | errors | [`DataError`], [`ReaderError`] |

mod batch_sampler;
mod collate;
mod concat;
mod dataset;
mod dataset_ext;
mod distributed;
mod draw;
mod epoch;
mod error;
mod load;
mod loader;
mod loader_config;
mod pad_batch;
mod plan;
mod position;
mod random;
mod readers;
mod sample;
mod sampler;
mod sequential;
mod split;
mod stack;
mod subset;
mod subset_random;
mod tensor_dataset;
pub mod transforms;
mod weighted;
mod workers;

pub use batch_sampler::BatchSampler;
pub use collate::{Collate, DefaultCollate};
pub use concat::ConcatDataset;
pub use dataset::Dataset;
pub use dataset_ext::{DatasetExt, MapDataset};
pub use distributed::DistributedSampler;
pub use epoch::Epoch;
pub use error::DataError;
pub use loader::DataLoader;
pub use loader_config::DataLoaderConfig;
pub use pad_batch::{PaddedBatch, pad_batch};
pub use random::RandomSampler;
pub use readers::{
    CifarLabels, CsvColumn, CsvConfig, CsvData, CsvLabels, GzipReader, LabeledImages, ReaderError,
    read_cifar10, read_cifar100, read_idx, read_mnist,
};
#[cfg(feature = "images")]
pub use readers::{ImageFolder, load_image};
#[cfg(feature = "fs")]
pub use readers::{load_cifar10, load_cifar100, load_idx, load_mnist};
pub use sample::Sample;
pub use sampler::Sampler;
pub use sequential::SequentialSampler;
pub use split::{SplitLengths, random_split};
pub use stack::{StackDataset, Stacked};
pub use subset::Subset;
pub use subset_random::SubsetRandomSampler;
pub use tensor_dataset::{TensorDataset, TensorRows};
pub use weighted::WeightedRandomSampler;
