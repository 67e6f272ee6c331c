//! Writing a file.

use std::io::Write;
use std::path::Path;

use super::Gguf;
use super::element_type::GgufType;
use super::header::{ALIGNMENT, MAGIC, MAX_DIMS, alignment};
use super::value::{GgufArray, GgufValue};
use crate::checkpoint::output::{BYTES, Output, WRITER};
use crate::{BlockFormat, Device, Error, Result, Tensor};

/// The version that is written.
const VERSION: u32 = 3;

impl Gguf {
    /// Writes a file of version 3, replacing an existing one completely or not at all, like
    /// [`StateDict::save`](crate::StateDict::save).
    ///
    /// Each tensor is written in its own type: packed in blocks or by its dtype ([`convert`](Self::convert) changes that).
    /// A tied tensor is written under each of its names. llama.cpp reads names of at most 63 bytes.
    ///
    /// # Errors
    ///
    /// A tensor of more than four dimensions, of a type that the format does not have, or packed and seen through a view
    /// that splits blocks; a `general.alignment` that is not a power of two of type `u32`; those of the file.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::checkpoint::Gguf;
    /// use module_core::{ReadOptions, StateDict, Tensor};
    ///
    /// let path = std::env::temp_dir().join(format!("doc-{}.gguf", std::process::id()));
    /// let mut file = Gguf::new(StateDict::from_iter([("bias", Tensor::from([1.0_f32, 2.0]))]));
    /// file.metadata.insert("general.name".to_owned(), "tiny".into());
    /// file.save(&path)?;
    ///
    /// let read = Gguf::open(&path)?;
    /// assert_eq!(read.metadata["general.name"].as_str(), Some("tiny"));
    /// let read = Gguf::open_with(&path, &ReadOptions::new())?;
    /// assert_eq!(read.tensors.len(), 1);
    ///
    /// // The same bytes, to any writer.
    /// let mut bytes = Vec::new();
    /// file.write_to(&mut bytes)?;
    /// assert_eq!(std::fs::read(&path)?, bytes);
    /// std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "fs")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let at = |error| crate::checkpoint::output::file_error(path.as_ref(), error);
        let path = crate::checkpoint::atomic::follow_links(path.as_ref()).map_err(at)?;
        crate::checkpoint::atomic::write(&path, |output| self.write(output))
    }

    /// The bytes of the file that `save` writes.
    ///
    /// # Errors
    ///
    /// Those of `save`, except those of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_at(BYTES.as_ref(), &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the bytes of the file to a writer.
    ///
    /// # Errors
    ///
    /// Those of `save`, and those of the writer.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        self.write_at(WRITER.as_ref(), writer)
    }

    fn write_at(&self, path: &Path, writer: impl Write) -> Result<()> {
        let mut output = Output::new(path, writer);
        self.write(&mut output)?;
        output.flush()
    }

    fn write(&self, output: &mut Output<'_>) -> Result<()> {
        let alignment = alignment(&self.metadata)
            .map_err(|problem| Error::argument("save", "metadata", ALIGNMENT, problem))?;
        let mut header = MAGIC.to_vec();
        put(&mut header, &VERSION.to_le_bytes());
        put_count(&mut header, self.tensors.len());
        put_count(&mut header, self.metadata.len());
        for (key, value) in &self.metadata {
            put_text(&mut header, key);
            put_value(&mut header, value);
        }
        let mut next = 0_usize;
        for (name, tensor) in &self.tensors {
            let (number, size) = describe(name, &with_blocks(tensor)?)?;
            put_text(&mut header, name);
            put(&mut header, &(tensor.rank() as u32).to_le_bytes());
            for &size in tensor.shape().iter().rev() {
                put_count(&mut header, size);
            }
            put(&mut header, &number.to_le_bytes());
            put_count(&mut header, next);
            let end = next.checked_add(size);
            let end = end.and_then(|end| end.checked_next_multiple_of(alignment));
            next = end.ok_or_else(|| tensor.shape().error("save", "fewer elements in all"))?;
        }
        let length = header.len();
        output.bytes(&header)?;
        pad(output, length, alignment)?;
        for (_, tensor) in &self.tensors {
            let tensor = with_blocks(tensor)?;
            match BlockFormat::bytes_of(&tensor) {
                Some(bytes) => output.bytes(bytes)?,
                None => output.tensor(&tensor)?,
            }
            pad(output, size_of_elements(&tensor), alignment)?;
        }
        Ok(())
    }
}

/// The same tensor; a packed one in host memory, where the bytes of its blocks are found.
fn with_blocks(tensor: &Tensor) -> Result<Tensor> {
    match tensor.is_packed() {
        true => tensor.to_device(&Device::cpu()),
        false => Ok(tensor.clone()),
    }
}

