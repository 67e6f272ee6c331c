/// A metadata value of a GGUF file.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::GgufValue;
///
/// let value = GgufValue::from(32_u32);
/// assert_eq!((value.as_u64(), value.as_f64(), value.as_str()), (Some(32), Some(32.0), None));
/// ```
///
/// ```
/// use module_core::checkpoint::{GgufArray, GgufValue};
///
/// assert_eq!((GgufValue::from(-1).as_i64(), GgufValue::from(-1).as_u64()), (Some(-1), None));
/// assert_eq!(GgufValue::from(true).as_bool(), Some(true));
///
/// let tokens = GgufArray::Str(vec!["<s>".to_owned(), "a".to_owned()]);
/// assert!(tokens.len() == 2 && !tokens.is_empty());
/// let tokens = GgufValue::from(tokens);
/// assert_eq!(tokens.as_strings().map(|tokens| &*tokens[1]), Some("a"));
/// assert_eq!(tokens.as_array().map(GgufArray::len), Some(2));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum GgufValue {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    /// Not called `String`, because the compiler would then print `std::string::String` in its messages.
    Str(String),
    Array(GgufArray),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// A metadata array of a GGUF file, whose elements have one type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum GgufArray {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    Str(Vec<String>),
    Array(Vec<GgufArray>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

impl GgufValue {
    /// A string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// A boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// A non-negative integer of any type.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U64(x) => Some(x),
            _ => u64::try_from(self.as_i64()?).ok(),
        }
    }

    /// An integer of any type that fits `i64`.
    pub fn as_i64(&self) -> Option<i64> {
        Some(match *self {
            Self::U8(x) => x.into(),
            Self::I8(x) => x.into(),
            Self::U16(x) => x.into(),
            Self::I16(x) => x.into(),
            Self::U32(x) => x.into(),
            Self::I32(x) => x.into(),
            Self::I64(x) => x,
            Self::U64(x) => return i64::try_from(x).ok(),
            _ => return None,
        })
    }

    /// A number of any type; integers from 2⁵³ on are rounded.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::F32(x) => Some(x.into()),
            Self::F64(x) => Some(x),
            Self::U64(x) => Some(x as f64),
            _ => self.as_i64().map(|x| x as f64),
        }
    }

    /// An array.
    pub fn as_array(&self) -> Option<&GgufArray> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }

    /// An array of strings.
    pub fn as_strings(&self) -> Option<&[String]> {
        match self {
            Self::Array(GgufArray::Str(texts)) => Some(texts),
            _ => None,
        }
    }
}

impl GgufArray {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(x) => x.len(),
            Self::I8(x) => x.len(),
            Self::U16(x) => x.len(),
            Self::I16(x) => x.len(),
            Self::U32(x) => x.len(),
            Self::I32(x) => x.len(),
            Self::F32(x) => x.len(),
            Self::Bool(x) => x.len(),
            Self::Str(x) => x.len(),
            Self::Array(x) => x.len(),
            Self::U64(x) => x.len(),
            Self::I64(x) => x.len(),
            Self::F64(x) => x.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<&str> for GgufValue {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<String> for GgufValue {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<bool> for GgufValue {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<u32> for GgufValue {
    fn from(x: u32) -> Self {
        Self::U32(x)
    }
}

impl From<i32> for GgufValue {
    fn from(x: i32) -> Self {
        Self::I32(x)
    }
}

impl From<u64> for GgufValue {
    fn from(x: u64) -> Self {
        Self::U64(x)
    }
}

impl From<f32> for GgufValue {
    fn from(x: f32) -> Self {
        Self::F32(x)
    }
}

impl From<GgufArray> for GgufValue {
    fn from(array: GgufArray) -> Self {
        Self::Array(array)
    }
}
