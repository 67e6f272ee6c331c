use module_core::module::Number;
use module_core::{IndexMap, Result, Select};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Argument;

/// Values for layers whose path ends with a match of a regular expression; the first match counts: PEFT's `rank_pattern`
/// and `alpha_pattern`.
///
/// # Example
///
/// ```
/// use module_nn::lora::{LoraConfig, Patterns};
///
/// let config = LoraConfig::new().rank_pattern([("value", 2), (r"layers\.0\..*", 16)]);
/// assert_eq!(config.scaling("layers.0.value").0, 2);
/// assert_eq!(config.scaling("layers.0.query").0, 16);
/// assert_eq!(config.scaling("layers.1.query").0, 8);
///
/// let ranks = Patterns::from_iter([("value".to_owned(), 2), ("query".to_owned(), 4)]);
/// assert!(!ranks.is_empty());
/// assert_eq!(ranks.iter().collect::<Vec<_>>(), [("value", &2), ("query", &4)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Patterns<T>(IndexMap<String, T>);

impl<T> Patterns<T> {
    /// Makes an empty table.
    pub fn new() -> Self {
        Self(IndexMap::new())
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The expressions and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0
            .iter()
            .map(|(pattern, value)| (pattern.as_str(), value))
    }

    /// The value for a path; a malformed expression matches none.
    pub(super) fn of(&self, path: &str) -> Option<&T> {
        let matches = |pattern: &str| select(pattern).is_ok_and(|select| select.matches(path));
        let mut found = self.iter().filter(|(pattern, _)| matches(pattern));
        found.next().map(|(_, value)| value)
    }

    /// The first expression that matches none of the paths.
    pub(super) fn unmatched(&self, paths: &[String]) -> Option<&str> {
        let is_unmatched = |pattern: &&str| {
            let matches = |select: Select| paths.iter().any(|path| select.matches(path));
            !select(pattern).is_ok_and(matches)
        };
        self.iter().map(|(pattern, _)| pattern).find(is_unmatched)
    }

    pub(super) fn check(&self) -> Result<()> {
        self.iter()
            .try_for_each(|(pattern, _)| select(pattern).map(drop))
    }
}

/// An expression that matches only this text.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 4);
    for letter in text.chars() {
        if letter.is_ascii_punctuation() && !matches!(letter, '_' | '<' | '>') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// The pattern of one path, which matches no other path that ends with it.
pub(super) fn exact(path: &str) -> String {
    format!("^{}", escape(path))
}

fn select(pattern: &str) -> Result<Select> {
    Select::regex(&format!(r"^(.*\.)?({pattern})$"))
}

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Argument<Patterns<usize>> for [(&str, usize); N] {
    fn argument(self) -> Patterns<usize> {
        let pairs = self.into_iter();
        pairs
            .map(|(pattern, value)| (pattern.to_owned(), value))
            .collect()
    }
}

impl<U: Into<Number>, const N: usize> Argument<Patterns<Number>> for [(&str, U); N] {
    fn argument(self) -> Patterns<Number> {
        let pairs = self.into_iter();
        pairs
            .map(|(pattern, value)| (pattern.to_owned(), value.into()))
            .collect()
    }
}

impl<T> FromIterator<(String, T)> for Patterns<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Serialize> Serialize for Patterns<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (pattern, value) in &self.0 {
            map.serialize_entry(pattern, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patterns<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Entries<T> {
            type Value = Patterns<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("values by regular expressions")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut entries = IndexMap::new();
                while let Some((pattern, value)) = map.next_entry::<String, T>()? {
                    entries.insert(pattern, value);
                }
                Ok(Patterns(entries))
            }
        }

        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}
