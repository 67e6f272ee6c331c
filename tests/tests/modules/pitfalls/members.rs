//! The members of a module, and their owners.

use module_nn::IndexMap;
use module_nn::init::{self, Nonlinearity, Normal, Recommended};
use module_nn::parametrize::weight_norm;
use module_nn::prelude::*;

use module_tests::files::Scratch;

use super::{backward, changed, images, net};

#[test]
fn pitfall_01_composition_keeps_every_member() {
    #[derive(Module)]
    struct A {
        a: Linear,
    }

    #[derive(Module)]
    struct B {
        b: Linear,
    }

    #[derive(Module)]
    struct Both {
        #[module(flatten)]
        first: A,
        #[module(flatten)]
        second: B,
        c: Linear,
    }

    let linear = || LinearConfig::new(2, 2).bias(false).build().unwrap();
    let both = Both {
        first: A { a: linear() },
        second: B { b: linear() },
        c: linear(),
    };
    let state = both.state_dict().unwrap();
    assert!(state.keys().eq(["a.weight", "b.weight", "c.weight"]));
    assert_eq!(both.num_parameters(), 12);
}

#[test]
fn pitfall_03_layers_in_lists_and_maps_are_trained_and_saved() {
    #[derive(Module)]
    struct Lists {
        vector: Vec<Linear>,
        array: [Linear; 2],
        tuple: (Linear, ReLU),
        map: IndexMap<String, Linear>,
        boxed: Vec<Box<dyn Layer>>,
    }

    impl Forward for Lists {
        type Output = Tensor;

        fn forward(&self, mut x: Tensor) -> Result<Tensor> {
            let layers = self.vector.iter().chain(&self.array);
            for layer in layers.chain([&self.tuple.0]).chain(self.map.values()) {
                x = layer.call(x)?;
            }
            for layer in &self.boxed {
                x = layer.call(x)?;
            }
            Ok(x)
        }
    }

    let linear = || LinearConfig::new(3, 3).bias(false).build().unwrap();
    let lists = Lists {
        vector: vec![linear(), linear()],
        array: [linear(), linear()],
        tuple: (linear(), ReLU::new()),
        map: IndexMap::from([("key".to_owned(), linear())]),
        boxed: vec![Box::new(linear())],
    };
    let keys = [
        "vector.0.weight",
        "vector.1.weight",
        "array.0.weight",
        "array.1.weight",
        "tuple.0.weight",
        "map.key.weight",
        "boxed.0.weight",
    ];
    let before = lists.state_dict().unwrap();
    assert!(before.keys().eq(keys));
    let mut optimizer = SGD::new(&lists, 0.1).unwrap();
    backward(&lists, images(0));
    optimizer.step(&lists).unwrap();
    assert_eq!(changed(&before, &lists.state_dict().unwrap()), keys);
}

#[test]
fn pitfall_07_an_absent_bias_has_no_key_and_cannot_be_used() {
    let layer = LinearConfig::new(3, 2).bias(false).build().unwrap();
    assert!(layer.bias().get().is_none());
    assert!(layer.state_dict().unwrap().keys().eq(["weight"]));
    assert!(layer.get_parameter("bias").is_err());
    assert!(layer.call(images(0)).is_ok());
}

#[test]
fn pitfall_18_initialization_can_be_repeated_on_any_part() {
    let model = fork_rng(0, net);
    let before = model.state_dict().unwrap();
    fork_rng(1, || model.head.reset_parameters()).unwrap();
    let after = model.state_dict().unwrap();
    assert_eq!(changed(&before, &after), ["head.weight", "head.bias"]);
    model.call(images(0)).unwrap();
    fork_rng(0, || model.reset_parameters()).unwrap();
    assert!(changed(&before, &model.state_dict().unwrap()).is_empty());
}

#[test]
fn pitfall_18_a_parameter_without_initializer_is_named() {
    #[derive(Module)]
    struct Scaled {
        layer: Linear,
        scale: Parameter,
    }

    let model = Scaled {
        layer: Linear::new(1, 1).unwrap(),
        scale: Parameter::new(Tensor::from(2.0_f32)).unwrap(),
    };
    let before = model.state_dict().unwrap();
    let error = model.reset_parameters().unwrap_err();
    assert!(error.to_string().contains("`scale`"), "{error}");
    assert!(changed(&before, &model.state_dict().unwrap()).is_empty());
}

