use half::{bf16, f16};

use crate::DType;

/// Elements in host memory, in row-major order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HostData {
    /// 32-bit floating point.
    F32(Vec<f32>),
    /// 64-bit floating point.
    F64(Vec<f64>),
    /// Half precision.
    F16(Vec<f16>),
    /// Brain floating point.
    BF16(Vec<bf16>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// Bytes.
    U8(Vec<u8>),
    /// Truth values.
    Bool(Vec<bool>),
}

impl HostData {
    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::F16(_) => DType::F16,
            Self::BF16(_) => DType::BF16,
            Self::I64(_) => DType::I64,
            Self::I32(_) => DType::I32,
            Self::U8(_) => DType::U8,
            Self::Bool(_) => DType::Bool,
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that tensors hold; sealed, one for each [`DType`].
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + Send + Sync + 'static {
    /// The dtype that it is.
    const DTYPE: DType;

    /// Wraps a vector.
    fn into_host(values: Vec<Self>) -> HostData;

    /// The elements, if they are of this type.
    fn host(data: &HostData) -> Option<&Vec<Self>>;

    /// The elements, if they are of this type, to be written.
    fn host_mut(data: &mut HostData) -> Option<&mut Vec<Self>>;

    /// The elements, if they are of this type.
    fn from_host(data: HostData) -> Option<Vec<Self>>;
}

macro_rules! elements {
    ($($type:ty => $variant:ident),*) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$variant;

            fn into_host(values: Vec<Self>) -> HostData {
                HostData::$variant(values)
            }

            fn host(data: &HostData) -> Option<&Vec<Self>> {
                if let HostData::$variant(values) = data { Some(values) } else { None }
            }

            fn host_mut(data: &mut HostData) -> Option<&mut Vec<Self>> {
                if let HostData::$variant(values) = data { Some(values) } else { None }
            }

            fn from_host(data: HostData) -> Option<Vec<Self>> {
                if let HostData::$variant(values) = data { Some(values) } else { None }
            }
        }
    )*};
}

elements!(f32 => F32, f64 => F64, f16 => F16, bf16 => BF16, i64 => I64, i32 => I32, u8 => U8, bool => Bool);
