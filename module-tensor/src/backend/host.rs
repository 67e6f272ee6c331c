use half::{bf16, f16};

use super::dispatch::dispatch;
use crate::{Complex, DType, F8E4M3, F8E5M2};

/// Elements in host memory, in row-major order.
///
/// # Example
///
/// ```
/// use module_tensor::backend::HostData;
/// use module_tensor::{DType, Element, Tensor};
///
/// let x = Tensor::from([[1_i32, 2], [3, 4]]);
/// let data = x.t()?.to_host()?; // In row-major order of the transpose.
/// assert_eq!((data.dtype(), i32::host(&data)), (DType::I32, Some(&vec![1, 3, 2, 4])));
/// assert_eq!(Tensor::from_host(data, [4])?.to_vec::<i32>()?, [1, 3, 2, 4]);
///
/// // The bytes of a file, and elements read straight into their memory.
/// let half = HostData::from_le_bytes(DType::F16, &[0x00, 0x3c, 0x00, 0xc0]);
/// assert_eq!(Tensor::from_host(half, [2])?.to_dtype(DType::F32)?.to_vec::<f32>()?, [1.0, -2.0]);
/// let mut data = HostData::unspecified(DType::I16, 2)?;
/// if let Some(bytes) = data.le_bytes_mut() {
///     bytes.copy_from_slice(&[1, 0, 0, 1]);
///     assert_eq!(data.to_le_bytes(), [1, 0, 0, 1]);
///     assert_eq!(i16::host(&data), Some(&vec![1, 256]));
/// }
/// # Ok::<(), module_tensor::Error>(())
/// ```
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
    /// Booleans.
    Bool(Vec<bool>),
    /// 8-bit signed integers.
    I8(Vec<i8>),
    /// 16-bit signed integers.
    I16(Vec<i16>),
    /// 16-bit unsigned integers.
    U16(Vec<u16>),
    /// 32-bit unsigned integers.
    U32(Vec<u32>),
    /// 8-bit floating point with 3 bits of mantissa.
    F8E4M3(Vec<F8E4M3>),
    /// 8-bit floating point with 2 bits of mantissa.
    F8E5M2(Vec<F8E5M2>),
    /// Complex numbers.
    Complex64(Vec<Complex<f32>>),
}

/// Evaluates an expression with `$values` standing for the vector of a [`HostData`].
macro_rules! with_values {
    ($data:expr, $values:ident => $body:expr) => {
        match $data {
            HostData::F32($values) => $body,
            HostData::F64($values) => $body,
            HostData::F16($values) => $body,
            HostData::BF16($values) => $body,
            HostData::I64($values) => $body,
            HostData::I32($values) => $body,
            HostData::U8($values) => $body,
            HostData::Bool($values) => $body,
            HostData::I8($values) => $body,
            HostData::I16($values) => $body,
            HostData::U16($values) => $body,
            HostData::U32($values) => $body,
            HostData::F8E4M3($values) => $body,
            HostData::F8E5M2($values) => $body,
            HostData::Complex64($values) => $body,
        }
    };
}

impl HostData {
    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        fn of<T: Element>(_: &[T]) -> DType {
            T::DTYPE
        }
        with_values!(self, values => of(values))
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    /// The allocated bytes behind the elements, including spare capacity.
    pub(super) fn capacity_in_bytes(&self) -> usize {
        self.dtype().size_in_bytes() * with_values!(self, values => values.capacity())
    }
}

mod sealed {
    #[allow(private_bounds)]
    pub trait Sealed: crate::simd::Transpose {}
}

/// A Rust type that tensors hold; sealed, one for each [`DType`].
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Element, Tensor};
///
/// fn largest<T: Element + PartialOrd>(x: &Tensor) -> module_tensor::Result<Option<T>> {
///     let elements = x.to_vec::<T>()?.into_iter();
///     Ok(elements.reduce(|a, b| if b > a { b } else { a }))
/// }
///
/// assert_eq!(<f32 as Element>::DTYPE, DType::F32);
/// assert_eq!(largest::<i64>(&Tensor::from([3_i64, 5, 4]))?, Some(5));
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::{Element, F8E4M3};
///
/// let mut data = u16::into_host(vec![1, 258]);
/// assert!(u8::host(&data).is_none());
/// if let Some(values) = u16::host_mut(&mut data) {
///     values[0] = 2;
/// }
/// assert_eq!(u16::from_host(data), Some(vec![2, 258]));
///
/// // Files are little-endian; their bytes are borrowed where memory is, too.
/// assert_eq!(<u16 as Element>::to_le_bytes(&[2, 258]), [2, 0, 2, 1]);
/// assert_eq!(<u16 as Element>::from_le_bytes(&[2, 0, 2, 1]), [2, 258]);
/// assert_eq!(u8::as_le_bytes(&[7, 8]), Some([7, 8].as_slice()));
/// assert_eq!(F8E4M3::in_bytes(&[0x38]), Some([F8E4M3::from_f32(1.0)].as_slice()));
/// assert!(bool::in_bytes(&[2]).is_none());
/// ```
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;

    /// Wraps a vector.
    fn into_host(values: Vec<Self>) -> HostData;

    /// The elements, if they are of this type.
    fn host(data: &HostData) -> Option<&Vec<Self>>;

    /// The elements, if they are of this type, to be written.
    fn host_mut(data: &mut HostData) -> Option<&mut Vec<Self>>;

    /// The elements, if they are of this type.
    fn from_host(data: HostData) -> Option<Vec<Self>>;

    /// The bytes of the elements, little-endian, as checkpoint files hold them.
    fn to_le_bytes(values: &[Self]) -> Vec<u8>;

    /// The elements from their little-endian bytes; bytes of an incomplete element are ignored.
    fn from_le_bytes(bytes: &[u8]) -> Vec<Self>;

    /// The elements in place of their little-endian bytes, if these are stored as in memory: aligned, on a little-endian
    /// machine, and valid whatever they are.
    fn in_bytes(bytes: &[u8]) -> Option<&[Self]>;

    /// The little-endian bytes of the elements in place, on a little-endian machine.
    fn as_le_bytes(values: &[Self]) -> Option<&[u8]>;
}

