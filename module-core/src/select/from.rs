//! Conversions into a selection.

use super::Select;
use super::expression::Expression;
use super::glob::Glob;

/// A pattern. A malformed one is an error when the selection is used; [`Select::glob`] reports it at once.
impl From<&str> for Select {
    fn from(pattern: &str) -> Self {
        Self(match Glob::new(pattern) {
            Ok(glob) => Expression::Glob(glob),
            Err(problem) => Expression::Malformed(pattern.to_owned(), problem),
        })
    }
}

impl From<&String> for Select {
    fn from(pattern: &String) -> Self {
        pattern.as_str().into()
    }
}

impl From<String> for Select {
    fn from(pattern: String) -> Self {
        pattern.as_str().into()
    }
}

impl From<&Self> for Select {
    fn from(select: &Self) -> Self {
        select.clone()
    }
}

/// Selects everything that any of the elements selects.
impl<T: Into<Self>> From<Vec<T>> for Select {
    fn from(patterns: Vec<T>) -> Self {
        patterns.into_iter().collect()
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for Select {
    fn from(patterns: [T; N]) -> Self {
        patterns.into_iter().collect()
    }
}

impl From<&[&str]> for Select {
    fn from(patterns: &[&str]) -> Self {
        patterns.iter().copied().collect()
    }
}

impl<T: Into<Self>> FromIterator<T> for Select {
    fn from_iter<I: IntoIterator<Item = T>>(patterns: I) -> Self {
        Self(Expression::Or(
            patterns.into_iter().map(|p| p.into().0).collect(),
        ))
    }
}
