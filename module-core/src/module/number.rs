use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::Constant;

/// A numeric argument of a layer, which prints the way it was given, as in PyTorch: `2` for an integer, `2.0` for a
/// floating-point number.
///
/// Numbers are equal if their values are.
///
/// # Example
///
/// ```
/// use module_core::module::{Number, Repr};
///
/// let (whole, fraction) = (Number::from(2), Number::from(2.0));
/// assert_eq!(whole, fraction);
/// assert_eq!(*whole * 1.5, 3.0);
/// assert_eq!((Repr(&whole).to_string(), Repr(&fraction).to_string()), ("2".into(), "2.0".into()));
/// assert_eq!(serde_json::to_string(&whole)?, "2");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// ```
/// use module_core::module::Number;
///
/// assert_eq!(Number::from(3_usize).get(), 3.0);
/// ```
#[derive(Clone, Copy)]
pub struct Number {
    value: f64,
    /// Given as an integer.
    is_integer: bool,
}

impl Number {
    /// The value.
    pub fn get(self) -> f64 {
        self.value
    }
}

impl Deref for Number {
    type Target = f64;

    fn deref(&self) -> &f64 {
        &self.value
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        let is_integer = false;
        Self { value, is_integer }
    }
}

macro_rules! from_integers {
    ($($type:ty),*) => {$(
        impl From<$type> for Number {
            fn from(value: $type) -> Self {
                let (value, is_integer) = (value as f64, true);
                Self { value, is_integer }
            }
        }
    )*};
}

from_integers!(i32, i64, u32, u64, usize);

impl From<Number> for f64 {
    fn from(number: Number) -> Self {
        number.value
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// The value as it appears in errors.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Constant::fmt(self, f)
    }
}

impl Constant for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_integer {
            true => write!(f, "{:.0}", self.value),
            false => Constant::fmt(&self.value, f),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A number that does not fit `i64` is read as a floating-point number with the same value.
        match self.is_integer && self.value.abs() < 2.0_f64.powi(63) {
            true => serializer.serialize_i64(self.value as i64),
            false => serializer.serialize_f64(self.value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Given;

        impl Visitor<'_> for Given {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(value.into())
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(value.into())
            }

            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(value.into())
            }
        }

        deserializer.deserialize_any(Given)
    }
}
