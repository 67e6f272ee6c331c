//! Vectors, arrays, tuples and maps of modules or parameters are modules: a list of layers
//! registers its layers, under `0`, `1`, … or the map's keys.

use indexmap::IndexMap;

use super::{Describe, FieldInfo, Member, Module, Visitor, VisitorMut};

/// Digits of an index, on the stack, because walking a long list must not allocate.
struct IndexName {
    digits: [u8; 20],
    start: usize,
}

impl IndexName {
    fn new(mut index: usize) -> Self {
        let mut name = Self {
            digits: [b'0'; 20],
            start: 20,
        };
        loop {
            name.start -= 1;
            // A remainder of ten fits a byte.
            name.digits[name.start] = b'0' + (index % 10) as u8;
            index /= 10;
            if index == 0 {
                return name;
            }
        }
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.digits[self.start..]).unwrap_or_default()
    }
}

fn visit_list<'a, T: Member>(items: &'a [T], visitor: &mut dyn Visitor<'a>) {
    for (i, item) in items.iter().enumerate() {
        item.visit_field(IndexName::new(i).as_str(), visitor);
    }
}

fn visit_list_mut<'a, T: Member>(items: &'a mut [T], visitor: &mut dyn VisitorMut<'a>) {
    for (i, item) in items.iter_mut().enumerate() {
        item.visit_field_mut(IndexName::new(i).as_str(), visitor);
    }
}

impl<T: Member> Module for Vec<T> {
    fn kind(&self) -> &'static str {
        T::LIST
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visit_list(self, visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        visit_list_mut(self, visitor);
    }
}

impl<T: Member, const N: usize> Module for [T; N] {
    fn kind(&self) -> &'static str {
        T::LIST
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visit_list(self, visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        visit_list_mut(self, visitor);
    }
}

impl<T: Member> Module for IndexMap<String, T> {
    fn kind(&self) -> &'static str {
        T::DICT
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        for (name, item) in self {
            item.visit_field(name, visitor);
        }
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        for (name, item) in self {
            item.visit_field_mut(name, visitor);
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+);)+) => {$(
        impl<$($name: Member),+> Module for ($($name,)+) {
            fn kind(&self) -> &'static str {
        "ModuleList"
    }

            fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
                $(self.$index.visit_field(stringify!($index), visitor);)+
            }

            fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
                $(self.$index.visit_field_mut(stringify!($index), visitor);)+
            }
        }

        impl<$($name: Member),+> Describe for ($($name,)+) {
            const FIELDS: &'static [FieldInfo] =
                &[$(FieldInfo::new("", stringify!($index), stringify!($index), $name::ROLE),)+];
        }
    )+};
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