/// The number of a tensor's type, and the bytes of its elements.
fn describe(name: &str, tensor: &Tensor) -> Result<(u32, usize)> {
    if tensor.rank() > MAX_DIMS {
        let problem = format!(
            "has {} dimensions, and the format at most {MAX_DIMS}; reshape it",
            tensor.rank()
        );
        return Err(Error::argument("save", "tensor", name, problem));
    }
    let Some(number) = GgufType::of(tensor).and_then(GgufType::number) else {
        let found = match tensor.storage().packed() {
            Some(packed) => format!("is packed as {}", packed.scheme()),
            None => format!("has the dtype {}", tensor.dtype()),
        };
        let problem = format!("{found}, which the format does not have; `convert` it");
        return Err(Error::argument("save", "tensor", name, problem));
    };
    if tensor.is_packed() && BlockFormat::bytes_of(tensor).is_none() {
        let problem = "is a view that cuts the blocks of a packed tensor; `unpack` it, and `convert` it again";
        return Err(Error::argument("save", "tensor", name, problem));
    }
    Ok((number, size_of_elements(tensor)))
}

fn size_of_elements(tensor: &Tensor) -> usize {
    match BlockFormat::bytes_of(tensor) {
        Some(bytes) => bytes.len(),
        None => tensor.numel() * tensor.dtype().size_in_bytes(),
    }
}

/// Zeros up to the next multiple of the alignment.
fn pad(output: &mut Output<'_>, length: usize, alignment: usize) -> Result<()> {
    const ZEROS: [u8; 1 << 10] = [0; 1 << 10];
    let mut missing = length.next_multiple_of(alignment) - length;
    while missing > 0 {
        let part = missing.min(ZEROS.len());
        output.bytes(&ZEROS[..part])?;
        missing -= part;
    }
    Ok(())
}

fn put(header: &mut Vec<u8>, bytes: &[u8]) {
    header.extend_from_slice(bytes);
}

fn put_count(header: &mut Vec<u8>, count: usize) {
    put(header, &(count as u64).to_le_bytes());
}

fn put_text(header: &mut Vec<u8>, text: &str) {
    put_count(header, text.len());
    put(header, text.as_bytes());
}

fn put_value(header: &mut Vec<u8>, value: &GgufValue) {
    let mut number = |kind: u32, bytes: &[u8]| {
        put(header, &kind.to_le_bytes());
        put(header, bytes);
    };
    match value {
        GgufValue::U8(x) => number(0, &x.to_le_bytes()),
        GgufValue::I8(x) => number(1, &x.to_le_bytes()),
        GgufValue::U16(x) => number(2, &x.to_le_bytes()),
        GgufValue::I16(x) => number(3, &x.to_le_bytes()),
        GgufValue::U32(x) => number(4, &x.to_le_bytes()),
        GgufValue::I32(x) => number(5, &x.to_le_bytes()),
        GgufValue::F32(x) => number(6, &x.to_le_bytes()),
        GgufValue::Bool(x) => number(7, &[u8::from(*x)]),
        GgufValue::Str(text) => {
            number(8, &[]);
            put_text(header, text);
        }
        GgufValue::Array(array) => {
            number(9, &[]);
            put_array(header, array);
        }
        GgufValue::U64(x) => number(10, &x.to_le_bytes()),
        GgufValue::I64(x) => number(11, &x.to_le_bytes()),
        GgufValue::F64(x) => number(12, &x.to_le_bytes()),
    }
}

fn put_array(header: &mut Vec<u8>, array: &GgufArray) {
    match array {
        GgufArray::U8(x) => put_all(header, 0, x, |header, x| header.push(*x)),
        GgufArray::I8(x) => put_all(header, 1, x, |header, x| put(header, &x.to_le_bytes())),
        GgufArray::U16(x) => put_all(header, 2, x, |header, x| put(header, &x.to_le_bytes())),
        GgufArray::I16(x) => put_all(header, 3, x, |header, x| put(header, &x.to_le_bytes())),
        GgufArray::U32(x) => put_all(header, 4, x, |header, x| put(header, &x.to_le_bytes())),
        GgufArray::I32(x) => put_all(header, 5, x, |header, x| put(header, &x.to_le_bytes())),
        GgufArray::F32(x) => put_all(header, 6, x, |header, x| put(header, &x.to_le_bytes())),
        GgufArray::Bool(x) => put_all(header, 7, x, |header, x| header.push(u8::from(*x))),
        GgufArray::Str(x) => put_all(header, 8, x, |header, x| put_text(header, x)),
        GgufArray::Array(x) => put_all(header, 9, x, put_array),
        GgufArray::U64(x) => put_all(header, 10, x, |header, x| put(header, &x.to_le_bytes())),
        GgufArray::I64(x) => put_all(header, 11, x, |header, x| put(header, &x.to_le_bytes())),
        GgufArray::F64(x) => put_all(header, 12, x, |header, x| put(header, &x.to_le_bytes())),
    }
}

fn put_all<T>(header: &mut Vec<u8>, kind: u32, elements: &[T], put_one: fn(&mut Vec<u8>, &T)) {
    put(header, &kind.to_le_bytes());
    put_count(header, elements.len());
    for element in elements {
        put_one(header, element);
    }
}
