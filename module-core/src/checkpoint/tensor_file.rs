use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::contents::check_size;
use super::{FormatError, TensorPlace, read_file, regular};
use crate::backend::HostData;
use crate::{DType, Device, Error, FileError, Layout, Result, Shape, Tensor};

/// A tensor that stays in its file, whose rows are read on request: for data larger than memory.
///
/// Rows are read from the file, which is not mapped, so that a file that changes meanwhile gives other numbers or an error,
/// but nothing worse. To map a safetensors file, promise that nobody writes to it
/// ([`ReadOptions::mapped`](crate::ReadOptions::mapped)): the tensors of the state dict then borrow from the mapping, and
/// so do their rows.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::TensorFile;
/// use module_core::{StateDict, Tensor};
///
/// let path = std::env::temp_dir().join(format!("doc-file-{}.safetensors", std::process::id()));
/// StateDict::from_iter([("x", Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]))]).save(&path)?;
/// let x = TensorFile::safetensors(&path, "x")?;
/// assert_eq!((x.len(), x.row(1)?.to_vec::<f32>()?), (2, vec![3.0, 4.0]));
/// assert_eq!(x.rows(0..2)?.shape().to_string(), "[2, 2]");
/// std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TensorFile {
    path: PathBuf,
    file: File,
    dtype: DType,
    shape: Vec<usize>,
    /// Where the first row is, and how long a row is.
    start: usize,
    row: usize,
}

/// The contents of an open file of some length.
type Find<'a> = &'a dyn Fn(&File, usize) -> Result<TensorPlace, FormatError>;

impl TensorFile {
    /// A tensor of a safetensors file.
    ///
    /// # Errors
    ///
    /// [`FileError`]: a file that cannot be read or is not a safetensors file; a key that it does not have; a tensor
    /// without dimensions.
    pub fn safetensors(path: impl AsRef<Path>, key: &str) -> Result<Self> {
        let find = |file: &File, length| super::safetensors::find(file, length, key);
        Self::open(path.as_ref(), "safetensors", &find)
    }

    /// The array of a NumPy file `.npy`.
    ///
    /// # Errors
    ///
    /// [`FileError`]: a file that cannot be read or is not an `.npy` file; an array without dimensions, in column-major
    /// order (`fortran_order`), or big-endian.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::DType;
    /// use module_core::checkpoint::TensorFile;
    ///
    /// // The file of `np.save("x.npy", np.array([7, 8], dtype=np.uint8))`.
    /// let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    /// let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
    /// file.extend(format!("{header:<117}\n").bytes());
    /// file.extend([7, 8]);
    /// let path = std::env::temp_dir().join(format!("doc-{}.npy", std::process::id()));
    /// std::fs::write(&path, file)?;
    ///
    /// let x = TensorFile::npy(&path)?;
    /// assert_eq!((x.dtype(), x.is_empty(), x.row(1)?.item::<u8>()?), (DType::U8, false, 8));
    /// std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "npz")]
    pub fn npy(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path.as_ref(), "npy", &super::npy::find)
    }

    /// Elements in a file in row-major order, little-endian, after `offset` bytes.
    ///
    /// # Errors
    ///
    /// [`FileError`]: a file that cannot be read, or is too short for the shape; a shape without dimensions.
    pub fn raw(
        path: impl AsRef<Path>,
        dtype: DType,
        shape: impl Into<Shape>,
        offset: usize,
    ) -> Result<Self> {
        let shape = shape.into();
        let find = |_: &File, _| {
            let numel = shape.checked_numel("tensor_file", dtype.size_in_bytes());
            let size = numel.map_err(|e| e.to_string())? * dtype.size_in_bytes();
            let end = offset.checked_add(size).ok_or("its offset is too large")?;
            Ok(TensorPlace::new(dtype, shape.to_vec(), offset..end))
        };
        Self::open(path.as_ref(), "raw", &find)
    }

    fn open(path: &Path, format: &'static str, find: Find<'_>) -> Result<Self> {
        let io = |source| FileError::File {
            path: path.to_path_buf(),
            source,
        };
        let problem = |problem: String| FileError::Format {
            path: path.to_path_buf(),
            format,
            problem,
        };
        let (file, length) = regular::open(path).map_err(io)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let place = find(&file, length).map_err(|error| match error {
            FormatError::Io(source) => io(source),
            error => problem(error.to_string()),
        })?;
        let TensorPlace {
            dtype,
            shape,
            range,
        } = place;
        check_size(dtype, &shape, &range, length).map_err(problem)?;
        let Some((_, row)) = shape.split_first() else {
            let wrong = "the tensor has no dimensions, and so no rows".to_owned();
            return Err(problem(wrong).into());
        };
        // If a tensor has no elements, the size of a row may exceed memory.
        let row = Shape::from(row).checked_numel("tensor_file", dtype.size_in_bytes())?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            dtype,
            start: range.start,
            row: row * dtype.size_in_bytes(),
            shape,
        })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.shape.first().copied().unwrap_or_default()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sizes of the whole tensor.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Reads a row.
    ///
    /// # Errors
    ///
    /// A row out of range; a file that cannot be read, or has become shorter.
    pub fn row(&self, index: usize) -> Result<Tensor> {
        let rows = self.rows(index..index.saturating_add(1))?;
        rows.select(0, 0)
    }

    /// Reads consecutive rows as a tensor, with the rows as its first dimension.
    ///
    /// # Errors
    ///
    /// Rows out of range; a file that cannot be read, or has become shorter.
    pub fn rows(&self, rows: Range<usize>) -> Result<Tensor> {
        let len = self.len();
        if rows.start > rows.end || rows.end > len {
            let problem = format!("must lie within the {len} rows");
            let rows = format_args!("{rows:?}");
            return Err(Error::argument("tensor_file", "rows", rows, problem));
        }
        let start = self.start + rows.start * self.row;
        let mut bytes = vec![0; rows.len() * self.row];
        let read = read_file::read_into(&self.file, vec![(start, &mut bytes)]);
        read.map_err(|source| FileError::File {
            path: self.path.clone(),
            source,
        })?;
        let mut shape = self.shape.clone();
        if let Some(count) = shape.first_mut() {
            *count = rows.len();
        }
        let data = HostData::from_le_bytes(self.dtype, &bytes);
        let storage = Device::cpu().backend().upload(data)?;
        Ok(Tensor::from_storage(
            storage,
            Layout::contiguous(shape.into()),
        ))
    }
}