#[derive(Module)]
struct Tied {
    encoder: Linear,
    decoder: Linear,
}

impl Forward for Tied {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.decoder.call(self.encoder.call(x)?)
    }
}

fn tied() -> Tied {
    let linear = || LinearConfig::new(3, 3).bias(false).build().unwrap();
    let (encoder, mut decoder) = (linear(), linear());
    decoder.tie_weight(encoder.weight()).unwrap();
    Tied { encoder, decoder }
}

#[track_caller]
fn assert_tied(model: &Tied) {
    let (encoder, decoder) = (model.encoder.weight(), model.decoder.weight());
    assert_eq!(encoder.id(), decoder.id());
    assert!(encoder.detach().shares_memory_with(&decoder.detach()));
}

#[test]
fn pitfall_23_ties_survive_everything_and_count_once() {
    let (model, scratch) = (tied(), Scratch::new("pitfall-23"));
    assert_eq!(model.num_parameters(), 9);
    assert_eq!(model.num_trainable(), 9);
    assert_eq!(model.parameters().count(), 1);

    model.double().unwrap();
    assert_tied(&model);
    model.float().unwrap();
    assert_tied(&model);
    model.to_device(&Device::cpu()).unwrap();
    assert_tied(&model);
    model.reset_parameters().unwrap();
    assert_tied(&model);

    model.save(&scratch.0).unwrap();
    let other = tied();
    assert!(other.load(&scratch.0).unwrap().not_loaded.is_empty());
    assert_tied(&other);
    let saved = model.state_dict().unwrap();
    assert!(changed(&saved, &other.state_dict().unwrap()).is_empty());
    // A tie may come under one name, in another dtype, or into a model without values.
    let mut once = saved.clone();
    once.remove("decoder.weight");
    assert!(other.load_state_dict(&once).unwrap().missing.is_empty());
    assert_tied(&other);
    let options = LoadOptions::new().assign_dtype(true);
    assert!(
        other
            .load_state_dict_with(&saved, options)
            .unwrap()
            .not_loaded
            .is_empty()
    );
    assert_tied(&other);
    let deferred = deferred(tied);
    assert!(deferred.load(&scratch.0).unwrap().not_loaded.is_empty());
    assert_tied(&deferred);
    assert!(saved.equal(&deferred.state_dict().unwrap()).unwrap());

    // The optimizer updates the tensor once, with the sum of both gradients.
    let weight = other.encoder.weight();
    let start = weight.detach();
    let mut optimizer = SGD::new(&other, 0.5).unwrap();
    backward(&other, images(0));
    let expected = start.sub(weight.grad().unwrap().mul(0.5).unwrap()).unwrap();
    optimizer.step(&other).unwrap();
    assert_tied(&other);
    let close = weight.detach().sub(&expected).unwrap().abs().unwrap();
    assert!(close.amax(..).unwrap().item::<f32>().unwrap() < 1e-6);
}

#[test]
fn pitfall_24_layers_made_in_a_row_share_nothing() {
    let layers: Vec<Linear> = (0..3).map(|_| Linear::new(2, 2).unwrap()).collect();
    assert_eq!(layers.parameters().count(), 6);
    let values = layers
        .iter()
        .map(|l| l.weight().detach().to_vec::<f32>().unwrap());
    let values: Vec<_> = values.collect();
    assert!(values[0] != values[1] && values[1] != values[2]);
}

#[test]
fn pitfall_27_only_floating_point_buffers_are_cast() {
    let model = net();
    model.half().unwrap();
    let dtype = |path: &str| model.get_buffer(path).unwrap().tensor().dtype();
    assert_eq!(dtype("norm.running_mean"), DType::F16);
    assert_eq!(dtype("norm.num_batches_tracked"), DType::I64);
    assert_eq!(model.hidden.weight().tensor().dtype(), DType::F16);
    let error = model.to_dtype(DType::I64).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::DType(DTypeError::Unsupported { .. })
        ),
        "{error}"
    );
    assert_eq!(model.hidden.weight().tensor().dtype(), DType::F16);
}

