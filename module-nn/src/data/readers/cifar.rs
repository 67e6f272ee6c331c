//! CIFAR's binary version: records of one or two labels and 3 × 32 × 32 bytes.

use std::io::Read;

#[cfg(feature = "fs")]
use module_core::checkpoint::open_regular;
use module_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

use super::{LabeledImages, ReaderError};

/// Bytes of an image: red, green and blue, row by row.
const PIXELS: usize = 3 * 32 * 32;

/// Which of CIFAR-100's two labels a sample gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CifarLabels {
    /// One of 100 classes.
    #[default]
    Fine,
    /// One of 20 groups of classes.
    Coarse,
}

struct Records {
    format: &'static str,
    /// The number of labels before the pixels.
    labels: usize,
    /// Which of them is used.
    label: usize,
    classes: usize,
}

const CIFAR10: Records = Records {
    format: "cifar-10",
    labels: 1,
    label: 0,
    classes: 10,
};

fn cifar100(labels: CifarLabels) -> Records {
    let (label, classes) = match labels {
        CifarLabels::Coarse => (0, 20),
        CifarLabels::Fine => (1, 100),
    };
    Records {
        format: "cifar-100",
        labels: 2,
        label,
        classes,
    }
}

/// CIFAR-10 from its binary version: `data_batch_1.bin` to `data_batch_5.bin` in this order, or `test_batch.bin`.
///
/// A sample is an image `[3, 32, 32]` of `U8`, or of `F32` after [`scaled`](LabeledImages::scaled), and its label.
///
/// Source: Krizhevsky, *Learning Multiple Layers of Features from Tiny Images* (2009).
///
/// # Errors
///
/// [`ReaderError`]: a length that is not a multiple of a record's 3073 bytes, a label above 9.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, read_cifar10};
///
/// let record = [&[6_u8][..], &[128; 3072]].concat();
/// let dataset = read_cifar10([&record[..], &record[..]])?;
/// let (image, label) = dataset.get(1)?;
/// assert_eq!((dataset.len(), image.shape().to_string(), label), (2, "[3, 32, 32]".to_owned(), 6));
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn read_cifar10(readers: impl IntoIterator<Item = impl Read>) -> Result<LabeledImages> {
    CIFAR10.read(readers)
}

/// CIFAR-100 from its binary version: `train.bin` or `test.bin`.
///
/// A sample is like one of [`read_cifar10`].
///
/// Source: Krizhevsky, *Learning Multiple Layers of Features from Tiny Images* (2009).
///
/// # Errors
///
/// [`ReaderError`]: a length that is not a multiple of a record's 3074 bytes, a label that is not one of the classes.
///
/// # Example
///
/// ```
/// use module_nn::data::{CifarLabels, Dataset, read_cifar100};
///
/// let record = [&[11_u8, 19][..], &[128; 3072]].concat();
/// assert_eq!(read_cifar100([&record[..]], CifarLabels::Fine)?.get(0)?.1, 19);
/// assert_eq!(read_cifar100([&record[..]], CifarLabels::Coarse)?.get(0)?.1, 11);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn read_cifar100(
    readers: impl IntoIterator<Item = impl Read>,
    labels: CifarLabels,
) -> Result<LabeledImages> {
    cifar100(labels).read(readers)
}

/// [`read_cifar10`] for files.
///
/// # Errors
///
/// Those of [`read_cifar10`], anything but a regular file, those of the operating system; with the path.
///
/// # Example
///
/// ```
/// use module_nn::data::load_cifar10;
///
/// let file = std::env::temp_dir().join("module-nn-doc-cifar10.bin");
/// std::fs::write(&file, [vec![3], vec![0; 3 * 32 * 32]].concat())?; // A black image of class 3.
/// let data = load_cifar10([&file])?;
/// assert_eq!(data.labels().to_vec::<i64>()?, [3]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[cfg(feature = "fs")]
pub fn load_cifar10(
    paths: impl IntoIterator<Item = impl AsRef<std::path::Path>>,
) -> Result<LabeledImages> {
    CIFAR10.load(paths)
}

/// [`read_cifar100`] for files.
///
/// # Errors
///
/// Those of [`read_cifar100`], anything but a regular file, those of the operating system; with the path.
///
/// # Example
///
/// ```
/// use module_nn::data::{CifarLabels, load_cifar100};
///
/// let file = std::env::temp_dir().join("module-nn-doc-cifar100.bin");
/// std::fs::write(&file, [vec![3, 42], vec![0; 3 * 32 * 32]].concat())?; // Coarse class 3, fine class 42.
/// let data = load_cifar100([&file], CifarLabels::Fine)?;
/// assert_eq!(data.labels().to_vec::<i64>()?, [42]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[cfg(feature = "fs")]
pub fn load_cifar100(
    paths: impl IntoIterator<Item = impl AsRef<std::path::Path>>,
    labels: CifarLabels,
) -> Result<LabeledImages> {
    cifar100(labels).load(paths)
}

impl Records {
    fn read(&self, readers: impl IntoIterator<Item = impl Read>) -> Result<LabeledImages> {
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        for reader in readers {
            self.add(reader, &mut pixels, &mut labels)?;
        }
        dataset(pixels, labels)
    }

    #[cfg(feature = "fs")]
    fn load(
        &self,
        paths: impl IntoIterator<Item = impl AsRef<std::path::Path>>,
    ) -> Result<LabeledImages> {
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        for path in paths {
            let path = path.as_ref();
            let file = open_regular(path).map_err(ReaderError::Io);
            let added = file.and_then(|file| self.add(file, &mut pixels, &mut labels));
            added.map_err(|error| error.of_file(path))?;
        }
        dataset(pixels, labels)
    }

    /// Adds the records of one file.
    fn add(
        &self,
        mut reader: impl Read,
        pixels: &mut Vec<u8>,
        labels: &mut Vec<i64>,
    ) -> Result<(), ReaderError> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        let size = self.labels + PIXELS;
        let records = bytes.chunks_exact(size);
        let rest = records.remainder().len();
        if rest > 0 {
            return Err(ReaderError::TooShort {
                format: self.format,
                what: "records",
                expected: (bytes.len() - rest + size) as u64,
                found: bytes.len() as u64,
            });
        }
        for (sample, record) in records.enumerate() {
            let (given, image) = record.split_at(self.labels);
            let label = given.get(self.label).copied().map_or(-1, i64::from);
            if label < 0 || label >= self.classes as i64 {
                return Err(ReaderError::Label {
                    format: self.format,
                    sample,
                    label,
                    classes: self.classes,
                });
            }
            labels.push(label);
            pixels.extend_from_slice(image);
        }
        Ok(())
    }
}

fn dataset(pixels: Vec<u8>, labels: Vec<i64>) -> Result<LabeledImages> {
    let images = Tensor::from_vec(pixels, [labels.len(), 3, 32, 32])?;
    LabeledImages::new(images, Tensor::from(labels))
}
