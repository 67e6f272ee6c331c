//! Structs of optional arguments, which are all built one way: `new` takes what has no default, and a
//! setter of the same name as PyTorch's keyword changes each of the others.

/// Values accepted for an option of type `T`: a `T`, or a bare `T` for an `Option<T>`. Some types accept more, such as an
/// array of sizes for [`Padding`](crate::Padding).
///
/// # Example
///
/// ```
/// use module_tensor::{AttentionOptions, ConvOptions, Tensor};
///
/// let conv = ConvOptions::new().padding([1, 1]);
/// let mask = Tensor::from([[true, false]]);
/// let attention = AttentionOptions::new().attn_mask(&mask).scale(0.5);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::OptionValue;
///
/// /// A setter for an optional number.
/// fn scale(value: impl OptionValue<Option<f64>>) -> Option<f64> {
///     value.into_value()
/// }
///
/// assert_eq!((scale(0.5), scale(Some(0.5)), scale(None)), (Some(0.5), Some(0.5), None));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given for an option of type `{T}`",
    label = "expected `{T}`"
)]
pub trait OptionValue<T> {
    /// The value of the option.
    fn into_value(self) -> T;
}

impl<T> OptionValue<T> for T {
    #[inline]
    fn into_value(self) -> T {
        self
    }
}

impl<T> OptionValue<Option<T>> for T {
    #[inline]
    fn into_value(self) -> Option<T> {
        Some(self)
    }
}

/// Writes an options struct from the table of its fields: the struct, `new` and a setter for each field with a default.
#[doc(hidden)]
#[macro_export]
macro_rules! options {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(<const $size:ident: usize>)? $(<$life:lifetime>)? {
            $(required { $($(#[$required_meta:meta])* $required:ident: $required_type:ty,)* })?
            optional { $($(#[$option_meta:meta])* $option:ident: $option_type:ty = $default:expr,)* }
        }
    ) => {
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $name $(<const $size: usize>)? $(<$life>)? {
            $($($(#[$required_meta])* pub $required: $required_type,)*)?
            $($(#[$option_meta])* pub $option: $option_type,)*
        }

        impl $(<const $size: usize>)? $(<$life>)? $name $(<$size>)? $(<$life>)? {
            /// The options with their defaults.
            #[inline]
            pub fn new($($($required: $required_type),*)?) -> Self {
                Self {
                    $($option: $default,)*
                    $($($required,)*)?
                }
            }

            $(
                $(#[$option_meta])*
                #[inline]
                #[must_use]
                pub fn $option(mut self, $option: impl $crate::OptionValue<$option_type>) -> Self {
                    self.$option = $crate::OptionValue::into_value($option);
                    self
                }
            )*
        }

        $crate::options! { @default [$($($required)*)?] $name $(<const $size: usize>)? $(<$life>)? }
    };
    (@default [] $name:ident $(<const $size:ident: usize>)? $(<$life:lifetime>)?) => {
        impl $(<const $size: usize>)? $(<$life>)? Default for $name $(<$size>)? $(<$life>)? {
            #[inline]
            fn default() -> Self {
                Self::new()
            }
        }
    };
    (@default [$($required:ident)+] $($rest:tt)*) => {};
}
