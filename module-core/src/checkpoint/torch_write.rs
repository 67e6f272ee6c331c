//! Writes `torch.save` files: a zip archive of stored entries.

use std::io::{self, Write};

use rawzip::extra_fields::ExtraFieldId;
use rawzip::{Header, ZipArchiveWriter};

use super::TorchObject;
use super::output::Output;
use super::pickle::pickle;
use crate::{Error, Result, Tensor};

/// The alignment of elements in the file, as in PyTorch.
const ALIGNMENT: usize = 64;
/// PyTorch's padding field.
const PADDING: u16 = 0x4246;
/// The fixed part of an entry's header, and the header of one extra field.
const HEADER: usize = 30 + 4;

/// Writes the file of an object.
pub(super) fn write(object: &TorchObject, output: &mut Output<'_>) -> Result<()> {
    let (pickled, storages) = pickle(object)
        .map_err(|problem| Error::argument("save", "object", "TorchObject", problem))?;
    let path = output.path().to_owned();
    let failed = |error: rawzip::Error| {
        super::output::file_error(&path, io::Error::other(error.to_string()))
    };
    let mut archive = ZipArchiveWriter::new(output.writer());
    let mut entry = |name: &str, content: Content<'_>| -> Result<()> {
        let name = format!("archive/{name}");
        let start = usize::try_from(archive.stream_offset()).unwrap_or(0);
        let padding = (ALIGNMENT - (start + HEADER + name.len()) % ALIGNMENT) % ALIGNMENT;
        let id = ExtraFieldId::new(PADDING);
        let file = archive.new_file(&name);
        let file = file.extra_field(id, &[b'Z'; ALIGNMENT][..padding], Header::LOCAL);
        let (mut entry, config) = file.and_then(|file| file.start()).map_err(&failed)?;
        let mut data = config.wrap(&mut entry);
        let mut inner = Output::new(&path, &mut data);
        match content {
            Content::Bytes(bytes) => inner.bytes(bytes)?,
            Content::Elements(tensor) => inner.tensor(tensor)?,
        }
        inner.flush()?;
        drop(inner);
        let (_, written) = data.finish().map_err(&failed)?;
        entry.finish(written).map(drop).map_err(&failed)
    };
    entry("data.pkl", Content::Bytes(&pickled))?;
    entry(".format_version", Content::Bytes(b"1"))?;
    entry(".storage_alignment", Content::Bytes(b"64"))?;
    entry("byteorder", Content::Bytes(b"little"))?;
    for (number, tensor) in storages.into_iter().enumerate() {
        entry(&format!("data/{number}"), Content::Elements(tensor))?;
    }
    entry("version", Content::Bytes(b"3\n"))?;
    let writer = archive.finish().map_err(failed)?;
    writer
        .flush()
        .map_err(|error| super::output::file_error(&path, error))
}

/// The content of an entry.
enum Content<'a> {
    Bytes(&'a [u8]),
    Elements(&'a Tensor),
}
