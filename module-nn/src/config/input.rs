//! The macro that writes the input of a layer whose call has optional arguments.

/// The input of a layer whose call has optional arguments, from a table of them: PyTorch's names, types and defaults.
///
/// ```text
/// input! {
///     /// What [`TransformerEncoder`] is called with.
///     pub struct TransformerEncoderInput {
///         required {
///             /// The sequence.
///             src,
///         }
///         tensors {
///             /// What the queries may not attend to.
///             mask: Tensor,
///         }
///         options {
///             /// Whether the mask is causal.
///             is_causal: Option<bool> = None,
///         }
///     }
/// }
/// ```
///
/// This writes the struct with public fields, `TransformerEncoderInput::new(src)`, a setter for everything else, and
/// `Tensors`, through which hooks see the tensors in table order.
macro_rules! input {
    (
        $(#[$doc:meta])*
        pub struct $input:ident {
            required {$($(#[$required_doc:meta])* $required:ident,)*}
            tensors {$($(#[$tensor_doc:meta])* $tensor:ident: $tensors:ty,)*}
            options {$($(#[$option_doc:meta])* $option:ident: $type:ty = $default:expr,)*}
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $input {
            $($(#[$required_doc])* pub $required: $crate::Tensor,)*
            $($(#[$tensor_doc])* pub $tensor: Option<$tensors>,)*
            $(
                $(#[$option_doc])*
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                pub $option: $type,
            )*
        }

        impl $input {
            /// Without the optional arguments.
            pub fn new($($required: $crate::Tensor),*) -> Self {
                Self { $($required,)* $($tensor: None,)* $($option: $default,)* }
            }

            $(
                $(#[$tensor_doc])*
                #[must_use]
                pub fn $tensor(mut self, $tensor: impl $crate::Argument<Option<$tensors>>) -> Self {
                    self.$tensor = $crate::Argument::argument($tensor);
                    self
                }
            )*

            $(
                $(#[$option_doc])*
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                #[must_use]
                pub fn $option(mut self, $option: impl $crate::Argument<$type>) -> Self {
                    self.$option = $crate::Argument::argument($option);
                    self
                }
            )*
        }

        impl $crate::hooks::Tensors for $input {
            fn for_each(&self, f: &mut dyn FnMut(&$crate::Tensor)) {
                $(self.$required.for_each(f);)*
                $(self.$tensor.for_each(f);)*
            }

            fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut $crate::Tensor)) {
                $(self.$required.for_each_mut(f);)*
                $(self.$tensor.for_each_mut(f);)*
            }
        }
    };
}
pub(crate) use input;
