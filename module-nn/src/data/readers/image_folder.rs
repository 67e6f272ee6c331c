use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use module_core::checkpoint::open_regular;
use module_core::{Error, Result, Tensor};

use super::super::{DataError, Dataset};
use super::ReaderError;

/// The file name extensions that are read, in lower case.
const EXTENSIONS: [&str; 3] = ["jpg", "jpeg", "png"];

/// A folder with one subfolder of PNG and JPEG files for each class: torchvision's `ImageFolder`.
///
/// ```text
/// root/cat/one.png
/// root/cat/more/two.jpg
/// root/dog/three.jpeg
/// ```
///
/// Classes are the subfolders sorted by name; files are sorted by their folder's path and then by name, as in torchvision.
/// A sample is an image `[3, height, width]` of `U8` in red, green and blue, as [`load_image`] returns it, and the number
/// of its class. Images of different sizes need a transform ([`map`](super::super::DatasetExt::map)) before they can be
/// batched.
///
/// # Example
///
/// ```
/// use module_nn::data::{DataLoaderConfig, DatasetExt, ImageFolder};
/// use module_nn::data::transforms::functional::center_crop;
///
/// # let train = std::env::temp_dir().join(format!("doc-images-{}", std::process::id()));
/// # std::fs::create_dir_all(train.join("cat"))?;
/// # std::fs::write(train.join("cat").join("one.png"), [])?;
/// let dataset = ImageFolder::new(&train)?;
/// assert_eq!((dataset.classes(), dataset.samples().len()), (&["cat".to_owned()][..], 1));
/// let dataset = dataset.map(|(image, class)| Ok((center_crop(&image, [224, 224])?, class)));
/// let loader = DataLoaderConfig::new().batch_size(32).shuffle(true).num_workers(4).build(dataset)?;
/// # std::fs::remove_dir_all(train)?;
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageFolder {
    classes: Vec<String>,
    samples: Vec<(PathBuf, i64)>,
}

impl ImageFolder {
    /// Lists the files of a folder; they are read on request.
    ///
    /// # Errors
    ///
    /// [`ReaderError`] with the path: a folder that cannot be read, or has no subfolders; a class without images; names
    /// that are not UTF-8; links between folders that form a cycle.
    pub fn new(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let mut classes = Vec::new();
        for (name, path) in entries(root)? {
            if path.is_dir() {
                classes.push((name, path));
            }
        }
        if classes.is_empty() {
            return Err(refuse(root, "it has no sub-folders, which are the classes").into());
        }
        let mut samples = Vec::new();
        for (number, (_, path)) in classes.iter().enumerate() {
            let mut folders = Vec::new();
            walk(path, &mut Vec::new(), &mut folders)?;
            // torchvision sorts the folders of a class by their whole paths.
            folders.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
            let before = samples.len();
            for file in folders.into_iter().flat_map(|(_, files)| files) {
                samples.push((file, number as i64));
            }
            if samples.len() == before {
                let problem = "this class has no files that end with .jpg, .jpeg or .png";
                return Err(refuse(path, problem).into());
            }
        }
        Ok(Self {
            classes: classes.into_iter().map(|(name, _)| name).collect(),
            samples,
        })
    }

    /// The names of the classes; label `i` has the name at position `i`.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The files and the labels of their classes.
    pub fn samples(&self) -> &[(PathBuf, i64)] {
        &self.samples
    }
}

impl Dataset for ImageFolder {
    type Item = (Tensor, i64);

    fn len(&self) -> usize {
        self.samples.len()
    }

    fn get(&self, index: usize) -> Result<(Tensor, i64)> {
        let len = self.samples.len();
        let found = self.samples.as_slice().get(index);
        let (path, label) = found.ok_or(DataError::Index { index, len })?;
        Ok((load_image(path)?, *label))
    }
}

/// Reads a PNG or JPEG file, detected by its content, as a tensor `[3, height, width]` of `U8` in red, green and blue.
///
/// Gray becomes three equal channels, transparency is dropped and 16 bits become 8. An EXIF orientation is not applied, as
/// in torchvision.
///
/// # Errors
///
/// [`ReaderError`] with the path: a file that cannot be read or decoded, or that takes more than 512 MiB decoded.
///
/// # Example
///
/// ```
/// use module_nn::data::load_image;
///
/// let error = load_image("no such file.png").unwrap_err();
/// assert!(error.to_string().starts_with("no such file.png: "));
/// ```
pub fn load_image(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let of_file = |error: ReaderError| Error::from(error.of_file(path));
    let opened = open_regular(path)
        .and_then(|file| image::ImageReader::new(BufReader::new(file)).with_guessed_format());
    let file = opened.map_err(|error| of_file(error.into()))?;
    let decoded = file.decode();
    let decoded = decoded.map_err(|error| {
        of_file(ReaderError::format(
            "image",
            format!("it is no PNG or JPEG file that can be read: {error}"),
        ))
    })?;
    let pixels = decoded.into_rgb8();
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    Tensor::from_vec(pixels.into_raw(), [height, width, 3])?
        .permute([2, 0, 1])?
        .contiguous()
}

fn refuse(path: &Path, problem: &str) -> ReaderError {
    ReaderError::format("image folder", problem).of_file(path)
}

/// The entries of a folder, sorted by name.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, ReaderError> {
    let listed = || -> io::Result<Vec<_>> { fs::read_dir(folder)?.collect() };
    let listed = listed().map_err(|error| ReaderError::Io(error).of_file(folder))?;
    let mut named = Vec::with_capacity(listed.len());
    for entry in listed {
        let path = entry.path();
        let name = entry.file_name().into_string();
        named.push((
            name.map_err(|_| refuse(&path, "its name is not UTF-8"))?,
            path,
        ));
    }
    named.sort();
    Ok(named)
}

/// Lists the images of a folder and its subfolders; `above` are the folders that contain it.
fn walk(
    folder: &Path,
    above: &mut Vec<PathBuf>,
    found: &mut Vec<(PathBuf, Vec<PathBuf>)>,
) -> Result<(), ReaderError> {
    let real = folder
        .canonicalize()
        .map_err(|error| ReaderError::Io(error).of_file(folder))?;
    if above.contains(&real) {
        return Err(refuse(folder, "its links form a cycle; remove one"));
    }
    above.push(real);
    let mut files = Vec::new();
    for (name, path) in entries(folder)? {
        if path.is_dir() {
            walk(&path, above, found)?;
        } else if is_image(&name) {
            files.push(path);
        }
    }
    above.pop();
    found.push((folder.to_path_buf(), files));
    Ok(())
}

fn is_image(name: &str) -> bool {
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    EXTENSIONS.contains(&extension.to_lowercase().as_str())
}
