//! The macro that writes a configuration from the table of its arguments.

use serde::de::{Deserialize, Error, MapAccess};

/// A configuration from the table of its arguments: PyTorch's names, types, defaults and what they
/// mean, each said once.
///
/// ```text
/// config! {
///     /// The arguments of [`Linear`].
///     pub struct LinearConfig => Linear {
///         required {
///             /// The size of each input.
///             in_features: usize,
///         }
///         optional {
///             /// Whether a bias is learned.
///             bias: bool = true,
///         }
///     }
/// }
/// ```
///
/// This writes the struct with public fields, `LinearConfig::new(in_features)`, a setter for each
/// optional argument, serde in which optional arguments may be missing and others are errors, and
/// with `=> Linear` also `Linear::new(in_features)`, which calls the `build` that is written below the
/// table. What is given and the defaults go through [`Argument`](crate::Argument), so that `0` is a
/// default of `Sizes<2>`; a default may name arguments above it. A configuration of layers over several
/// numbers of dimensions is `ConvConfig<const N: usize> => Conv`. A block without arguments is left out.
macro_rules! config {
    (@write
        [$(#[$doc:meta])*] $config:ident [$($n:ident)?]
        required {$($(#[$required_doc:meta])* $required:ident: $required_type:ty,)*}
        optional {$($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty = $default:expr,)*}
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $config $(<const $n: usize>)? {
            $($(#[$required_doc])* pub $required: $required_type,)*
            $(
                $(#[$optional_doc])*
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                pub $optional: $optional_type,
            )*
        }

        impl $(<const $n: usize>)? $config $(<$n>)? {
            /// PyTorch's defaults for the arguments that are optional.
            #[allow(clippy::new_without_default, clippy::too_many_arguments)]
            pub fn new($($required: impl $crate::Argument<$required_type>),*) -> Self {
                $(let $required: $required_type = $crate::Argument::argument($required);)*
                $(let $optional: $optional_type = $crate::Argument::argument($default);)*
                Self { $($required,)* $($optional,)* }
            }

            $(
                $(#[$optional_doc])*
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                #[must_use]
                pub fn $optional(
                    mut self,
                    $optional: impl $crate::Argument<$optional_type>,
                ) -> Self {
                    self.$optional = $crate::Argument::argument($optional);
                    self
                }
            )*
        }

        impl $(<const $n: usize>)? serde::Serialize for $config $(<$n>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let names: &[&str] = &[$(stringify!($required),)* $(stringify!($optional),)*];
                #[allow(unused_mut)]
                let mut fields = serializer.serialize_struct(stringify!($config), names.len())?;
                $(serde::ser::SerializeStruct::serialize_field(
                    &mut fields,
                    stringify!($required),
                    &self.$required,
                )?;)*
                $(serde::ser::SerializeStruct::serialize_field(
                    &mut fields,
                    stringify!($optional),
                    &self.$optional,
                )?;)*
                serde::ser::SerializeStruct::end(fields)
            }
        }

        impl<'de $(, const $n: usize)?> serde::Deserialize<'de> for $config $(<$n>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const NAMES: &[&str] = &[$(stringify!($required),)* $(stringify!($optional),)*];

                struct Arguments $(<const $n: usize>)?;

                impl<'de $(, const $n: usize)?> serde::de::Visitor<'de> for Arguments $(<$n>)? {
                    type Value = $config $(<$n>)?;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("the arguments of a ", stringify!($config)))
                    }

                    #[allow(unused_mut)]
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<Self::Value, A::Error> {
                        $(let mut $required: Option<$required_type> = None;)*
                        $(let mut $optional: Option<$optional_type> = None;)*
                        while let Some(name) = serde::de::MapAccess::next_key::<String>(&mut map)? {
                            match name.as_str() {
                                $(stringify!($required) => $crate::config::read_field(
                                    stringify!($required),
                                    &mut $required,
                                    &mut map,
                                )?,)*
                                $(stringify!($optional) => $crate::config::read_field(
                                    stringify!($optional),
                                    &mut $optional,
                                    &mut map,
                                )?,)*
                                name => return Err(serde::de::Error::unknown_field(name, NAMES)),
                            }
                        }
                        $(let Some($required) = $required else {
                            return Err(serde::de::Error::missing_field(stringify!($required)));
                        };)*
                        $(let $optional: $optional_type = match $optional {
                            Some($optional) => $optional,
                            None => $crate::Argument::argument($default),
                        };)*
                        Ok($config { $($required,)* $($optional,)* })
                    }
                }

                deserializer.deserialize_struct(stringify!($config), NAMES, Arguments $(::<$n>)?)
            }
        }
    };
    (@layer [] $($rest:tt)*) => {};
    (@layer [$layer:ident] $config:ident [$($n:ident)?]
        required {$($(#[$required_doc:meta])* $required:ident: $required_type:ty,)*}
    ) => {
        impl $(<const $n: usize>)? $layer $(<$n>)? {
            #[doc = concat!("With the defaults of [`", stringify!($config), "`].")]
            ///
            /// # Errors
            ///
            #[doc = concat!("As [`", stringify!($config), "::build`].")]
            pub fn new($($required: impl $crate::Argument<$required_type>),*) -> $crate::Result<Self> {
                $config::new($($required),*).build()
            }
        }
    };
    (
        $(#[$doc:meta])*
        pub struct $config:ident $(<const $n:ident: usize>)? $(=> $layer:ident)? {
            required $required:tt
            $(optional { $($optional:tt)* })?
        }
    ) => {
        $crate::config::config! { @write [$(#[$doc])*] $config [$($n)?]
            required $required
            optional { $($($optional)*)? }
        }
        $crate::config::config! { @layer [$($layer)?] $config [$($n)?] required $required }
    };
    (
        $(#[$doc:meta])*
        pub struct $config:ident $(<const $n:ident: usize>)? {
            $(optional { $($optional:tt)* })?
        }
    ) => {
        $crate::config::config! { @write [$(#[$doc])*] $config [$($n)?]
            required {}
            optional { $($($optional)*)? }
        }

        impl $(<const $n: usize>)? Default for $config $(<$n>)? {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}
pub(crate) use config;

/// Reads the value of one argument, which must not have been given before.
pub(crate) fn read_field<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
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
