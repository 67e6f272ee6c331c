use std::fmt;

/// A field that is not part of the network's state and is printed in the module tree, in Python's notation: `True`, `0.5`,
/// `(3, 3)`.
///
/// # Example
///
/// ```
/// use module_core::{Identity, Module, ModuleExt};
///
/// #[derive(Module)]
/// struct Block {
///     inner: Identity,
///     eps: f64,
///     causal: bool,
/// }
///
/// let block = Block { inner: Identity::new(), eps: 1e-5, causal: true };
/// assert!(block.tree().to_string().starts_with("Block("));
/// ```
///
/// ```
/// use std::fmt;
///
/// use module_core::module::{Constant, Repr};
///
/// /// A choice that prints as in PyTorch.
/// enum Mode {
///     Bilinear,
/// }
///
/// impl Constant for Mode {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         match self {
///             Self::Bilinear => f.write_str("'bilinear'"),
///         }
///     }
/// }
///
/// assert_eq!(Repr(&Mode::Bilinear).to_string(), "'bilinear'");
/// ```
pub trait Constant: Send + Sync + 'static {
    /// Prints the value.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A constant as the module tree prints it, for your own `extra_repr`.
///
/// # Example
///
/// ```
/// use module_core::module::Repr;
///
/// assert_eq!(Repr(&1e-5).to_string(), "1e-05");
/// assert_eq!(Repr(&[3, 3]).to_string(), "(3, 3)");
/// assert_eq!(Repr(&true).to_string(), "True");
/// ```
#[derive(Clone, Copy)]
pub struct Repr<'a>(pub &'a dyn Constant);

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Writes values as a Python tuple: `(1, 2)`, and `(1,)` for one.
fn tuple(f: &mut fmt::Formatter<'_>, values: &[&dyn Constant]) -> fmt::Result {
    f.write_str("(")?;
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        value.fmt(f)?;
    }
    f.write_str(if values.len() == 1 { ",)" } else { ")" })
}

impl Constant for bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self { "True" } else { "False" })
    }
}

macro_rules! constant_by {
    ($format:literal: $($type:ty),*) => {$(
        impl Constant for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self)
            }
        }
    )*};
}

constant_by!("{}": u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, char, String, &'static str);
macro_rules! floats {
    ($($type:ty),*) => {$(
        /// `{:?}` keeps the `.0` of an integral value and switches to exponents where Python does, but writes them as
        /// `1e-5` and `1e16` for Python's `1e-05` and `1e+16`.
        impl Constant for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let text = format!("{self:?}");
                match text.split_once('e') {
                    _ if self.is_nan() => f.write_str("nan"),
                    Some((digits, exponent)) => {
                        let (sign, exponent) = match exponent.strip_prefix('-') {
                            Some(exponent) => ('-', exponent),
                            None => ('+', exponent),
                        };
                        write!(f, "{digits}e{sign}{exponent:0>2}")
                    }
                    None => f.write_str(&text),
                }
            }
        }
    )*};
}

floats!(f32, f64);

impl<T: Constant, const N: usize> Constant for [T; N] {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tuple(f, &self.each_ref().map(|value| value as &dyn Constant))
    }
}

impl<A: Constant, B: Constant> Constant for (A, B) {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tuple(f, &[&self.0, &self.1])
    }
}

impl<A: Constant, B: Constant, C: Constant> Constant for (A, B, C) {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tuple(f, &[&self.0, &self.1, &self.2])
    }
}
