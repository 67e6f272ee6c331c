use module_core::module::{Layer, Visitor, VisitorMut};
use module_core::{ExtraState, Forward, Marker, Module, ModuleExt, Parameter, Result, Tensor};

use super::{Parametrization, WithWeight, parametrize};
use crate::layers::Identity;

/// A layer with a member of every kind that has a separate visitor method.
#[derive(Module)]
struct Tagged {
    weight: Parameter,
    tag: ExtraState,
    marker: Marker,
    activation: Box<dyn Layer>,
}

impl Forward for Tagged {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.forward_with(x, &self.weight.tensor())
    }
}

impl WithWeight for Tagged {
    const PARAMETRIZED: &'static str = "ParametrizedTagged";

    fn own_weight(&self) -> &Parameter {
        &self.weight
    }

    fn forward_with(&self, x: Tensor, weight: &Tensor) -> Result<Tensor> {
        self.activation.forward(x.mul(weight)?)
    }
}

#[derive(Module)]
struct Same {
    marker: Marker,
}

impl Parametrization for Same {
    fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
        Ok(originals[0].clone())
    }
}

fn tagged() -> Tagged {
    Tagged {
        weight: Parameter::new(Tensor::from(2.0_f32)).unwrap(),
        tag: ExtraState::new(Tensor::from(7_i64)),
        marker: Marker::new(),
        activation: Box::new(Identity::new()),
    }
}

fn same() -> Same {
    Same {
        marker: Marker::new(),
    }
}

#[test]
fn a_parametrized_layer_saves_and_loads_its_extra_state() {
    let layer = parametrize(tagged(), same()).unwrap();
    let state = layer.state_dict().unwrap();
    let keys: Vec<&str> = state.keys().collect();
    assert_eq!(keys, ["_extra_state", "parametrizations.weight.original"]);

    let mut other = tagged();
    other.tag = ExtraState::new(Tensor::from(0_i64));
    let other = parametrize(other, same()).unwrap();
    assert!(other.load_state_dict(&state).unwrap().not_loaded.is_empty());
    let tag = other.remove().unwrap().tag.tensor();
    assert_eq!(tag.item::<i64>().unwrap(), 7);
}

#[derive(Default)]
struct Markers(usize);

impl<'a> Visitor<'a> for Markers {
    fn marker(&mut self, _marker: &'a Marker) {
        self.0 += 1;
    }
}

#[test]
fn a_parametrized_layer_shows_its_marker() {
    let mut markers = Markers::default();
    parametrize(tagged(), same()).unwrap().visit(&mut markers);
    assert_eq!(markers.0, 1);
}

/// Takes the boxed layers, so that `module` does not see them.
#[derive(Default)]
struct Boxes {
    layers: Vec<String>,
    modules: Vec<String>,
}

impl<'a> VisitorMut<'a> for Boxes {
    fn layer(
        &mut self,
        name: &str,
        _layer: &'a mut Box<dyn Layer>,
    ) -> Option<&'a mut Box<dyn Layer>> {
        self.layers.push(name.to_owned());
        None
    }

    fn module(&mut self, name: &str, _module: &'a mut dyn Module) {
        self.modules.push(name.to_owned());
    }
}

#[test]
fn a_parametrized_layer_lends_its_boxed_layers() {
    let mut boxes = Boxes::default();
    let mut layer = parametrize(tagged(), same()).unwrap();
    layer.visit_mut(&mut boxes);
    assert_eq!(boxes.layers, ["activation"]);
    assert_eq!(boxes.modules, ["parametrizations"]);
}
