use std::fmt;
use std::marker::PhantomData;

use super::{Field, Visitor, VisitorMut};

/// A field that is no part of the network's state and is printed in the module tree, in Python's
/// notation: `True`, `0.5`, `(3, 3)`.
pub trait Constant: Send + Sync + 'static {
    /// Prints the value.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
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
// `{:?}` keeps the `.0` of a whole number and writes small ones as `1e-5`, as Python does.
constant_by!("{:?}": f32, f64);

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

/// Types named one by one, because arrays and tuples of modules are modules: no blanket
/// implementation can tell the two apart.
macro_rules! constant_fields {
    ($($type:ty),*) => {$(
        constant_fields!(@one $type);
        constant_fields!(@one ($type, $type));
        constant_fields!(@one ($type, $type, $type));
        constant_fields!(@one [($type, $type)] N);
        constant_fields!(@one [$type] N);
    )*};
    (@one [$type:ty] N) => {
        #[diagnostic::do_not_recommend]
        impl<const N: usize> Field for [$type; N] {
            constant_fields!(@body);
        }
    };
    (@one $type:ty) => {
        #[diagnostic::do_not_recommend]
        impl Field for $type {
            constant_fields!(@body);
        }
    };
    (@body) => {
        fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
            visitor.constant(name, self);
        }

        fn visit_field_mut<'a>(&'a mut self, _name: &str, _visitor: &mut dyn VisitorMut<'a>) {}
    };
}

constant_fields!(
    bool,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    char,
    String,
    &'static str
);

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Send + Sync + 'static> Field for PhantomData<T> {
    fn visit_field<'a>(&'a self, _name: &str, _visitor: &mut dyn Visitor<'a>) {}

    fn visit_field_mut<'a>(&'a mut self, _name: &str, _visitor: &mut dyn VisitorMut<'a>) {}
}
