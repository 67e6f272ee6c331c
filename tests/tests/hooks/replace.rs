//! Replacing parts of models: all that are selected, or none.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;

use module_nn::inspect::{replace, replace_typed, wrap};
use module_nn::prelude::*;

#[derive(Module, Forward)]
enum Choice {
    Boxed(Box<dyn Layer>),
    Relu(ReLU),
}

#[derive(Module)]
struct Net {
    typed: Linear,
    boxed: Box<dyn Layer>,
    body: Sequential,
    list: Vec<Box<dyn Layer>>,
    choice: Choice,
    other: Choice,
    alone: Arc<Linear>,
    shared: Arc<Linear>,
}

fn linear() -> Linear {
    Linear::new(2, 2).unwrap()
}

fn net(shared: &Arc<Linear>) -> Net {
    Net {
        typed: linear(),
        boxed: Box::new(linear()),
        body: Sequential::new()
            .push(linear())
            .push(Sequential::new().push(linear())),
        list: vec![Box::new(linear())],
        choice: Choice::Boxed(Box::new(linear())),
        other: Choice::Relu(ReLU::new()),
        alone: Arc::new(linear()),
        shared: shared.clone(),
    }
}

fn kind(model: &Net, path: &str) -> &'static str {
    model.get_submodule(path).unwrap().kind()
}

fn relu(_: &str, _: &dyn Module) -> Result<Box<dyn Layer>> {
    Ok(Box::new(ReLU::new()))
}

#[test]
fn boxed_layers_become_any_others() {
    let shared = Arc::new(linear());
    let mut model = net(&shared);
    let paths = ["boxed", "body.0", "body.1.0", "list.0", "choice"];
    assert_eq!(replace(&mut model, paths, relu).unwrap(), paths);
    for path in paths {
        assert_eq!(kind(&model, path), "ReLU", "{path}");
    }
    assert_eq!(kind(&model, "typed"), "Linear");
    // A whole container, too.
    replace(&mut model, "body.1", relu).unwrap();
    assert_eq!(kind(&model, "body.1"), "ReLU");
    assert!(model.get_submodule("body.1.0").is_err());
}

#[test]
fn a_field_of_a_type_keeps_it() {
    let shared = Arc::new(linear());
    let mut model = net(&shared);
    let before = model.state_dict().unwrap();
    let error = replace(&mut model, ["boxed", "typed"], relu)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "replace: select = typed: is a field of type Linear, which cannot hold a ReLU; make the field a `Box<dyn Layer>`"
    );
    let error = replace(&mut model, "other", |_, _| Ok(Box::new(linear())))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("is a field of type ReLU, which cannot hold a Linear"),
        "{error}"
    );
    let error = wrap(&mut model, ["boxed", "typed"], |_, old| old)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("select = typed: is a field of type Linear, which can hold nothing else"),
        "{error}"
    );
    // Nothing was replaced, not even what could have been.
    assert_eq!(kind(&model, "boxed"), "Linear");
    assert!(model.state_dict().unwrap().keys().eq(before.keys()));
    // The same type fits everywhere, even in an `Arc` with a single owner.
    let wide =
        |_: &str, _: &dyn Module| -> Result<Box<dyn Layer>> { Ok(Box::new(Linear::new(2, 5)?)) };
    replace(&mut model, ["typed", "alone", "choice"], wide).unwrap();
    assert_eq!(model.typed.weight().shape().to_string(), "[5, 2]");
    assert_eq!(model.alone.weight().shape().to_string(), "[5, 2]");
}

#[test]
fn boxes_around_a_layer_do_not_count_and_other_pointers_do() {
    let shared = Arc::new(linear());
    let mut model = net(&shared);
    let twice = |_: &str, _: &dyn Module| -> Result<Box<dyn Layer>> {
        let once: Box<dyn Layer> = Box::new(Linear::new(2, 5)?);
        Ok(Box::new(once))
    };
    replace(&mut model, "typed", twice).unwrap();
    assert_eq!(model.typed.weight().shape().to_string(), "[5, 2]");

    let pointer =
        |_: &str, _: &dyn Module| -> Result<Box<dyn Layer>> { Ok(Box::new(shared.clone())) };
    let error = replace(&mut model, "typed", pointer)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("is a field of type Linear, which cannot hold a Linear behind a pointer"),
        "{error}"
    );
    assert_eq!(model.typed.weight().shape().to_string(), "[5, 2]");

    // An enum in a box is not the same as its payload.
    model.boxed = Box::new(Choice::Relu(ReLU::new()));
    let error = replace_typed(&mut model, "boxed", |_, _: &ReLU| Ok(ReLU::new()))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("select = boxed: is a Choice, not a ReLU"),
        "{error}"
    );
}

#[test]
fn typed_replacements_get_the_module_they_replace() {
    let shared = Arc::new(linear());
    let mut model = net(&shared);
    let paths = ["typed", "boxed", "body.0"];
    let made = replace_typed(&mut model, paths, |path, old: &Linear| {
        Linear::new(old.weight().shape()[1], path.len())
    });
    assert_eq!(made.unwrap(), paths);
    assert_eq!(
        model
            .get_parameter("body.0.weight")
            .unwrap()
            .shape()
            .to_string(),
        "[6, 2]"
    );
    let error = replace_typed(&mut model, "other", |_, _: &Linear| Ok(linear())).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("select = other: is a ReLU, not a Linear"),
        "{error}"
    );
    // A failure leaves everything unchanged.
    let weight = model.typed.weight().id();
    let failing = |path: &str, _: &Linear| match path {
        "typed" => Ok(linear()),
        _ => Err(Error::custom("no")),
    };
    assert_eq!(
        replace_typed(&mut model, ["typed", "boxed"], failing)
            .unwrap_err()
            .to_string(),
        "no"
    );
    assert_eq!(model.typed.weight().id(), weight);
}

#[test]
fn layers_are_wrapped_with_their_weights() {
    let shared = Arc::new(linear());
    let mut model = net(&shared);
    let before = model.get_parameter("body.0.weight").unwrap().id();
    wrap(&mut model, "body.0", |_, old| {
        Box::new(Sequential::from_iter([old]).push(ReLU::new()))
    })
    .unwrap();
    assert_eq!(model.get_parameter("body.0.0.weight").unwrap().id(), before);
    let y = model.body.call(Tensor::from([[1.0_f32, -1.0]])).unwrap();
    assert_eq!(y.shape().to_string(), "[1, 2]");
}

#[test]
fn what_cannot_be_selected_is_an_error() {
    let shared = Arc::new(linear());
    let mut model = net(&shared);
    let mut error = |select: &str| replace(&mut model, select, relu).unwrap_err().to_string();
    assert_eq!(
        error("boxd"),
        "`boxd` selects nothing; did you mean `boxed`?"
    );
    assert!(
        error("{body,body.0}")
            .contains("select = body.0: stands inside `body`, which is selected too")
    );
    let text = error("shared");
    assert!(text.contains("shared"), "{text}");
    drop(shared);
    // Nobody else holds it now.
    replace_typed(&mut model, "shared", |_, _: &Linear| Linear::new(2, 3)).unwrap();
    assert_eq!(model.shared.weight().shape().to_string(), "[3, 2]");
}
