//! The macro that writes a configuration from the table of its arguments.

/// A configuration from the table of its arguments: PyTorch's names, types, defaults and meanings, each stated once. All
/// layers and losses use it.
///
/// It writes
///
/// - the struct, with the given visibility and public fields, `Clone`, `Debug` and `PartialEq`,
/// - `new` with the required arguments, and a setter for each optional one,
/// - serde, in which optional arguments may be missing and unknown ones are errors,
/// - with `=> Scale` the method `build`, which calls the [`Build`](crate::Build) implementation below the table, and
///   `Scale::new` with the required arguments, if there are any.
///
/// Values and defaults are converted by [`Argument`](crate::Argument), so that `0` can be a default of `Sizes<2>`; a
/// default may refer to arguments above it. A configuration of layers with different numbers of dimensions is
/// `ConvConfig<const N: usize> => Conv`. Omit a block without arguments. The functions of the module
/// [`config`](mod@crate::config) check arguments.
///
/// # Example
///
/// ```
/// use module_nn::config::{check_above_zero, check_positive};
/// use module_nn::init::Constant;
/// use module_nn::prelude::*;
///
/// /// Multiplies each feature by a number that is learned.
/// #[derive(Module)]
/// #[module(debug)]
/// pub struct Scale {
///     features: usize,
///     weight: Parameter,
/// }
///
/// module_nn::config! {
///     /// The arguments of [`Scale`].
///     pub struct ScaleConfig => Scale {
///         required {
///             /// The number of features.
///             features: usize,
///         }
///         optional {
///             /// What the numbers are at first.
///             start: f64 = 1.0,
///         }
///     }
/// }
///
/// impl Build for ScaleConfig {
///     type Output = Scale;
///
///     fn build(&self) -> Result<Scale> {
///         check_positive("Scale", "features", self.features)?;
///         check_above_zero("Scale", "start", self.start)?;
///         Ok(Scale {
///             features: self.features,
///             weight: Parameter::with_init(self.features, Constant(self.start))?,
///         })
///     }
/// }
///
/// impl Forward for Scale {
///     type Output = Tensor;
///
///     fn forward(&self, input: Tensor) -> Result<Tensor> {
///         input.mul(&self.weight.tensor())
///     }
/// }
///
/// let scale = ScaleConfig::new(2).start(0.5).build()?;
/// assert_eq!(scale.call(Tensor::from([2.0_f32, 4.0]))?.to_vec::<f32>()?, [1.0, 2.0]);
/// assert_eq!(format!("{:?}", Scale::new(3)?), "Scale(features=3)");
/// assert!(Scale::new(0).is_err());
/// # Ok::<(), Error>(())
/// ```
#[macro_export]
macro_rules! config {
    (@write
        [$(#[$doc:meta])*] [$vis:vis] $config:ident [$($n:ident)?]
        required {$($(#[$required_doc:meta])* $required:ident: $required_type:ty,)*}
        optional {$($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty = $default:expr,)*}
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $config $(<const $n: usize>)? {
            $($(#[$required_doc])* pub $required: $required_type,)*
            $(
                $(#[$optional_doc])*
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                pub $optional: $optional_type,
            )*
        }

        impl $(<const $n: usize>)? $config $(<$n>)? {
            /// PyTorch's defaults for the optional arguments.
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

        impl $(<const $n: usize>)? $crate::config::serial::Serialize for $config $(<$n>)? {
            fn serialize<S: $crate::config::serial::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                let names: &[&str] = &[$(stringify!($required),)* $(stringify!($optional),)*];
                #[allow(unused_mut)]
                let mut fields = serializer.serialize_struct(stringify!($config), names.len())?;
                $($crate::config::serial::SerializeStruct::serialize_field(
                    &mut fields,
                    stringify!($required),
                    &self.$required,
                )?;)*
                $($crate::config::serial::SerializeStruct::serialize_field(
                    &mut fields,
                    stringify!($optional),
                    &self.$optional,
                )?;)*
                $crate::config::serial::SerializeStruct::end(fields)
            }
        }

        impl<'de $(, const $n: usize)?> $crate::config::serial::Deserialize<'de> for $config $(<$n>)? {
            fn deserialize<D: $crate::config::serial::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                const NAMES: &[&str] = &[$(stringify!($required),)* $(stringify!($optional),)*];

                struct Arguments $(<const $n: usize>)?;

                impl<'de $(, const $n: usize)?> $crate::config::serial::MapVisitor<'de> for Arguments $(<$n>)? {
                    type Value = $config $(<$n>)?;

                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str(concat!("the arguments of a ", stringify!($config)))
                    }

                    #[allow(unused_mut)]
                    fn visit_map<A: $crate::config::serial::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> ::core::result::Result<Self::Value, A::Error> {
                        $(let mut $required: ::core::option::Option<$required_type> = None;)*
                        $(let mut $optional: ::core::option::Option<$optional_type> = None;)*
                        while let Some(name) =
                            $crate::config::serial::MapAccess::next_key::<::std::string::String>(&mut map)?
                        {
                            match name.as_str() {
                                $(stringify!($required) => $crate::config::serial::read_field(
                                    stringify!($required),
                                    &mut $required,
                                    &mut map,
                                )?,)*
                                $(stringify!($optional) => $crate::config::serial::read_field(
                                    stringify!($optional),
                                    &mut $optional,
                                    &mut map,
                                )?,)*
                                name => {
                                    return Err($crate::config::serial::DeserializeError::unknown_field(name, NAMES));
                                }
                            }
                        }
                        $(let Some($required) = $required else {
                            let name = stringify!($required);
                            return Err($crate::config::serial::DeserializeError::missing_field(name));
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
    (@build [] $($rest:tt)*) => {};
    (@build [$layer:ident] $config:ident [$($n:ident)?]) => {
        impl $(<const $n: usize>)? $config $(<$n>)? {
            #[doc = concat!("The [`", stringify!($layer), "`].")]
            ///
            /// # Errors
            ///
            /// Those that [`Build`](module_nn::Build) of this configuration lists.
            pub fn build(&self) -> $crate::Result<$layer $(<$n>)?> {
                $crate::Build::build(self)
            }
        }
    };
    (@new [] $($rest:tt)*) => {};
    (@new [$layer:ident] $config:ident [$($n:ident)?]
        required {$($(#[$required_doc:meta])* $required:ident: $required_type:ty,)*}
    ) => {
        impl $(<const $n: usize>)? $layer $(<$n>)? {
            #[doc = concat!("With the defaults of [`", stringify!($config), "`].")]
            ///
            /// # Errors
            ///
            #[doc = concat!("As [`", stringify!($config), "::build`].")]
            #[allow(clippy::too_many_arguments)]
            pub fn new($($required: impl $crate::Argument<$required_type>),*) -> $crate::Result<Self> {
                $crate::Build::build(&$config::new($($required),*))
            }
        }
    };
    (
        $(#[$doc:meta])*
        $vis:vis struct $config:ident $(<const $n:ident: usize>)? $(=> $layer:ident)? {
            required $required:tt
            $(optional { $($optional:tt)* })?
        }
    ) => {
        $crate::config! { @write [$(#[$doc])*] [$vis] $config [$($n)?]
            required $required
            optional { $($($optional)*)? }
        }
        $crate::config! { @build [$($layer)?] $config [$($n)?] }
        $crate::config! { @new [$($layer)?] $config [$($n)?] required $required }
    };
    (
        $(#[$doc:meta])*
        $vis:vis struct $config:ident $(<const $n:ident: usize>)? $(=> $layer:ident)? {
            $(optional { $($optional:tt)* })?
        }
    ) => {
        $crate::config! { @write [$(#[$doc])*] [$vis] $config [$($n)?]
            required {}
            optional { $($($optional)*)? }
        }
        $crate::config! { @build [$($layer)?] $config [$($n)?] }

        impl $(<const $n: usize>)? Default for $config $(<$n>)? {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}
pub(crate) use config;
