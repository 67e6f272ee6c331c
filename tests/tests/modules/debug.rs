//! `Debug` prints a module as its tree and a parameter as one line.
#![allow(clippy::unwrap_used)]

use std::fmt::Debug;
use std::sync::Arc;

use module_nn::module::ModuleId;
use module_nn::parametrize::{Parametrized, SpectralNorm, WeightNorm, spectral_norm, weight_norm};
use module_nn::prelude::*;
use module_nn::{Dict, IndexMap, List};

/// A struct with fields of the library.
#[derive(Module, Debug)]
struct Net {
    fc: Linear,
    bias: Bias,
    scale: Parameter,
    mean: Maybe<Buffer>,
    blocks: ModuleList<Box<dyn Layer>>,
    heads: IndexMap<String, Linear>,
    children: Vec<Box<dyn Module>>,
    shared: Arc<Dropout>,
    training: Training,
    marker: Marker,
}

fn net() -> Result<Net> {
    Ok(Net {
        fc: Linear::new(3, 2)?,
        bias: Maybe::Absent,
        scale: Parameter::new(Tensor::from([1.0_f32, 2.0]))?,
        mean: Buffer::new(Tensor::zeros([4, 5], DType::F64)?).into(),
        blocks: List::new(),
        heads: IndexMap::from([("a".to_owned(), Linear::new(1, 1)?)]),
        children: vec![Box::new(ReLU::new())],
        shared: Arc::new(Dropout::new(0.5)?),
        training: Training::new(),
        marker: Marker::new(),
    })
}

#[test]
fn a_struct_that_derives_both_prints_its_fields() {
    let expected = "Net { fc: Linear(in_features=3, out_features=2, bias=True), bias: Absent, \
        scale: Parameter(tensor([1., 2.], requires_grad=True)), \
        mean: Present(Buffer(shape=[4, 5], dtype=float64)), blocks: ModuleList(), \
        heads: {\"a\": Linear(in_features=1, out_features=1, bias=True)}, children: [ReLU()], \
        shared: Dropout(p=0.5, inplace=False), training: Training { training: true, frozen: false }, marker: Marker }";
    assert_eq!(format!("{:?}", net().unwrap()), expected);
}

/// The form of the library's own layers.
#[derive(Module)]
#[module(debug)]
struct Block {
    fc: Linear,
    eps: f64,
    #[module(skip)]
    _secret: Secret,
}

/// A type without `Debug`, which is not required.
struct Secret;

#[derive(Module)]
#[module(debug)]
enum Choice<A> {
    Layer(A),
    Both { first: A, second: A },
}

fn block() -> Block {
    Block {
        fc: Linear::new(3, 2).unwrap(),
        eps: 0.1,
        _secret: Secret,
    }
}

#[test]
fn the_attribute_prints_the_tree() {
    let text = "Block(\n  eps=0.1\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n)";
    assert_eq!(format!("{:?}", block()), text);
    assert_eq!(block().tree().to_string(), text);
    // A variant with one payload is that payload, in the tree as well.
    let choice = Choice::Layer(ReLU::new());
    assert_eq!(format!("{choice:?}"), "ReLU()");
    let (first, second) = (ReLU::new(), ReLU::new());
    let choice = Choice::Both { first, second };
    assert_eq!(format!("{choice:?}"), choice.tree().to_string());
}

#[test]
fn a_value_behind_a_pointer_prints_as_itself() {
    let text = "ReLU()";
    let layer: Box<dyn Layer> = Box::new(ReLU::new());
    let module: &dyn Module = layer.as_module();
    assert_eq!(format!("{layer:?}"), text);
    assert_eq!(format!("{module:?}"), text);
    assert_eq!(format!("{:?}", &*layer), text);
    let shared: Arc<dyn Layer> = Arc::new(ReLU::new());
    assert_eq!(format!("{shared:?}"), text);
}

#[test]
fn a_result_with_a_layer_can_be_asked_for_its_error() {
    let error = Conv2d::new(0, 1, 1).unwrap_err();
    assert!(error.to_string().contains("in_channels"), "{error}");
}

#[test]
fn a_large_parameter_prints_no_values() {
    let printed = |sizes: [usize; 2]| {
        let value = Tensor::zeros(sizes, DType::F32).unwrap();
        let parameter = Parameter::new(value.clone()).unwrap();
        [
            format!("{parameter:?}"),
            format!("{:?}", Buffer::new(value)),
        ]
    };
    for text in printed([512, 512]) {
        assert!(
            text.ends_with("(shape=[512, 512], dtype=float32)"),
            "{text}"
        );
    }
    for text in printed([1, 2]) {
        assert!(text.contains("tensor([[0., 0.]]"), "{text}");
    }
    let state = ExtraState::new(Tensor::zeros(100, DType::U8).unwrap());
    assert!(format!("{state:?}").starts_with("ExtraState(shape=["));
}

#[test]
fn parametrized_layers_print_their_trees() {
    let norm = weight_norm(Linear::new(3, 2).unwrap(), Some(0)).unwrap();
    assert_eq!(format!("{norm:?}"), norm.tree().to_string());
    let norm = spectral_norm(Linear::new(3, 2).unwrap(), &Default::default()).unwrap();
    assert_eq!(format!("{norm:?}"), norm.tree().to_string());
}

/// Compiles only where every type has `Debug`.
const fn all<T: Debug + ?Sized>() {}

#[test]
fn everything_that_a_module_is_made_of_has_debug() {
    all::<(Parameter, Buffer, ExtraState, Bias, Maybe<Buffer>)>();
    all::<(Training, Marker, ModuleId)>();
    all::<(Identity, Sequential, List<Linear>, Dict<Linear>)>();
    all::<(ParameterList, ParameterDict, List<Box<dyn Module>>)>();
    all::<dyn Module>();
    all::<dyn Layer>();
    all::<(Box<dyn Layer>, &dyn Module, Result<Box<dyn Layer>>)>();
    all::<Parametrized<Linear, SpectralNorm>>();
    all::<Parametrized<Conv2d, WeightNorm>>();
    all::<NonDynamicallyQuantizableLinear>();
}
