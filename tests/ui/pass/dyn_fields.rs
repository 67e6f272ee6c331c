//! Layers behind `dyn`, by the framework's trait and by the user's own.

use module_nn::prelude::*;

#[path = "../show.rs"]
mod show;
use show::parameter;

trait Activation: Module {
    fn slope(&self) -> f32;
}

/// An object-safe trait whose objects can be called: `Layer` as the supertrait brings `forward`.
trait Block: Layer {
    fn width(&self) -> usize;
}

impl Block for Linear {
    fn width(&self) -> usize {
        3
    }
}

#[derive(Module)]
struct PRelu {
    weight: Parameter,
}

impl Activation for PRelu {
    fn slope(&self) -> f32 {
        0.25
    }
}

#[derive(Module)]
struct Net {
    layer: Box<dyn Layer>,
    layers: Vec<Box<dyn Layer>>,
    act: Box<dyn Activation>,
    any: std::sync::Arc<dyn Module>,
}

fn main() {
    let mut net = Net {
        layer: Box::new(show::linear()),
        layers: vec![Box::new(show::linear())],
        act: Box::new(PRelu { weight: parameter() }),
        any: std::sync::Arc::new(PRelu { weight: parameter() }),
    };
    let names: Vec<_> =
        show::shown(&net).into_iter().filter(|line| line.contains("eight") || line.contains(": ")).collect();
    assert_eq!(
        names,
        [
            "layer: Linear",
            "layer.weight",
            "layers: ModuleList",
            "layers.0: Linear",
            "layers.0.weight",
            "act: PRelu",
            "act.weight",
            "any: PRelu",
            "any.weight",
        ]
    );
    assert_eq!(net.act.slope(), 0.25);
    assert!(!show::shown_mut(&mut net).is_empty());
}
