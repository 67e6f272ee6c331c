//! Pairs in ascending key order, so that equal states give equal files.

use serde::ser::{Serialize, Serializer};

/// The values of a JSON object with their keys, which are unique and sorted.
///
/// A list rather than a tree: a tree for each value type would compile to thousands of lines.
pub(super) struct Sorted<'a, V>(pub(super) Vec<(&'a str, V)>);

impl<'a, V> Sorted<'a, V> {
    pub(super) fn new(pairs: impl Iterator<Item = (&'a str, V)>) -> Self {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (key, value) in pairs {
            keys.push((key, values.len()));
            values.push(Some(value));
        }
        sort(&mut keys);
        let mut sorted = Vec::with_capacity(keys.len());
        for (key, place) in keys {
            if let Some(value) = values.get_mut(place).and_then(Option::take) {
                sorted.push((key, value));
            }
        }
        Self(sorted)
    }
}

/// Sorts keys with their indices; separate from [`Sorted::new`], because sorting takes long to compile for each value type.
fn sort(keys: &mut [(&str, usize)]) {
    keys.sort_unstable();
}

impl<V: Serialize> Serialize for Sorted<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn keys_rise_and_keep_their_values() {
        let pairs = [("b", 2), ("", 0), ("a.10", 10), ("a.9", 9)];
        let sorted = Sorted::new(pairs.into_iter());
        assert_eq!(sorted.0, [("", 0), ("a.10", 10), ("a.9", 9), ("b", 2)]);
        let text = serde_json::to_string(&sorted).unwrap();
        assert_eq!(text, r#"{"":0,"a.10":10,"a.9":9,"b":2}"#);
    }
}
