//! Constructor arguments that JSON cannot represent: `"NaN"`, `"Infinity"` and `"-Infinity"` in place of a number are read
//! as these values, which other formats and Rust callers can pass.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

/// Reads a JSON value with the three strings for numbers.
pub(super) struct Extreme<'a>(pub(super) &'a Value);

impl<'de> IntoDeserializer<'de, Error> for Extreme<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Extreme<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(word) => match word.as_str() {
                "NaN" => visitor.visit_f64(f64::NAN),
                "Infinity" => visitor.visit_f64(f64::INFINITY),
                "-Infinity" => visitor.visit_f64(f64::NEG_INFINITY),
                _ => self.0.deserialize_any(visitor),
            },
            Value::Array(parts) => {
                let mut parts = SeqDeserializer::new(parts.iter().map(Self));
                let value = visitor.visit_seq(&mut parts)?;
                parts.end().map(|()| value)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| (name.as_str(), Self(value)));
                let mut fields = MapDeserializer::new(fields);
                let value = visitor.visit_map(&mut fields)?;
                fields.end().map(|()| value)
            }
            _ => self.0.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}
