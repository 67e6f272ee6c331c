//! Readers of the files in which data sets are published.
//!
//! Headers are checked before memory is allocated for what they claim, and elements are read as they come: a small
//! file costs little memory, whatever it claims.

mod cifar;
mod csv;
mod csv_data;
mod csv_rows;
mod error;
mod gzip;
mod idx;
#[cfg(feature = "images")]
mod image_folder;
mod labeled_images;
mod mnist;
#[cfg(feature = "fs")]
mod tensor_file;

pub use cifar::{CifarLabels, read_cifar10, read_cifar100};
#[cfg(feature = "fs")]
pub use cifar::{load_cifar10, load_cifar100};
pub use csv::CsvConfig;
pub use csv_data::{CsvColumn, CsvData, CsvLabels};
pub use error::ReaderError;
pub use gzip::GzipReader;
#[cfg(feature = "fs")]
pub use idx::load_idx;
pub use idx::read_idx;
#[cfg(feature = "images")]
pub use image_folder::{ImageFolder, load_image};
pub use labeled_images::LabeledImages;
#[cfg(feature = "fs")]
pub use mnist::load_mnist;
pub use mnist::read_mnist;