#[test]
fn pitfall_27_a_pinned_buffer_keeps_its_dtype() {
    #[derive(Module)]
    struct Positions {
        table: Buffer,
        scale: Buffer,
    }

    let make = || Positions {
        table: Buffer::new(Tensor::from([1000.1_f32, 2000.3])).keep_dtype(),
        scale: Buffer::new(Tensor::from([1.0_f32])),
    };
    let model = make();
    let exact = model.table.tensor();
    model.half().unwrap();
    model.bfloat16().unwrap();
    assert_eq!(model.scale.tensor().dtype(), DType::BF16);
    // A file in low precision changes neither.
    let state = model.state_dict().unwrap();
    let options = LoadOptions::new().assign_dtype(true);
    assert!(
        model
            .load_state_dict_with(&state, options)
            .unwrap()
            .not_loaded
            .is_empty()
    );
    assert!(model.table.tensor().equal(&exact).unwrap());
    assert_eq!(model.table.tensor().dtype(), DType::F32);
    assert!(model.table.keeps_dtype() && model.table.share().keeps_dtype());
}

#[test]
fn pitfall_46_a_mismatch_deep_in_the_model_has_a_path() {
    let model = Sequential::new()
        .push(ReLU::new())
        .push(Sequential::new().push(Linear::new(4, 2).unwrap()));
    let error = model.call(images(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "1.0 (Linear): linear: expected an input whose last dimension is in_features = 4, got shape [5, 3]"
    );
    let x = images(0).to_dtype(DType::F64).unwrap();
    let error = net().call(x).unwrap_err();
    assert!(
        error.to_string().starts_with("hidden (Linear): "),
        "{error}"
    );
}

fn small() -> Result<Sequential> {
    let table = EmbeddingConfig::new(7, 5).padding_idx(3).build()?;
    let net = Sequential::new().push(table).push(Linear::new(5, 6)?);
    let encoder = TransformerEncoderLayerConfig::new(6, 2).dim_feedforward(8);
    let net = net.push(TransformerEncoderConfig::new(encoder, 3).build()?);
    let net = net.push(Linear::new(6, 2)?);
    Ok(net.push(weight_norm(Linear::new(2, 3)?, Some(0))?))
}

/// Initialization of every kind over a tree, in the constructor or afterwards.
#[test]
fn pitfall_56_recipes_are_repeated_to_the_bit() {
    let small_normal = Normal {
        mean: 0.5,
        std: 0.02,
    };
    let recipe = |net: &Sequential| -> Result<()> {
        init::each(net, |_, linear: &Linear| {
            linear.weight().initialize(small_normal)
        })?;
        let report = Recommended::new(Nonlinearity::Relu)
            .residual(["3"], 0.1)
            .apply(net)?;
        assert!(report.set.contains(&"0.weight".to_owned()));
        // Fewer than 16 values are drawn in pairs, and the generator keeps one of them.
        net.get_parameter("3.bias")?.initialize(small_normal)?;
        net.get_parameter("1.bias")?.initialize(small_normal)?;
        net.get_parameter("1.bias")?.initialize(init::zeros())
    };
    let build = || small().and_then(|net| recipe(&net).map(|()| net));
    let net = fork_rng(3, build).unwrap();
    let expected = net.state_dict().unwrap();
    assert_eq!(
        expected.get("0.weight").unwrap().to_vec::<f32>().unwrap()[15..20],
        [0.0; 5]
    );
    let same = |net: &Sequential, what: &str| {
        for (key, value) in &net.state_dict().unwrap() {
            assert!(
                value.equal(expected.get(key).unwrap()).unwrap(),
                "{what}: {key}"
            );
        }
    };
    fork_rng(4, || net.reset_parameters()).unwrap();
    assert!(
        !net.get_parameter("0.weight")
            .unwrap()
            .detach()
            .equal(expected.get("0.weight").unwrap())
            .unwrap()
    );
    fork_rng(3, || net.reset_parameters()).unwrap();
    same(&net, "drawn anew");
    let net = deferred(build).unwrap();
    assert!(net.parameters().all(|p| !p.has_values()));
    fork_rng(3, || net.reset_parameters()).unwrap();
    same(&net, "deferred");
    // Copies of one layer are copies again, also where only one of them is drawn.
    let layer = net.get_submodule("2.layers.1").unwrap();
    layer.reset_parameters().unwrap();
    assert!(layer.parameters().all(Parameter::has_values));
}
