use std::fmt;

use module_core::module::Repr;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// One value for all dimensions, or one for each, for layers whose number of dimensions is not fixed.
///
/// # Example
///
/// ```
/// use module_nn::OneOrEach;
///
/// let factor: OneOrEach<f64> = serde_json::from_str("[2.0, 1.5]")?;
/// assert_eq!(factor, OneOrEach::from([2.0, 1.5]));
/// assert_eq!(factor.to_string(), "(2.0, 1.5)");
/// assert_eq!(OneOrEach::from(2.0).to_string(), "2.0");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or a list of numbers")]
pub enum OneOrEach<T> {
    /// One for all dimensions.
    One(T),
    /// One for each.
    Each(Vec<T>),
}

impl<T: Copy> OneOrEach<T> {
    /// One value for each of `count` dimensions.
    ///
    /// # Errors
    ///
    /// A different number of values, with the name of the layer and of its argument.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::OneOrEach;
    ///
    /// assert_eq!(OneOrEach::from(2_usize).get("Upsample", "size", 3)?, [2, 2, 2]);
    /// let two: OneOrEach<usize> = OneOrEach::Each(vec![2, 4]);
    /// assert!(two.get("Upsample", "size", 3).is_err());
    /// # Ok::<(), module_nn::Error>(())
    /// ```
    pub fn get(&self, layer: &'static str, name: &'static str, count: usize) -> Result<Vec<T>>
    where
        Self: fmt::Display,
    {
        match self {
            Self::One(value) => Ok(vec![*value; count]),
            Self::Each(values) if values.len() == count => Ok(values.clone()),
            Self::Each(_) => {
                let problem = format!("must be one number or {count}");
                Err(Error::argument(layer, name, self, problem))
            }
        }
    }

    /// The given values.
    pub(crate) fn given(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        }
    }
}

impl<T: Copy> From<T> for OneOrEach<T> {
    fn from(value: T) -> Self {
        Self::One(value)
    }
}

impl<T, const N: usize> From<[T; N]> for OneOrEach<T> {
    fn from(values: [T; N]) -> Self {
        Self::Each(values.into())
    }
}

/// The given values as Python prints them.
macro_rules! display {
    ($($type:ty: $text:expr;)*) => {$(
        impl fmt::Display for OneOrEach<$type> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let text: fn(&$type) -> String = $text;
                match self {
                    Self::One(value) => f.write_str(&text(value)),
                    Self::Each(values) => tuple(f, values.iter().map(text)),
                }
            }
        }
    )*};
}

display! {
    usize: |size| size.to_string();
    isize: |size| size.to_string();
    f64: |number| Repr(number).to_string();
    Option<usize>: |size| size.map_or("None".to_owned(), |size| size.to_string());
}

/// Values as a Python tuple.
pub(crate) fn tuple(
    f: &mut fmt::Formatter<'_>,
    values: impl ExactSizeIterator<Item: fmt::Display>,
) -> fmt::Result {
    let end = if values.len() == 1 { ",)" } else { ")" };
    f.write_str("(")?;
    for (i, value) in values.enumerate() {
        write!(f, "{}{value}", if i == 0 { "" } else { ", " })?;
    }
    f.write_str(end)
}
