//! NumPy's `.npy`: one array after a header, which is a Python dict literal.

use std::ops::Range;

use super::byte_order::big_endian_tensor;
use super::words::shorten;
use super::{Contents, FormatError};
use crate::MAX_RANK;
use crate::{DType, Tensor};

/// The array in a range of the contents.
pub(super) fn array(contents: &Contents, range: Range<usize>) -> Result<Tensor, FormatError> {
    let bytes = contents.bytes().get(range.clone()).unwrap_or_default();
    let (header, elements) = split(bytes)?;
    let header = NpyHeader::parse(header)?;
    let start = range.end - elements.len();
    let mut shape = header.shape;
    if header.fortran {
        shape.reverse();
    }
    let place = start..range.end;
    let tensor = match header.big_endian {
        true => big_endian_tensor(contents, header.dtype, &shape, place)?,
        false => contents.tensor(header.dtype, &shape, place)?,
    };
    match header.fortran {
        true => {
            let order: Vec<isize> = (0..shape.len() as isize).rev().collect();
            tensor
                .permute(order)
                .map_err(|error| error.to_string().into())
        }
        false => Ok(tensor),
    }
}

/// Where the elements are in a file of this many bytes that holds one array.
#[cfg(feature = "fs")]
pub(super) fn find(file: &std::fs::File, length: usize) -> Result<super::TensorPlace, FormatError> {
    // A header is about a hundred bytes long.
    let mut bytes = vec![0; length.min(1 << 17)];
    super::read_file::read_into(file, vec![(0, &mut bytes)])?;
    let (header, elements) = split(&bytes)?;
    let start = bytes.len() - elements.len();
    let header = NpyHeader::parse(header)?;
    let unlike = |what: &str| {
        let problem = format!("{what}; save `numpy.ascontiguousarray` of it, little-endian");
        Err(FormatError::Unsupported(problem))
    };
    if header.fortran && header.shape.len() > 1 {
        return unlike("its elements lie column by column, so that rows cannot be read alone");
    }
    if header.big_endian {
        return unlike("its elements are big-endian");
    }
    let range = start..length;
    Ok(super::TensorPlace::new(header.dtype, header.shape, range))
}

/// The text of the header and the bytes of the elements.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let cut = "it ends inside its header (truncated?); download or save it again";
    let rest = bytes
        .strip_prefix(b"\x93NUMPY")
        .ok_or("it is not a `.npy` file")?;
    let (&[major, minor], rest) = rest.split_first_chunk().ok_or(cut)?;
    let (length, rest) = match major {
        1 => rest
            .split_first_chunk()
            .map(|(length, rest)| (usize::from(u16::from_le_bytes(*length)), rest)),
        2 | 3 => rest.split_first_chunk().and_then(|(length, rest)| {
            Some((usize::try_from(u32::from_le_bytes(*length)).ok()?, rest))
        }),
        _ => {
            return Err(format!(
                "version {major}.{minor} of the format is not supported; expected 1 to 3"
            ));
        }
    }
    .ok_or(cut)?;
    let (header, elements) = rest.split_at_checked(length).ok_or(cut)?;
    let header = std::str::from_utf8(header).map_err(|e| format!("its header: {e}"))?;
    Ok((header, elements))
}

/// The contents of the header.
struct NpyHeader {
    dtype: DType,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
}

impl NpyHeader {
    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, the keys in any order.
    fn parse(text: &str) -> Result<Self, FormatError> {
        let unclear = || {
            let start: String = text.chars().take(120).collect();
            FormatError::from(format!(
                "its header does not describe an array of numbers: {start:?}"
            ))
        };
        let inner = text
            .trim()
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'));
        let mut rest = inner.ok_or_else(unclear)?.trim();
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = parse_quoted(rest).ok_or_else(unclear)?;
            let after = after
                .trim_start()
                .strip_prefix(':')
                .ok_or_else(unclear)?
                .trim_start();
            let (again, after) = match key {
                "descr" => {
                    let (name, after) = parse_quoted(after).ok_or_else(unclear)?;
                    (descr.replace(name).is_some(), after)
                }
                "fortran_order" => {
                    let (truth, after) = parse_bool(after).ok_or_else(unclear)?;
                    (fortran.replace(truth).is_some(), after)
                }
                "shape" => {
                    let (sizes, after) = sizes(after)?.ok_or_else(unclear)?;
                    (shape.replace(sizes).is_some(), after)
                }
                _ => return Err(unclear()),
            };
            if again {
                return Err(unclear());
            }
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(more) => more.trim_start(),
                None if after.is_empty() => after,
                None => return Err(unclear()),
            };
        }
        let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
            return Err(unclear());
        };
        let (big_endian, dtype) = parse_descr(descr).ok_or_else(|| {
            let descr = shorten(descr);
            FormatError::Unsupported(format!("its dtype {descr:?} is not supported"))
        })?;
        Ok(Self {
            dtype,
            big_endian,
            fortran,
            shape,
        })
    }
}

/// A quoted string without escapes, and the rest of the text.
fn parse_quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (inner, after) = text[1..].split_once(quote)?;
    (!inner.contains('\\')).then_some((inner, after))
}

fn parse_bool(text: &str) -> Option<(bool, &str)> {
    let of = |word, value| text.strip_prefix(word).map(|after| (value, after));
    of("True", true).or(of("False", false))
}

/// A tuple of numbers, and the rest of the text.
fn sizes(text: &str) -> Result<Option<(Vec<usize>, &str)>, FormatError> {
    let Some((inner, after)) = text.strip_prefix('(').and_then(|t| t.split_once(')')) else {
        return Ok(None);
    };
    let inner = inner.trim();
    // A single size is followed by a comma; several may be.
    let inner = match inner.strip_suffix(',') {
        Some(inner) if !inner.is_empty() => inner,
        _ if inner.is_empty() => return Ok(Some((Vec::new(), after))),
        _ if inner.contains(',') => inner,
        _ => return Ok(None),
    };
    // Nothing is collected before the number of sizes is known.
    if inner.split(',').nth(MAX_RANK).is_some() {
        return Err(format!("it has more than {MAX_RANK} dimensions").into());
    }
    let sizes = inner
        .split(',')
        .map(|size| size.trim().trim_end_matches('L').parse().ok());
    Ok(sizes.collect::<Option<_>>().map(|sizes| (sizes, after)))
}

/// Byte order and dtype of a description such as `<f4`.
fn parse_descr(descr: &str) -> Option<(bool, DType)> {
    let (order, name) = descr.split_at_checked(1)?;
    let dtype = match name {
        "f4" => DType::F32,
        "f8" => DType::F64,
        "f2" => DType::F16,
        "i8" => DType::I64,
        "i4" => DType::I32,
        "i2" => DType::I16,
        "i1" => DType::I8,
        "u4" => DType::U32,
        "u2" => DType::U16,
        "u1" => DType::U8,
        "c8" => DType::Complex64,
        "b1" => DType::Bool,
        _ => return None,
    };
    match order {
        "<" | "=" => Some((false, dtype)),
        "|" if dtype.size_in_bytes() == 1 => Some((false, dtype)),
        ">" => Some((true, dtype)),
        _ => None,
    }
}
