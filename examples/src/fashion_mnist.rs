use std::path::Path;

use module_nn::data::transforms::functional::to_dtype_scaled;
use module_nn::data::transforms::{
    Compose, Normalize, RandomCropConfig, RandomHorizontalFlip, Transform,
};
use module_nn::data::{Dataset, DatasetExt, LabeledImages, load_mnist};
use module_nn::prelude::*;

use crate::Digits;

/// Training and test images of ten classes: Fashion-MNIST, or digits in its place.
pub struct FashionMnist {
    /// The training images, each `[1, height, width]` of `U8`.
    pub train: LabeledImages,
    /// The test images.
    pub test: LabeledImages,
    /// The names of the classes.
    pub classes: [&'static str; 10],
    /// The minimum accuracy that `examples/fashion_mnist.rs` reaches.
    pub goal: f64,
    /// The mean and standard deviation of the pixels.
    statistics: [f64; 2],
    /// Whether a mirrored image still shows the same class.
    is_symmetric: bool,
}

/// Where the script stores Fashion-MNIST.
const DIRECTORY: &str = "target/fashion-mnist";

impl FashionMnist {
    /// The data with a name: a directory, or `digits`. Without a name, Fashion-MNIST if it was downloaded, otherwise the
    /// digits.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn open(name: Option<&str>) -> Result<Self> {
        match name {
            Some("digits") => Self::digits(),
            Some(directory) => Self::load(directory.as_ref()),
            None if Path::new(DIRECTORY).exists() => Self::load(DIRECTORY.as_ref()),
            None => {
                println!(
                    "{DIRECTORY} is missing, so digits are learned; examples/fetch_fashion_mnist.sh fetches it"
                );
                Self::digits()
            }
        }
    }

    /// Reads the files of Fashion-MNIST in a directory, as `examples/fetch_fashion_mnist.sh` stores them.
    ///
    /// # Errors
    ///
    /// A missing or damaged file.
    pub fn load(directory: &Path) -> Result<Self> {
        let part = |name: &str| {
            let file = |of: &str| directory.join(format!("{name}-{of}-ubyte.gz"));
            load_mnist(file("images-idx3"), file("labels-idx1"))
        };
        Ok(Self {
            train: part("train")?,
            test: part("t10k")?,
            classes: [
                "T-shirt/top",
                "Trouser",
                "Pullover",
                "Dress",
                "Coat",
                "Sandal",
                "Shirt",
                "Sneaker",
                "Bag",
                "Ankle boot",
            ],
            goal: 0.93,
            statistics: [0.2860, 0.3530],
            is_symmetric: true,
        })
    }

    /// The digits of [`Digits::read`], four fifths of them for training.
    ///
    /// # Errors
    ///
    /// Those of [`Digits::read`].
    pub fn digits() -> Result<Self> {
        let digits = Digits::read()?;
        let (count, first) = (digits.len(), digits.len() / 5 * 4);
        let part = |range: std::ops::Range<usize>| {
            let images = digits.images.narrow(0, range.clone())?;
            let images = to_dtype_scaled(&images, DType::U8)?;
            LabeledImages::new(images, digits.labels.narrow(0, range)?)
        };
        Ok(Self {
            train: part(0..first)?,
            test: part(first..count)?,
            classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
            goal: 0.85,
            statistics: [0.3054, 0.3755],
            is_symmetric: false,
        })
    }

    /// Training images in the form that a network takes, randomly shifted by up to two pixels and mirrored.
    ///
    /// # Errors
    ///
    /// None.
    pub fn augmented(&self) -> Result<impl Dataset<Item = (Tensor, i64)> + use<>> {
        let [.., height, width] = self.train.images().shape()[..] else {
            return Err(self.train.images().shape().error("augmented", "images"));
        };
        let crop = RandomCropConfig::new([height, width]).padding([2; 4]);
        let mut transform = Compose::new().push(crop.build()?);
        if self.is_symmetric {
            transform = transform.push(RandomHorizontalFlip::new());
        }
        self.normalized(&self.train, transform)
    }

    /// Test images in the form that a network takes.
    ///
    /// # Errors
    ///
    /// None.
    pub fn tested(&self) -> Result<impl Dataset<Item = (Tensor, i64)> + use<>> {
        self.normalized(&self.test, Compose::new())
    }

    fn normalized(
        &self,
        images: &LabeledImages,
        transform: Compose,
    ) -> Result<impl Dataset<Item = (Tensor, i64)> + use<>> {
        let [mean, std] = self.statistics;
        let transform = transform
            .push(|image: &Tensor| to_dtype_scaled(image, DType::F32))
            .push(Normalize::new([mean], [std])?);
        let apply = move |(image, label): (Tensor, i64)| Ok((transform.apply(&image)?, label));
        Ok(images.clone().map(apply))
    }
}
