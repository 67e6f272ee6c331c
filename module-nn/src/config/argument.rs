use module_core::module::Number;

use crate::{OneOrEach, Padding, Shape, Sizes, Tensor, Weights};

/// A value for an argument of type `T`: a `T`, or anything else that PyTorch accepts there.
///
/// One number stands for the same size in every dimension, and a plain value for an argument that may be `None`.
///
/// # Example
///
/// ```
/// use module_nn::Argument;
/// use module_nn::prelude::*;
///
/// let conv = Conv2dConfig::new(1, 8, 3).stride((2, 1)).padding(1).build()?;
/// let norm = BatchNorm2dConfig::new(8).momentum(None).build()?;
///
/// // A function of your own accepts the same.
/// fn sizes(kernel_size: impl Argument<Sizes<2>>) -> [usize; 2] {
///     kernel_size.argument().get()
/// }
/// assert_eq!((sizes(3), sizes([3, 5])), ([3, 3], [3, 5]));
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given for an argument of type `{T}`",
    label = "expected `{T}`",
    note = "where PyTorch takes a string, there is an enum: `Padding::Same` for `\"same\"`",
    note = "where PyTorch takes a layer that it copies, give the configuration of the layer"
)]
pub trait Argument<T> {
    /// The argument.
    fn argument(self) -> T;
}

impl<T> Argument<T> for T {
    fn argument(self) -> T {
        self
    }
}

impl<T> Argument<Option<T>> for T {
    fn argument(self) -> Option<T> {
        Some(self)
    }
}

/// Arguments whose type has a `From` for them.
macro_rules! by_from {
    ($([$($generics:tt)*] $given:ty => $argument:ty;)*) => {$(
        impl<$($generics)*> Argument<$argument> for $given {
            fn argument(self) -> $argument {
                self.into()
            }
        }
    )*};
}

by_from! {
    [const N: usize, T: Copy] T => Sizes<N, T>;
    [const N: usize, T] [T; N] => Sizes<N, T>;
    [T] (T, T) => Sizes<2, T>;
    [T] (T, T, T) => Sizes<3, T>;
    [const N: usize] usize => Padding<N>;
    [const N: usize] [usize; N] => Padding<N>;
    [] usize => Shape;
    [const N: usize] [usize; N] => Shape;
    [] Vec<usize> => Shape;
    [] Tensor => Weights;
    [T: Copy] T => OneOrEach<T>;
    [T, const N: usize] [T; N] => OneOrEach<T>;
    [T, const N: usize] [T; N] => Vec<T>;
}

/// A number prints as it was given, an integer or not.
macro_rules! numbers {
    ($($given:ty),*) => {$(
        impl Argument<Number> for $given {
            fn argument(self) -> Number {
                self.into()
            }
        }

        impl Argument<Option<Number>> for $given {
            fn argument(self) -> Option<Number> {
                Some(self.into())
            }
        }
    )*};
}

numbers!(f64, i32, i64, usize);

impl<T: Copy> Argument<Option<OneOrEach<T>>> for T {
    fn argument(self) -> Option<OneOrEach<T>> {
        Some(self.into())
    }
}

impl<T, const N: usize> Argument<Option<OneOrEach<T>>> for [T; N] {
    fn argument(self) -> Option<OneOrEach<T>> {
        Some(self.into())
    }
}

impl Argument<OneOrEach<Option<usize>>> for usize {
    fn argument(self) -> OneOrEach<Option<usize>> {
        Some(self).into()
    }
}

impl<const N: usize> Argument<OneOrEach<Option<usize>>> for [usize; N] {
    fn argument(self) -> OneOrEach<Option<usize>> {
        self.map(Some).into()
    }
}

impl<const N: usize, T: Copy> Argument<Option<Sizes<N, T>>> for T {
    fn argument(self) -> Option<Sizes<N, T>> {
        Some(self.into())
    }
}

impl<const N: usize, T> Argument<Option<Sizes<N, T>>> for [T; N] {
    fn argument(self) -> Option<Sizes<N, T>> {
        Some(self.into())
    }
}

impl Argument<Option<Weights>> for Tensor {
    fn argument(self) -> Option<Weights> {
        Some(self.into())
    }
}
