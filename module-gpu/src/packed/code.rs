//! The WGSL that unpacks one element.

use module_tensor::backend::BlockFormat;

use super::PackedStorage;
use super::scheme::{Nested, Scheme};

impl PackedStorage {
    /// The part of a pipeline's key on which [`code`](Self::code) depends.
    pub(crate) fn key(&self) -> String {
        match self.scheme {
            Scheme::Int8 { group_size, .. } => format!("int8 {group_size}"),
            Scheme::Int4 { group_size } => format!("int4 {group_size}"),
            Scheme::FourBit {
                block_size,
                nested: None,
                ..
            } => format!("four bits {block_size}"),
            Scheme::FourBit {
                block_size,
                nested: Some(nested),
                ..
            } => format!("four bits {block_size} {}", nested.block_size),
            Scheme::Blocks(format) => format.name().to_owned(),
        }
    }

    /// The parameters that [`code`](Self::code) reads.
    pub(crate) fn parameters(&self) -> Vec<u32> {
        let mut parameters = self.starts.clone();
        if let Scheme::FourBit {
            nested: Some(nested),
            ..
        } = self.scheme
        {
            parameters.push(nested.offset.to_bits());
        }
        parameters
    }

    /// The function `unpacked(i)`, element `i`; `bytes` is the name by which the kernel reads the bytes, and `first` the number
    /// of the first parameter.
    pub(crate) fn code(&self, bytes: &str, first: usize) -> String {
        let element = match self.scheme {
            Scheme::Int8 { group_size, .. } => int8(group_size, first),
            Scheme::Int4 { group_size } => int4(group_size, first),
            Scheme::FourBit {
                block_size, nested, ..
            } => four_bit(block_size, nested, first),
            Scheme::Blocks(BlockFormat::Q8_0) => Q8_0.to_owned(),
            Scheme::Blocks(BlockFormat::Q4_0) => Q4_0.to_owned(),
            Scheme::Blocks(BlockFormat::Q4K) => Q4_K.to_owned(),
            Scheme::Blocks(_) => Q6_K.to_owned(),
        };
        format!(
            "fn byte_at(i: u32) -> i32 {{ return {bytes}(i); }}
fn signed_at(i: u32) -> i32 {{ return ({bytes}(i) << 24u) >> 24u; }}
fn number_at(word: u32) -> f32 {{ return bitcast<f32>({bytes}_memory[word]); }}
fn half_at(i: u32) -> f32 {{ return f16_in(u32(byte_at(i) | (byte_at(i + 1u) << 8u))); }}
fn unpacked(i: u32) -> f32 {{{element}}}
"
        )
    }

    /// The function `code(i)`, the 8-bit integer of element `i`, and `scale(row)`, the scale of a row; of [`Scheme::Int8`].
    pub(crate) fn integer_code(bytes: &str, first: usize) -> String {
        let scales = first + 1;
        format!(
            "fn code(i: u32) -> i32 {{ return ({bytes}(4u * ${first} + i) << 24u) >> 24u; }}
fn scale(row: u32) -> f32 {{ return bitcast<f32>({bytes}_memory[${scales} + row]); }}
"
        )
    }
}

fn int8(group_size: usize, first: usize) -> String {
    let scales = first + 1;
    format!("\n    return f32(signed_at(i)) * number_at(${scales} + i / {group_size}u);\n")
}

fn int4(group_size: usize, first: usize) -> String {
    let (scales, zeros, half) = (first + 1, first + 2, group_size / 2);
    format!(
        "
    let group = i / {group_size}u;
    let place = i % {group_size}u;
    let pair = byte_at(group * {half}u + place % {half}u);
    let code = (pair >> (place / {half}u * 4u)) & 15;
    return f32(code - byte_at(4u * ${zeros} + group)) * number_at(${scales} + group);
"
    )
}

fn four_bit(block_size: usize, nested: Option<Nested>, first: usize) -> String {
    let (values, maxima) = (first + 1, first + 2);
    let greatest = match nested {
        None => format!("number_at(${maxima} + block)"),
        Some(Nested { block_size, .. }) => format!(
            "number_at(${} + u32(byte_at(4u * ${maxima} + block))) * number_at(${} + block / {block_size}u) + $f{}",
            first + 3,
            first + 4,
            first + 5
        ),
    };
    format!(
        "
    let block = i / {block_size}u;
    let code = (byte_at(i / 2u) >> (4u - i % 2u * 4u)) & 15;
    let greatest = {greatest};
    return number_at(${values} + u32(code)) * greatest;
"
    )
}

const Q8_0: &str = "
    let at = i / 32u * 34u;
    return f32(signed_at(at + 2u + i % 32u)) * half_at(at);
";

const Q4_0: &str = "
    let at = i / 32u * 18u;
    let place = i % 32u;
    let code = (byte_at(at + 2u + place % 16u) >> (place / 16u * 4u)) & 15;
    return f32(code - 8) * half_at(at);
";

/// The scale and the minimum of a group of 32 take six bits each: those of the first four groups a byte each; of the last four,
/// the lower bits are in the last four bytes, and the upper ones above those of the first four.
const Q4_K: &str = "
    let at = i / 256u * 144u;
    let place = i % 256u;
    let group = place / 32u;
    var scale = byte_at(at + 4u + group) & 63;
    var minimum = byte_at(at + 8u + group) & 63;
    if group >= 4u {
        let lower = byte_at(at + 8u + group);
        scale = (lower & 15) | ((byte_at(at + group) >> 6u) << 4u);
        minimum = (lower >> 4u) | ((byte_at(at + 4u + group) >> 6u) << 4u);
    }
    let pair = byte_at(at + 16u + place / 64u * 32u + place % 32u);
    let code = (pair >> (group % 2u * 4u)) & 15;
    return (half_at(at) * f32(scale)) * f32(code) - half_at(at + 2u) * f32(minimum);
";

/// Each half of a block has its lower four bits in 64 bytes and its upper two in 32.
const Q6_K: &str = "
    let at = i / 256u * 210u;
    let place = i % 256u;
    let of_block = place / 128u;
    let quarter = place % 128u / 32u;
    let column = place % 32u;
    let lower = byte_at(at + 64u * of_block + quarter % 2u * 32u + column) >> (quarter / 2u * 4u);
    let upper = byte_at(at + 128u + 32u * of_block + column) >> (quarter * 2u);
    let code = (lower & 15) | ((upper & 3) << 4u);
    let scale = half_at(at + 208u) * f32(signed_at(at + 192u + place / 16u));
    return scale * f32(code - 32);
";
