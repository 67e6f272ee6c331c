use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A size for height and width: one number for both, or two.
///
/// # Example
///
/// ```
/// use module_nn::Pair;
///
/// assert_eq!(Pair::from(3), Pair::from([3, 3]));
/// assert_eq!(Pair::from([1, 2]).to_string(), "(1, 2)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pair(pub [usize; 2]);

impl From<usize> for Pair {
    fn from(size: usize) -> Self {
        Self([size, size])
    }
}

impl From<[usize; 2]> for Pair {
    fn from(sizes: [usize; 2]) -> Self {
        Self(sizes)
    }
}

impl From<(usize, usize)> for Pair {
    fn from((height, width): (usize, usize)) -> Self {
        Self([height, width])
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [height, width] = self.0;
        write!(f, "({height}, {width})")
    }
}

/// Refuses a size of 0, with its name and value.
pub(crate) fn positive(layer: &'static str, name: &'static str, size: usize) -> Result<()> {
    if size > 0 {
        return Ok(());
    }
    Err(Error::argument(layer, name, size, "must be at least 1"))
}

/// [`positive`] for both sizes of a pair.
pub(crate) fn positive_pair(layer: &'static str, name: &'static str, pair: Pair) -> Result<()> {
    if !pair.0.contains(&0) {
        return Ok(());
    }
    Err(Error::argument(
        layer,
        name,
        pair,
        "both must be at least 1",
    ))
}

/// The setters of a configuration: one for each argument of PyTorch's constructor, by its name.
macro_rules! setters {
    ($config:ident { $($(#[$doc:meta])* $name:ident: $type:ty,)* }) => {
        impl $config {$(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: impl Into<$type>) -> Self {
                self.$name = $name.into();
                self
            }
        )*}
    };
}
pub(crate) use setters;
