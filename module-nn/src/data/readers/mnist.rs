use std::io::Read;

use module_core::{DType, Error, Result, Tensor};

use super::{LabeledImages, ReaderError, read_idx};

/// MNIST and data sets in its format (Fashion-MNIST, KMNIST, EMNIST): one IDX file of images and one of labels, compressed
/// or not, such as `train-images-idx3-ubyte.gz` and `train-labels-idx1-ubyte.gz`.
///
/// A sample is an image `[1, height, width]` of `U8`, or of `F32` after [`scaled`](LabeledImages::scaled), and its label.
///
/// Source: LeCun, Cortes and Burges, *The MNIST database of handwritten digits*.
///
/// # Errors
///
/// Those of [`read_idx`]; files other than images `[count, height, width]` of `U8` and labels `[count]` of `U8`; different
/// counts.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, read_mnist};
///
/// let images = [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20];
/// let labels = [0, 0, 8, 1, 0, 0, 0, 1, 4];
/// let dataset = read_mnist(&images[..], &labels[..])?;
/// let (image, label) = dataset.get(0)?;
/// assert_eq!((image.shape().to_string(), label), ("[1, 1, 2]".to_owned(), 4));
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn read_mnist(images: impl Read, labels: impl Read) -> Result<LabeledImages> {
    labeled(read_idx(images)?, read_idx(labels)?)
}

/// [`read_mnist`] for two files.
///
/// # Errors
///
/// Those of [`read_mnist`] and of the operating system, with the path.
///
/// # Example
///
/// ```
/// use module_nn::data::load_mnist;
///
/// let folder = std::env::temp_dir();
/// let [images, labels] = ["images", "labels"].map(|name| folder.join(format!("module-nn-doc-{name}")));
/// std::fs::write(&images, [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 9, 8])?; // One image of 1 by 2.
/// std::fs::write(&labels, [0, 0, 8, 1, 0, 0, 0, 1, 5])?;
/// let data = load_mnist(&images, &labels)?;
/// assert_eq!(data.images().shape().to_string(), "[1, 1, 1, 2]");
/// # Ok::<(), module_nn::Error>(())
/// ```
#[cfg(feature = "fs")]
pub fn load_mnist(
    images: impl AsRef<std::path::Path>,
    labels: impl AsRef<std::path::Path>,
) -> Result<LabeledImages> {
    labeled(super::load_idx(images)?, super::load_idx(labels)?)
}

fn labeled(images: Tensor, labels: Tensor) -> Result<LabeledImages> {
    for (what, tensor, rank) in [("images", &images, 3), ("labels", &labels, 1)] {
        if (tensor.dtype(), tensor.rank()) != (DType::U8, rank) {
            let problem = format!(
                "the file of {what} holds {} of shape {}; expected uint8 of {rank} dimension(s)",
                tensor.dtype(),
                tensor.shape()
            );
            return Err(Error::from(ReaderError::format("mnist", problem)));
        }
    }
    LabeledImages::new(images.unsqueeze(1)?, labels.to_dtype(DType::I64)?)
}
