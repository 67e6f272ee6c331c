//! A tensor in a file as a data set of its rows.

use module_core::checkpoint::TensorFile;
use module_core::{Result, Tensor};

use super::super::{DataError, Dataset};

/// Sample `i` is row `i`, read from the file on request.
///
/// # Example
///
/// ```
/// use module_nn::checkpoint::TensorFile;
/// use module_nn::data::Dataset;
/// use module_nn::prelude::*;
///
/// let path = std::env::temp_dir().join(format!("doc-rows-{}.bin", std::process::id()));
/// std::fs::write(&path, [1_u8, 2, 3, 4, 5, 6])?;
/// let dataset = TensorFile::raw(&path, DType::U8, [3, 2], 0)?;
/// assert_eq!(dataset.get(2)?.to_vec::<u8>()?, [5, 6]);
/// std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Dataset for TensorFile {
    type Item = Tensor;

    fn len(&self) -> usize {
        TensorFile::len(self)
    }

    fn get(&self, index: usize) -> Result<Tensor> {
        DataError::check_index(index, TensorFile::len(self))?;
        self.row(index)
    }
}
