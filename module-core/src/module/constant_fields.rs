//! Types whose fields are constants.

use std::marker::PhantomData;

use super::{Field, FieldRole, Number, Visitor, VisitorMut};

/// Types are listed one by one, because arrays and tuples of modules are modules: a blanket implementation cannot tell the
/// two apart.
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
        const ROLE: FieldRole = FieldRole::Constant;

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

constant_fields!(@one Number);

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Send + Sync + 'static> Field for PhantomData<T> {
    const ROLE: FieldRole = FieldRole::Marker;

    fn visit_field<'a>(&'a self, _name: &str, _visitor: &mut dyn Visitor<'a>) {}

    fn visit_field_mut<'a>(&'a mut self, _name: &str, _visitor: &mut dyn VisitorMut<'a>) {}
}