/// Converts the bytes of elements between the order of memory and that of files, which is little-endian.
///
/// `width` is the size of the numbers in an element.
fn swap_bytes(bytes: &mut [u8], width: usize) {
    if cfg!(target_endian = "big") && width > 1 {
        bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}

/// Whether memory stores numbers of this width as files do.
fn is_memory_order(width: usize) -> bool {
    cfg!(target_endian = "little") || width == 1
}

/// The bytes of elements that are numbers of type `$part`, or consist of them.
macro_rules! number_bytes {
    ($part:ty) => {
        fn to_le_bytes(values: &[Self]) -> Vec<u8> {
            let mut bytes = bytemuck::cast_slice(values).to_vec();
            swap_bytes(&mut bytes, size_of::<$part>());
            bytes
        }

        fn from_le_bytes(bytes: &[u8]) -> Vec<Self> {
            let mut values = vec![Self::default(); bytes.len() / size_of::<Self>()];
            let memory = bytemuck::cast_slice_mut(&mut values);
            memory.copy_from_slice(&bytes[..memory.len()]);
            swap_bytes(memory, size_of::<$part>());
            values
        }

        fn in_bytes(bytes: &[u8]) -> Option<&[Self]> {
            let values = bytemuck::try_cast_slice(bytes).ok();
            values.filter(|_| is_memory_order(size_of::<$part>()))
        }

        fn as_le_bytes(values: &[Self]) -> Option<&[u8]> {
            is_memory_order(size_of::<$part>()).then(|| bytemuck::cast_slice(values))
        }
    };
}

/// The bytes of booleans, which are 0 and 1; any other byte becomes 1.
macro_rules! bool_bytes {
    () => {
        fn to_le_bytes(values: &[Self]) -> Vec<u8> {
            values.iter().map(|&v| u8::from(v)).collect()
        }

        fn from_le_bytes(bytes: &[u8]) -> Vec<Self> {
            bytes.iter().map(|&byte| byte != 0).collect()
        }

        // Bytes other than 0 and 1 are not booleans.
        fn in_bytes(_: &[u8]) -> Option<&[Self]> {
            None
        }

        fn as_le_bytes(values: &[Self]) -> Option<&[u8]> {
            Some(bytemuck::cast_slice(values))
        }
    };
}

macro_rules! elements {
    ($($type:ty => $variant:ident by $bytes:ident($($arg:ty)?)),* $(,)?) => {$(
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

            $bytes!($($arg)?);
        }
    )*};
}

elements!(
    f32 => F32 by number_bytes(f32),
    f64 => F64 by number_bytes(f64),
    f16 => F16 by number_bytes(f16),
    bf16 => BF16 by number_bytes(bf16),
    i64 => I64 by number_bytes(i64),
    i32 => I32 by number_bytes(i32),
    u8 => U8 by number_bytes(u8),
    bool => Bool by bool_bytes(),
    i8 => I8 by number_bytes(u8),
    i16 => I16 by number_bytes(i16),
    u16 => U16 by number_bytes(u16),
    u32 => U32 by number_bytes(u32),
    F8E4M3 => F8E4M3 by number_bytes(u8),
    F8E5M2 => F8E5M2 by number_bytes(u8),
    Complex<f32> => Complex64 by number_bytes(f32),
);

impl HostData {
    /// The bytes of the elements, little-endian.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        with_values!(self, values => Element::to_le_bytes(values))
    }

    /// The memory of the elements as bytes, if any little-endian bytes may be written there: on a little-endian machine,
    /// and not for booleans.
    pub fn le_bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.dtype().size_in_bytes() > 1 && cfg!(target_endian = "big") {
            return None;
        }
        match self {
            Self::F32(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::F64(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::F16(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::BF16(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::I64(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::I32(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::U8(values) => Some(values),
            Self::I8(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::I16(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::U16(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::U32(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::F8E4M3(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::F8E5M2(values) => bytemuck::try_cast_slice_mut(values).ok(),
            Self::Complex64(values) => bytemuck::try_cast_slice_mut(values).ok(),
            // Bytes other than 0 and 1 are not booleans.
            Self::Bool(_) => None,
        }
    }

    /// Elements of a dtype from their little-endian bytes.
    pub fn from_le_bytes(dtype: DType, bytes: &[u8]) -> Self {
        dispatch!(dtype, T => T::into_host(<T as Element>::from_le_bytes(bytes)))
    }
}
