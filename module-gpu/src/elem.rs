//! How the elements of each dtype lie in memory, and the WGSL that reads and writes them.
//!
//! Memory is an array of 32-bit words, or of 64-bit numbers for the wide dtypes. Elements of 8 and 16 bits share words, so an
//! invocation of a kernel computes and writes whole words.

use module_tensor::DType;

/// The type that the elements of a tensor have in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Elem {
    F32,
    F64,
    F16,
    BF16,
    I64,
    I32,
    U8,
    Bool,
    I8,
    I16,
    U16,
    U32,
    /// `F16` as a type of WGSL, which some adapters have; only read.
    NativeF16,
    /// The same in vectors of four, which are read at once.
    QuadF16,
    /// Bits that are moved and not computed with, by the number of bytes.
    Bits1,
    Bits2,
    Bits4,
    Bits8,
}

impl Elem {
    /// The elements of a dtype, as numbers; `None` for dtypes that the device does not compute with.
    pub(crate) fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::F32 => Self::F32,
            DType::F64 => Self::F64,
            DType::F16 => Self::F16,
            DType::BF16 => Self::BF16,
            DType::I64 => Self::I64,
            DType::I32 => Self::I32,
            DType::U8 => Self::U8,
            DType::Bool => Self::Bool,
            DType::I8 => Self::I8,
            DType::I16 => Self::I16,
            DType::U16 => Self::U16,
            DType::U32 => Self::U32,
            _ => return None,
        })
    }

    /// The elements of a dtype, as bits.
    pub(crate) fn bits(dtype: DType) -> Self {
        match dtype.size_in_bytes() {
            1 => Self::Bits1,
            2 => Self::Bits2,
            4 => Self::Bits4,
            _ => Self::Bits8,
        }
    }

    /// The name in the keys of pipelines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::U8 => "u8",
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::NativeF16 => "native f16",
            Self::QuadF16 => "four f16",
            Self::Bits1 => "b1",
            Self::Bits2 => "b2",
            Self::Bits4 => "b4",
            Self::Bits8 => "b8",
        }
    }

    /// The type in which kernels compute.
    pub(crate) fn computed(self) -> &'static str {
        match self {
            Self::F32 | Self::F16 | Self::BF16 | Self::NativeF16 | Self::QuadF16 => "f32",
            Self::F64 => "f64",
            Self::I64 => "i64",
            Self::I32 | Self::U8 | Self::I8 | Self::I16 | Self::U16 => "i32",
            Self::U32 => "u32",
            Self::Bool => "bool",
            Self::Bits1 | Self::Bits2 | Self::Bits4 => "u32",
            Self::Bits8 => "vec2<u32>",
        }
    }

    /// The type of the elements of the array in memory.
    pub(crate) fn memory(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::I64 => "i64",
            Self::Bits8 => "vec2<u32>",
            Self::NativeF16 => "f16",
            Self::QuadF16 => "vec4<f16>",
            _ => "u32",
        }
    }

    /// The number of elements of a word.
    pub(crate) fn per_word(self) -> usize {
        match self {
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 | Self::Bits2 => 2,
            Self::U8 | Self::Bool | Self::I8 | Self::Bits1 => 4,
            _ => 1,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::BF16)
    }

    /// A function `name(i)` that reads element `i` of the array `memory`.
    pub(crate) fn reader(self, name: &str, memory: &str) -> String {
        let word = match self.per_word() {
            _ if self == Self::QuadF16 => format!("{memory}[i >> 2u][i & 3u]"),
            1 => format!("{memory}[i]"),
            2 => format!("((({memory}[i >> 1u]) >> ((i & 1u) * 16u)) & 0xffffu)"),
            _ => format!("((({memory}[i >> 2u]) >> ((i & 3u) * 8u)) & 0xffu)"),
        };
        let value = self.decoded(&word);
        format!(
            "fn {name}(i: u32) -> {} {{ return {value}; }}\n",
            self.computed()
        )
    }

    /// The number that a word or a part of it holds.
    fn decoded(self, word: &str) -> String {
        match self {
            Self::F32 => format!("bitcast<f32>({word})"),
            Self::F16 => format!("f16_in({word})"),
            Self::NativeF16 | Self::QuadF16 => format!("f32({word})"),
            Self::BF16 => format!("bitcast<f32>({word} << 16u)"),
            Self::I32 => format!("bitcast<i32>({word})"),
            Self::U8 | Self::U16 => format!("i32({word})"),
            Self::I8 => format!("(bitcast<i32>({word} << 24u) >> 24u)"),
            Self::I16 => format!("(bitcast<i32>({word} << 16u) >> 16u)"),
            Self::Bool => format!("({word} != 0u)"),
            _ => word.to_owned(),
        }
    }

    /// The word, or the part of a word, that holds a number.
    pub(crate) fn encoded(self, value: &str) -> String {
        match self {
            Self::F32 | Self::I32 => format!("bitcast<u32>({value})"),
            Self::F16 => format!("f16_out({value})"),
            Self::BF16 => format!("bf16_out({value})"),
            Self::U8 | Self::I8 => format!("(bitcast<u32>({value}) & 0xffu)"),
            Self::I16 | Self::U16 => format!("(bitcast<u32>({value}) & 0xffffu)"),
            Self::Bool => format!("select(0u, 1u, {value})"),
            _ => value.to_owned(),
        }
    }
}
