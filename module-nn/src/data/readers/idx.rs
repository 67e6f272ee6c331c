//! IDX, the format of the MNIST family: a magic number, sizes, elements, all big-endian.

use std::io::Read;

#[cfg(feature = "fs")]
use module_core::checkpoint::open_regular;
use module_core::{DType, Element, MAX_RANK, Result, Shape, Tensor};

use super::{GzipReader, ReaderError};

const FORMAT: &str = "idx";

/// Reads a tensor from an IDX file, the format of MNIST and its relatives; a gzipped file, the form in which they are
/// published, is decompressed.
///
/// All dtypes of the format are supported (`U8`, `I8`, `I16`, `I32`, `F32`, `F64`), with any number of dimensions. A slice
/// of bytes is a reader: `read_idx(&bytes[..])`.
///
/// Source: LeCun, Cortes and Burges, *The MNIST database of handwritten digits*.
///
/// # Errors
///
/// [`ReaderError`]: a wrong magic number, more dimensions or elements than memory can address, fewer or more bytes than the
/// sizes imply, damaged compression.
///
/// # Example
///
/// ```
/// use module_nn::data::read_idx;
///
/// let file = [0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9];
/// let tensor = read_idx(&file[..])?;
/// assert_eq!((tensor.shape().to_string(), tensor.to_vec::<u8>()?), ("[1, 3]".to_owned(), vec![7, 8, 9]));
/// assert_eq!(
///     read_idx(&file[..14]).unwrap_err().to_string(),
///     "idx: expected 3 bytes of elements, and there are 2 (truncated?); download it again"
/// );
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn read_idx(reader: impl Read) -> Result<Tensor> {
    Ok(read(reader)?)
}

/// [`read_idx`] for a file.
///
/// # Errors
///
/// Those of [`read_idx`], anything but a regular file, those of the operating system; with the path.
///
/// # Example
///
/// ```
/// use module_nn::data::load_idx;
///
/// let file = std::env::temp_dir().join("module-nn-doc-load.idx");
/// std::fs::write(&file, [0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3])?; // Three bytes.
/// assert_eq!(load_idx(&file)?.to_vec::<u8>()?, [1, 2, 3]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[cfg(feature = "fs")]
pub fn load_idx(path: impl AsRef<std::path::Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let file = open_regular(path).map_err(ReaderError::Io);
    let tensor = file.and_then(|file| read(std::io::BufReader::new(file)));
    Ok(tensor.map_err(|error| error.of_file(path))?)
}

fn read(mut reader: impl Read) -> Result<Tensor, ReaderError> {
    let magic: [u8; 2] = exact(&mut reader, "magic number")?;
    match magic == [0x1f, 0x8b] {
        true => read_plain(GzipReader::new(magic.chain(reader))),
        false => read_plain(magic.chain(reader)),
    }
}

fn read_plain(mut reader: impl Read) -> Result<Tensor, ReaderError> {
    let magic: [u8; 4] = exact(&mut reader, "magic number")?;
    let [0, 0, code, rank] = magic else {
        let problem =
            format!("the magic number is {magic:02x?}, which starts with two zeros in this format");
        return Err(ReaderError::format(FORMAT, problem));
    };
    let dtype = match code {
        0x08 => DType::U8,
        0x09 => DType::I8,
        0x0b => DType::I16,
        0x0c => DType::I32,
        0x0d => DType::F32,
        0x0e => DType::F64,
        _ => {
            let problem = format!(
                "the type of its elements is {code:#04x}; expected 0x08, 0x09 or 0x0b to 0x0e"
            );
            return Err(ReaderError::format(FORMAT, problem));
        }
    };
    if usize::from(rank) > MAX_RANK {
        let problem = format!("it has {rank} dimensions, and a tensor at most {MAX_RANK}");
        return Err(ReaderError::format(FORMAT, problem));
    }
    let mut sizes = Vec::with_capacity(usize::from(rank));
    for _ in 0..rank {
        let size = u32::from_be_bytes(exact(&mut reader, "sizes")?);
        sizes.push(usize::try_from(size).unwrap_or(usize::MAX));
    }
    let shape = Shape::from(sizes);
    let size = dtype.size_in_bytes();
    let numel = shape.checked_numel(FORMAT, size);
    let numel = numel.map_err(|error| ReaderError::format(FORMAT, error.to_string()))?;
    let expected = (numel * size) as u64;

    // Memory is allocated for the bytes that arrive, not for those that the header claims.
    let mut bytes = Vec::new();
    reader.by_ref().take(expected).read_to_end(&mut bytes)?;
    let found = bytes.len() as u64;
    if found < expected {
        return Err(ReaderError::TooShort {
            format: FORMAT,
            what: "elements",
            expected,
            found,
        });
    }
    if reader.take(1).read_to_end(&mut Vec::new())? > 0 {
        let format = FORMAT;
        return Err(ReaderError::TooLong { format, expected });
    }
    let tensor = match dtype {
        DType::I8 => elements(&bytes, i8::from_be_bytes, shape),
        DType::I16 => elements(&bytes, i16::from_be_bytes, shape),
        DType::I32 => elements(&bytes, i32::from_be_bytes, shape),
        DType::F32 => elements(&bytes, f32::from_be_bytes, shape),
        DType::F64 => elements(&bytes, f64::from_be_bytes, shape),
        _ => Tensor::from_vec(bytes, shape),
    };
    tensor.map_err(|error| ReaderError::format(FORMAT, error.to_string()))
}

fn elements<T: Element, const N: usize>(
    bytes: &[u8],
    read: impl Fn([u8; N]) -> T,
    shape: Shape,
) -> Result<Tensor> {
    let (all, _) = bytes.as_chunks::<N>();
    Tensor::from_vec(all.iter().map(|&bytes| read(bytes)).collect(), shape)
}

/// As many bytes as the array holds.
fn exact<const N: usize>(
    reader: &mut impl Read,
    what: &'static str,
) -> Result<[u8; N], ReaderError> {
    let mut bytes = Vec::with_capacity(N);
    reader.take(N as u64).read_to_end(&mut bytes)?;
    let found = bytes.len() as u64;
    <[u8; N]>::try_from(bytes).map_err(|_| ReaderError::TooShort {
        format: FORMAT,
        what,
        expected: N as u64,
        found,
    })
}
