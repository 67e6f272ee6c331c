//! Layers built from existing parameters, weights with two owners, and optional children.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use module_nn::prelude::*;
use module_tests::golden::{Tolerance, assert_close};

fn drawn(shape: &[usize]) -> Parameter {
    Parameter::new(Tensor::randn(shape, DType::F32).unwrap()).unwrap()
}

/// Asserts that the layer has these parameters, under PyTorch's names, and that no random numbers were drawn for it.
#[track_caller]
fn assert_made_of<M: Module>(make: impl FnOnce() -> Result<M>, expected: &[(&str, &Parameter)]) {
    let (layer, next) = fork_rng(7, || {
        let layer = make().unwrap();
        (layer, Tensor::rand(2, ()).unwrap())
    });
    let untouched = fork_rng(7, || Tensor::rand(2, ()).unwrap());
    assert_eq!(
        next.to_vec::<f32>().unwrap(),
        untouched.to_vec::<f32>().unwrap()
    );
    let own: Vec<_> = layer
        .named_parameters()
        .map(|(name, parameter)| (name, parameter.id()))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, parameter)| ((*name).to_owned(), parameter.id()))
        .collect();
    assert_eq!(own, expected, "{}", layer.kind());
}

#[test]
fn layers_are_made_of_parameters_and_draw_nothing() {
    let bias = drawn(&[4]);
    let both = |weight: &Parameter,
                make: &dyn Fn(Parameter, Parameter) -> Result<Box<dyn Layer>>| {
        let members = [("weight", weight), ("bias", &bias)];
        assert_made_of(|| make(weight.share(), bias.share()), &members);
    };
    both(&drawn(&[4, 3]), &|w, b| {
        Ok(Box::new(Linear::from_parts(w, b)?))
    });
    both(&drawn(&[3, 4]), &|w, b| {
        Ok(Box::new(TransposedLinear::from_parts(w, b)?))
    });
    both(&drawn(&[4, 3, 2, 2]), &|w, b| {
        Ok(Box::new(
            Conv2dConfig::new(6, 4, 2).groups(2).from_parts(w, b)?,
        ))
    });
    both(&drawn(&[6, 2, 3]), &|w, b| {
        let config = ConvTranspose1dConfig::new(6, 4, 3).groups(2);
        Ok(Box::new(config.from_parts(w, b)?))
    });
    both(&drawn(&[4]), &|w, b| {
        Ok(Box::new(
            LayerNormConfig::new(4).eps(1e-12).from_parts(w, b)?,
        ))
    });
    both(&drawn(&[4]), &|w, b| {
        Ok(Box::new(GroupNormConfig::new(2, 4).from_parts(w, b)?))
    });
    let table = drawn(&[5, 3]);
    assert_made_of(
        || Embedding::from_parts(table.share()),
        &[("weight", &table)],
    );
    assert_made_of(
        || EmbeddingBag::from_parts(table.share()),
        &[("weight", &table)],
    );
    let scale = drawn(&[3]);
    assert_made_of(
        || RMSNormConfig::new(3).eps(1e-6).from_parts(scale.share()),
        &[("weight", &scale)],
    );
    let alone = || Linear::from_parts(table.share(), Bias::Absent);
    assert_made_of(alone, &[("weight", &table)]);
    assert_eq!(
        alone().unwrap().config(),
        LinearConfig::new(3, 5).bias(false)
    );
    let optional: Option<Parameter> = None;
    assert!(Linear::from_parts(table.share(), optional).is_ok());
}

#[test]
fn a_layer_of_parameters_computes_what_the_one_that_drew_them_does() {
    let conv = fork_rng(0, || {
        Conv2dConfig::new(3, 4, 3).stride(2).padding(1).build()
    })
    .unwrap();
    let bias = conv.bias().get().unwrap().share();
    let same = conv
        .config()
        .from_parts(conv.weight().share(), bias)
        .unwrap();
    let x = fork_rng(1, || Tensor::randn([2, 3, 5, 5], DType::F32)).unwrap();
    let (y, expected) = (same.call(x.clone()).unwrap(), conv.call(x).unwrap());
    assert_close(&y, &expected, Tolerance::EXACT, "conv");
}

#[track_caller]
fn assert_refused<T>(result: Result<T>, expected: &str) {
    let error = result.err().expect("an error").to_string();
    assert_eq!(error, expected);
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    assert_refused(
        Linear::from_parts(drawn(&[4]), Bias::Absent),
        "Linear: weight = [4]: must have 2 dimension(s)",
    );
    assert_refused(
        Linear::from_parts(drawn(&[4, 3]), drawn(&[3])),
        "Linear: bias = [3]: must have the shape [4]",
    );
    assert_refused(
        LinearConfig::new(4, 3).from_parts(drawn(&[4, 3]), drawn(&[3])),
        "Linear: weight = [4, 3]: must have the shape [3, 4]",
    );
    assert_refused(
        LinearConfig::new(3, 4).from_parts(drawn(&[4, 3]), Bias::Absent),
        "Linear: bias = absent: is missing, but the arguments of the layer say that it has one",
    );
    assert_refused(
        LinearConfig::new(3, 4)
            .bias(false)
            .from_parts(drawn(&[4, 3]), drawn(&[4])),
        "Linear: bias = [4]: is given, but the arguments of the layer say that it has none",
    );
    assert_refused(
        Linear::from_parts(drawn(&[0, 3]), Bias::Absent),
        "Linear: out_features = 0: must be at least 1",
    );
    assert_refused(
        Embedding::from_parts(drawn(&[2, 0])),
        "Embedding: embedding_dim = 0: must be at least 1",
    );
    assert!(TransposedLinear::from_parts(drawn(&[3, 4]), drawn(&[3])).is_err());
    assert!(RMSNormConfig::new(3).from_parts(drawn(&[4])).is_err());
    assert!(
        LayerNormConfig::new(3)
            .from_parts(Bias::Absent, Bias::Absent)
            .is_err()
    );
    assert!(
        Conv1dConfig::new(2, 4, 3)
            .from_parts(drawn(&[4, 2, 2]), drawn(&[4]))
            .is_err()
    );
}

