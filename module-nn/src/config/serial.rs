//! The serde items that `config!` needs, so that a crate that writes a configuration depends only on this one.
//!
//! They are re-exported one by one, not as the whole crate serde: otherwise the compiler would also see its private
//! `Option`, and print the full paths of the standard one in every message.

pub use serde::de::{
    Deserialize, Deserializer, Error as DeserializeError, MapAccess, Visitor as MapVisitor,
};
pub use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Reads the value of one argument, which must not have been given before.
pub fn read_field<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    name: &'static str,
    field: &mut Option<T>,
    map: &mut A,
) -> Result<(), A::Error> {
    if field.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *field = Some(map.next_value()?);
    Ok(())
}
