//! The beginning of the generated program.

pub(crate) const BEFORE: &str = r#"use std::sync::Arc;

use module_nn::prelude::*;
use module_nn::{FieldInfo, IndexMap};

fn parameter() -> Parameter {
    Parameter::new(Tensor::from(1.0_f32)).unwrap()
}

fn buffer() -> Buffer {
    Buffer::new(Tensor::from(1.0_f32))
}

fn scratch() -> Buffer {
    Buffer::non_persistent(Tensor::from(1.0_f32))
}

fn linear() -> Linear {
    Linear::new(2, 3).unwrap()
}

fn check(wrong: &mut Vec<String>, name: &str, module: &dyn Module, fields: &[FieldInfo], expected: [&[&str]; 5]) {
    let described = |field: &FieldInfo| {
        format!("{}{}={}", field.variant.map(|variant| format!("{variant}.")).unwrap_or_default(), field.name, field.key)
    };
    let actual: [Vec<String>; 5] = [
        module.named_parameters().map(|(path, _)| path).collect(),
        module.named_buffers().map(|(path, _)| path).collect(),
        module.state_dict().unwrap().keys().map(str::to_owned).collect(),
        module.named_modules().map(|(path, module)| format!("{path}: {}", module.kind())).collect(),
        fields.iter().map(described).collect(),
    ];
    let lists = ["named_parameters", "named_buffers", "state_dict", "named_modules", "FIELDS"];
    for ((list, actual), expected) in lists.iter().zip(actual).zip(expected) {
        if actual != expected {
            wrong.push(format!("{name}: {list}: {actual:?}\ninstead of {expected:?}"));
        }
    }
}

"#;