#[test]
fn tied_weights_are_one_parameter() {
    let words = Embedding::new(5, 3).unwrap();
    let mut head = LinearConfig::new(3, 5).bias(false).build().unwrap();
    head.tie_weight(words.weight()).unwrap();
    assert_eq!(head.weight().id(), words.weight().id());
    assert!(head.tie_weight(&drawn(&[3, 5])).is_err());
    assert_eq!(head.weight().id(), words.weight().id());
    let (first, mut second) = (Conv1d::new(2, 4, 3).unwrap(), Conv1d::new(2, 4, 3).unwrap());
    second.tie_weight(first.weight()).unwrap();
    assert_eq!(second.weight().id(), first.weight().id());
    let first = ConvTranspose1d::new(4, 2, 3).unwrap();
    let mut second = ConvTranspose1d::new(4, 2, 3).unwrap();
    second.tie_weight(first.weight()).unwrap();
    assert_eq!(second.weight().id(), first.weight().id());
    let mut layer = TransposedLinear::new(5, 3).unwrap();
    layer.tie_weight(words.weight()).unwrap();
    let mut bags = EmbeddingBag::new(5, 3).unwrap();
    bags.tie_weight(words.weight()).unwrap();
    assert_eq!(bags.weight().id(), layer.weight().id());
}

#[derive(Module)]
#[module(debug)]
struct Block {
    downsample: OrIdentity<Sequential>,
    norm: OrIdentity<LayerNorm>,
}

fn block(downsample: bool, norm: Option<LayerNormConfig>) -> Block {
    let project = || Ok(Sequential::new().push(LinearConfig::new(3, 3).bias(false).build()?));
    Block {
        downsample: OrIdentity::when(downsample, project).unwrap(),
        norm: norm.build().unwrap(),
    }
}

#[test]
fn a_child_that_may_be_absent_has_the_keys_of_the_field() {
    let whole = block(true, Some(LayerNormConfig::new(3).bias(false)));
    let state = whole.state_dict().unwrap();
    let keys: Vec<_> = state.keys().collect();
    assert_eq!(keys, ["downsample.0.weight", "norm.weight"]);
    assert_eq!(
        format!("{whole:?}"),
        "Block(\n  (downsample): Sequential(\n    (0): Linear(in_features=3, out_features=3, bias=False)\n  )\n  \
         (norm): LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)\n)"
    );
    let less = block(false, None);
    assert!(less.state_dict().unwrap().is_empty());
    assert_eq!(
        less.tree().to_string(),
        "Block(\n  (downsample): Identity()\n  (norm): Identity()\n)"
    );
    let x = Tensor::from([[1.0_f32, 2.0, 4.0]]);
    assert!(less.norm.call(x.clone()).unwrap().equal(&x).unwrap());
    let normed = LayerNormConfig::new(3).bias(false).build().unwrap();
    let y = whole.norm.call(x.clone()).unwrap();
    assert!(y.equal(&normed.call(x).unwrap()).unwrap());
    // A checkpoint of the whole block does not load into the smaller one, and says which keys are too many.
    let error = less.load_state_dict(&state).unwrap_err().to_string();
    assert!(error.contains("\"downsample.0.weight\""), "{error}");
    assert!(
        block(true, Some(LayerNormConfig::new(3).bias(false)))
            .load_state_dict(&state)
            .is_ok()
    );
}

#[test]
fn a_child_that_may_be_absent_is_reached_and_hooked_once() {
    let mut whole = block(true, None);
    assert!(whole.downsample.is_present() && !whole.norm.is_present());
    assert!(whole.norm.get().is_none());
    assert_eq!(
        whole.get_submodule("downsample.0").unwrap().kind(),
        "Linear"
    );
    assert_eq!(whole.get_submodule("norm").unwrap().kind(), "Identity");
    let modules: Vec<String> = whole.named_modules().map(|(path, _)| path).collect();
    assert_eq!(modules, ["", "downsample", "downsample.0", "norm"]);
    let layers = whole.downsample.get_mut().unwrap();
    *layers = std::mem::take(layers).push(ReLU::new());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let hook = whole.downsample.register_forward_hook(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    whole
        .downsample
        .call(Tensor::ones([1, 3], DType::F32).unwrap())
        .unwrap();
    drop(hook);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    whole.norm = LayerNorm::new(3).unwrap().into();
    assert_eq!(whole.num_parameters(), 9 + 6);
}
