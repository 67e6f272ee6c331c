//! Images as PNG files.

use miniz_oxide::deflate::compress_to_vec_zlib;
use module_core::{DType, Error, Result, Tensor};

use super::crc::crc32;
use super::proto::Message;

/// The compression level, from 0 to 10.
const LEVEL: u8 = 6;

/// The message `Image` of a tensor `[C, H, W]`.
pub(super) fn image(image: &Tensor) -> Result<Message> {
    const OP: &str = "add_image";
    let shape = image.shape();
    let [channels @ (1 | 3 | 4), height @ (1..), width @ (1..)] = **shape else {
        let problem = "must be [C, H, W] with 1 (gray), 3 (RGB) or 4 (RGBA) channels, and without empty sides";
        return Err(Error::argument(OP, "image", shape, problem));
    };
    let side = |size: usize| {
        let problem = "each side must fit 31 bits";
        u32::try_from(size)
            .ok()
            .filter(|&size| size < 1 << 31)
            .ok_or_else(|| Error::argument(OP, "image", shape, problem))
    };
    let (height32, width32) = (side(height)?, side(width)?);
    let rows = image.detach().permute([1, 2, 0])?;
    let bytes: Vec<u8> = match image.dtype() {
        DType::U8 => rows.to_vec()?,
        dtype if dtype.is_floating_point() => {
            let values = rows.to_dtype(DType::F32)?.to_vec::<f32>()?;
            values
                .into_iter()
                .map(|value| (value * 255.0) as u8)
                .collect()
        }
        dtype => {
            let problem = "must be U8 from 0 to 255, or floating-point from 0 to 1";
            return Err(Error::argument(OP, "dtype", dtype, problem));
        }
    };
    // Gray is written as RGB, as by PyTorch.
    let (bytes, channels) = match channels {
        1 => {
            let mut rgb = Vec::with_capacity(3 * bytes.len());
            for gray in bytes {
                rgb.extend_from_slice(&[gray; 3]);
            }
            (rgb, 3)
        }
        _ => (bytes, channels),
    };
    let mut lines = Vec::with_capacity(bytes.len() + height);
    for line in bytes.chunks_exact(width * channels) {
        // The identity filter.
        lines.push(0);
        lines.extend(line);
    }
    let color = if channels == 4 { 6 } else { 2 };
    let mut header = Vec::new();
    header.extend(width32.to_be_bytes());
    header.extend(height32.to_be_bytes());
    header.extend([8, color, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, b"IHDR", &header);
    chunk(&mut png, b"IDAT", &compress_to_vec_zlib(&lines, LEVEL));
    chunk(&mut png, b"IEND", &[]);
    Ok(Message::new()
        .varint(1, height as u64)
        .varint(2, width as u64)
        .varint(3, channels as u64)
        .bytes(4, &png))
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    // A chunk of more than 4 GiB would exceed the memory for an event.
    png.extend((content.len() as u32).to_be_bytes());
    png.extend(kind);
    png.extend(content);
    png.extend(crc32(kind.iter().chain(content)).to_be_bytes());
}
