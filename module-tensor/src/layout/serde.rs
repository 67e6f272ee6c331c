//! A shape as an argument of a configuration: one size, or a list of sizes.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{MAX_RANK, Shape};

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size or a list of sizes")
    }

    fn visit_u64<E: Error>(self, size: u64) -> Result<Shape, E> {
        let unfit = || E::invalid_value(Unexpected::Unsigned(size), &self);
        Ok(usize::try_from(size).map_err(|_| unfit())?.into())
    }

    fn visit_i64<E: Error>(self, size: i64) -> Result<Shape, E> {
        let unfit = || E::invalid_value(Unexpected::Signed(size), &self);
        Ok(usize::try_from(size).map_err(|_| unfit())?.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Shape, A::Error> {
        let mut sizes = Vec::new();
        while let Some(size) = given.next_element()? {
            if sizes.len() == MAX_RANK {
                return Err(A::Error::custom(format_args!(
                    "a shape has at most {MAX_RANK} sizes"
                )));
            }
            sizes.push(size);
        }
        Ok(sizes.into())
    }
}
