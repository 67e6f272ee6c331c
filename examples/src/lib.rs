//! The data that the examples train on, the network that learns from it, and published models.

mod digits_net;
mod fashion_mnist;
mod fashion_net;
#[path = "../models/mod.rs"]
pub mod models;
mod turned_digits;

pub use digits_net::DigitsNet;
pub use fashion_mnist::FashionMnist;
pub use fashion_net::FashionNet;
use module_nn::data::TensorDataset;
use module_nn::prelude::*;
pub use turned_digits::TurnedDigits;

/// 1,797 handwritten digits, built into the program, so that nothing is downloaded.
const CSV: &str = include_str!("../data/digits.csv");

/// Images with their labels.
pub struct Digits {
    /// `[count, 1, 8, 8]`, from 0 to 1.
    pub images: Tensor,
    /// `[count]`, the digits as `I64`.
    pub labels: Tensor,
}

impl Digits {
    /// All of them, in file order.
    ///
    /// # Errors
    ///
    /// A line that does not consist of 65 integers.
    pub fn read() -> Result<Self> {
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        for line in CSV.lines() {
            let numbers: Vec<i64> = line
                .split(',')
                .filter_map(|text| text.parse().ok())
                .collect();
            let [image @ .., label] = &numbers[..] else {
                return Err(Error::argument("digits", "line", line, "is empty"));
            };
            if image.len() != 64 {
                return Err(Error::argument(
                    "digits",
                    "line",
                    line,
                    "does not have 64 pixels",
                ));
            }
            pixels.extend(image.iter().map(|&pixel| pixel as f32 / 16.0));
            labels.push(*label);
        }
        let count = labels.len();
        Ok(Self {
            images: Tensor::from_vec(pixels, [count, 1, 8, 8])?,
            labels: Tensor::from_vec(labels, count)?,
        })
    }

    /// The number of images.
    pub fn len(&self) -> usize {
        self.labels.numel()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The examples at the indices `index`, in that order.
    ///
    /// # Errors
    ///
    /// An index out of range.
    pub fn select(&self, index: &Tensor) -> Result<Self> {
        Ok(Self {
            images: self.images.index_select(0, index)?,
            labels: self.labels.index_select(0, index)?,
        })
    }

    /// Pairs of an image and its label.
    ///
    /// # Errors
    ///
    /// None for the data of [`read`](Self::read).
    pub fn dataset(self) -> Result<TensorDataset<(Tensor, Tensor)>> {
        TensorDataset::new((self.images, self.labels))
    }
}
