//! Layers behind `dyn`, with the framework's trait and with a user's.

use module_nn::prelude::*;

use crate::show::parameter;

trait Activation: Module {
    fn slope(&self) -> f32;
}

/// An object-safe trait whose objects can be called, because it is a `Forward`.
trait Block: Forward<Tensor, Output = Tensor> {
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
    blocks: Vec<Box<dyn Block>>,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.blocks.iter().try_fold(x, |x, block| block.call(x))
    }
}

#[test]
fn runs() {
    let mut net = Net {
        layer: Box::new(crate::show::linear()),
        layers: vec![Box::new(crate::show::linear())],
        act: Box::new(PRelu {
            weight: parameter(),
        }),
        any: std::sync::Arc::new(PRelu {
            weight: parameter(),
        }),
        blocks: vec![Box::new(crate::show::linear())],
    };
    let names: Vec<_> = crate::show::shown(&net)
        .into_iter()
        .filter(|line| line.contains("eight") || line.contains(": "))
        .collect();
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
            "blocks: ModuleList",
            "blocks.0: Linear",
            "blocks.0.weight",
        ]
    );
    assert_eq!(net.act.slope(), 0.25);
    let x = Tensor::zeros([1, 2], DType::F32).unwrap();
    assert_eq!(
        net.call(x).unwrap().shape().to_vec(),
        [1, net.blocks[0].width()]
    );
    let error = net
        .call(Tensor::zeros([1, 5], DType::F32).unwrap())
        .unwrap_err();
    assert!(
        error.to_string().starts_with("blocks.0 (Linear)"),
        "{error}"
    );
    assert!(!crate::show::shown_mut(&mut net).is_empty());
}
