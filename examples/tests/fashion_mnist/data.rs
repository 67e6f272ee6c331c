//! What the network is given: files are read, images are moved and mirrored as they should be.

use std::path::PathBuf;

use module_examples::FashionMnist;
use module_nn::data::{DataLoaderConfig, Dataset};
use module_nn::prelude::*;

const SIDE: usize = 28;
/// The mean and standard deviation published with Fashion-MNIST.
const STATISTICS: [f32; 2] = [0.2860, 0.3530];

/// Image `number` of the files: all its shifted and mirrored forms are different.
fn pixel(number: usize, y: usize, x: usize) -> u8 {
    ((number * 7 + y * 31 + x * x * 3 + 1) % 251 + 1) as u8
}

/// An IDX file of bytes.
fn idx(sizes: &[usize], bytes: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut file = vec![0, 0, 8, sizes.len() as u8];
    file.extend(sizes.iter().flat_map(|&size| (size as u32).to_be_bytes()));
    file.extend(bytes);
    file
}

fn places() -> impl Iterator<Item = (usize, usize)> {
    (0..SIDE * SIDE).map(|place| (place / SIDE, place % SIDE))
}

/// Writes this many training images, and two test images, as Fashion-MNIST's files.
fn write(name: &str, count: usize) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for (part, count) in [("train", count), ("t10k", 2)] {
        let images = (0..count).flat_map(|i| places().map(move |(y, x)| pixel(i, y, x)));
        let labels = (0..count).map(|i| (i % 10) as u8);
        let put = |of: &str, file: Vec<u8>| {
            std::fs::write(directory.join(format!("{part}-{of}-ubyte.gz")), file).unwrap();
        };
        put("images-idx3", idx(&[count, SIDE, SIDE], images));
        put("labels-idx1", idx(&[count], labels));
    }
    directory
}

/// Image `number` shifted and possibly mirrored, with plain loops: pixels outside it are black.
fn moved(number: usize, down: isize, right: isize, mirrored: bool) -> Vec<f32> {
    let [mean, std] = STATISTICS;
    let inside = |place: isize| (0..SIDE as isize).contains(&place);
    let value = |(y, x): (usize, usize)| {
        let x = if mirrored { SIDE - 1 - x } else { x };
        let (y, x) = (y as isize + down, x as isize + right);
        let byte = match inside(y) && inside(x) {
            true => pixel(number, y as usize, x as usize),
            false => 0,
        };
        (f32::from(byte) * (1.0 / 255.0) - mean) / std
    };
    places().map(value).collect()
}

#[test]
fn training_images_are_moved_by_at_most_two_pixels_and_mirrored() -> Result<()> {
    let directory = write("fashion-mnist-moved", 3);
    let data = FashionMnist::load(&directory)?;
    std::fs::remove_dir_all(directory)?;
    let augmented = data.augmented()?;
    let mut forms = Vec::new();
    for (down, right) in (0..25).map(|place| (place / 5 - 2, place % 5 - 2)) {
        forms.extend([(down, right, false), (down, right, true)]);
    }
    let expected: Vec<Vec<f32>> = forms.iter().map(|&(d, r, m)| moved(1, d, r, m)).collect();
    let mut seen = vec![0; forms.len()];
    let samples = fork_rng(3, || {
        (0..1000)
            .map(|_| augmented.get(1))
            .collect::<Result<Vec<_>>>()
    });
    for (image, label) in samples? {
        assert_eq!(
            (image.shape().to_string(), label),
            ("[1, 28, 28]".into(), 1)
        );
        let image = image.to_vec::<f32>()?;
        let form = expected.iter().position(|form| *form == image);
        seen[form.expect("an image that is moved and mirrored otherwise")] += 1;
    }
    // Each of fifty values is expected twenty times, with a standard deviation of 4.4.
    assert!(
        seen.iter().all(|count| (2..=45).contains(count)),
        "{seen:?}"
    );
    Ok(())
}

#[test]
fn test_images_are_as_in_the_files() -> Result<()> {
    let directory = write("fashion-mnist-tested", 1);
    let data = FashionMnist::open(Some(&directory.to_string_lossy()))?;
    std::fs::remove_dir_all(directory)?;
    let tested = data.tested()?;
    assert_eq!((tested.len(), data.train.len()), (2, 1));
    for index in 0..2 {
        let (image, label) = tested.get(index)?;
        assert_eq!(image.to_vec::<f32>()?, moved(index, 0, 0, false));
        assert_eq!(label, index as i64);
    }
    Ok(())
}

#[test]
fn a_directory_without_the_files_is_an_error_that_names_one() {
    let error = FashionMnist::open(Some("nowhere"))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("nowhere/train-images-idx3-ubyte.gz"),
        "{error}"
    );
}

#[test]
fn digits_are_split_and_not_mirrored() -> Result<()> {
    let data = FashionMnist::open(Some("digits"))?;
    assert_eq!((data.train.len(), data.test.len()), (1436, 361));
    let raw = data.train.images().select(0, 5)?;
    let of = |y: isize, x: isize| -> Result<f32> {
        let inside = (0..8).contains(&y) && (0..8).contains(&x);
        let byte = match inside {
            true => raw.select(1, y)?.select(1, x)?.item::<u8>()?,
            false => 0,
        };
        Ok((f32::from(byte) * (1.0 / 255.0) - 0.3054) / 0.3755)
    };
    let mut forms = Vec::new();
    for place in 0..25 {
        let pixels = (0..64).map(|i| of(i / 8 + place / 5 - 2, i % 8 + place % 5 - 2));
        forms.push(pixels.collect::<Result<Vec<f32>>>()?);
    }
    let augmented = data.augmented()?;
    let samples = fork_rng(4, || {
        (0..100)
            .map(|_| augmented.get(5))
            .collect::<Result<Vec<_>>>()
    });
    for (image, _) in samples? {
        let image = image.to_vec::<f32>()?;
        assert!(forms.contains(&image), "{image:?}");
    }
    Ok(())
}

#[test]
fn batches_are_the_same_with_every_number_of_workers() -> Result<()> {
    let data = FashionMnist::open(Some("digits"))?;
    let batches = |workers: usize| -> Result<Vec<(Vec<f32>, Vec<i64>)>> {
        let config = DataLoaderConfig::new().batch_size(128).drop_last(true);
        let config = config.shuffle(true).seed(1).num_workers(workers);
        let loader = config.build(data.augmented()?)?;
        let read = |batch: Result<(Tensor, Tensor)>| {
            let (images, labels) = batch?;
            Ok((images.to_vec()?, labels.to_vec()?))
        };
        loader.iter().map(read).collect()
    };
    let expected = batches(0)?;
    assert_eq!(expected.len(), 11);
    assert_eq!(batches(1)?, expected);
    assert_eq!(batches(3)?, expected);
    Ok(())
}
