use std::fmt;

use crate::{BlockFormat, DType, Tensor};

/// The type of the elements of a tensor in a GGUF file, which llama.cpp calls `ggml_type`.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::GgufType;
/// use module_core::{BlockFormat, DType, Tensor};
///
/// let x = Tensor::ones([1, 32], DType::F32)?;
/// assert_eq!(GgufType::of(&x), Some(GgufType::Plain(DType::F32)));
/// let packed = BlockFormat::Q4_0.quantize(&x)?;
/// assert_eq!(GgufType::of(&packed), Some(GgufType::Blocks(BlockFormat::Q4_0)));
/// assert_eq!(GgufType::of(&Tensor::from([true])), None);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GgufType {
    /// Elements one by one: `F32`, `F16`, `BF16`, `F64`, `I8`, `I16`, `I32`, `I64`.
    Plain(DType),
    /// Elements in blocks: `Q8_0`, `Q4_0`, `Q4_K`, `Q6_K`.
    Blocks(BlockFormat),
}

/// The number and the name of each supported type.
const TYPES: [(u32, &str, GgufType); 12] = [
    (0, "F32", GgufType::Plain(DType::F32)),
    (1, "F16", GgufType::Plain(DType::F16)),
    (2, "Q4_0", GgufType::Blocks(BlockFormat::Q4_0)),
    (8, "Q8_0", GgufType::Blocks(BlockFormat::Q8_0)),
    (12, "Q4_K", GgufType::Blocks(BlockFormat::Q4K)),
    (14, "Q6_K", GgufType::Blocks(BlockFormat::Q6K)),
    (24, "I8", GgufType::Plain(DType::I8)),
    (25, "I16", GgufType::Plain(DType::I16)),
    (26, "I32", GgufType::Plain(DType::I32)),
    (27, "I64", GgufType::Plain(DType::I64)),
    (28, "F64", GgufType::Plain(DType::F64)),
    (30, "BF16", GgufType::Plain(DType::BF16)),
];

/// The names of unsupported types, for messages.
const OTHERS: [(u32, &str); 22] = [
    (3, "Q4_1"),
    (6, "Q5_0"),
    (7, "Q5_1"),
    (9, "Q8_1"),
    (10, "Q2_K"),
    (11, "Q3_K"),
    (13, "Q5_K"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
    (40, "NVFP4"),
    (41, "Q1_0"),
];

impl GgufType {
    /// The type of a tensor: the format of its blocks, or its dtype, if the file format has it.
    pub fn of(tensor: &Tensor) -> Option<Self> {
        let found = match BlockFormat::of(tensor) {
            Some(format) => Self::Blocks(format),
            None if tensor.is_packed() => return None,
            None => Self::Plain(tensor.dtype()),
        };
        found.number().map(|_| found)
    }

    /// The elements and the bytes of a block; a plain element is a block of one.
    pub(super) fn block(self) -> (usize, usize) {
        match self {
            Self::Plain(dtype) => (1, dtype.size_in_bytes()),
            Self::Blocks(format) => (format.numel(), format.size_in_bytes()),
        }
    }

    /// The number of the type in files, if the file format has it.
    pub(super) fn number(self) -> Option<u32> {
        let found = TYPES.iter().find(|(.., known)| *known == self);
        found.map(|(number, ..)| *number)
    }

    pub(super) fn from_number(number: u32) -> Result<Self, String> {
        if let Some((.., known)) = TYPES.iter().find(|(known, ..)| *known == number) {
            return Ok(*known);
        }
        let names: Vec<_> = TYPES.iter().map(|(_, name, _)| *name).collect();
        let other = OTHERS.iter().find(|(known, _)| *known == number);
        let other = other.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned());
        let names = names.join(", ");
        Err(format!(
            "the type {other} is not supported, but these are: {names}"
        ))
    }
}

impl fmt::Display for GgufType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match TYPES.iter().find(|(.., known)| known == self) {
            Some((_, name, _)) => f.write_str(name),
            None => match self {
                Self::Plain(dtype) => dtype.fmt(f),
                Self::Blocks(format) => f.write_str(format.name()),
            },
        }
    }
}

impl From<DType> for GgufType {
    fn from(dtype: DType) -> Self {
        Self::Plain(dtype)
    }
}

impl From<BlockFormat> for GgufType {
    fn from(format: BlockFormat) -> Self {
        Self::Blocks(format)
    }
}
