//! Adapters are modules: keys, tree, casts, freezing, saving; and there is no trace of them in models without any.

use module_nn::lora::{self, LoraBias, LoraConfig};
use module_nn::prelude::*;

use super::{Net, adapted, assert_close, assert_same, input, random, snapshot};

#[test]
fn keys_and_tree_are_pefts_and_a_plain_layer_shows_nothing() {
    let net = adapted();
    let state = net.state_dict().unwrap();
    let keys: Vec<&str> = state.keys().collect();
    assert_eq!(
        keys,
        [
            "query.weight",
            "query.bias",
            "query.lora_A.default.weight",
            "query.lora_B.default.weight",
            "value.weight",
            "value.lora_A.default.weight",
            "value.lora_B.default.weight",
            "norm.weight",
            "norm.bias",
            "head.weight",
            "head.bias",
        ]
    );
    assert_eq!(
        net.query.tree().to_string(),
        "Linear(\n  in_features=6, out_features=5, bias=True\n  (lora_dropout): ModuleDict(\n    (default): Identity()\n  )\n  \
         (lora_A): ModuleDict(\n    (default): Linear(in_features=6, out_features=2, bias=False)\n  )\n  \
         (lora_B): ModuleDict(\n    (default): Linear(in_features=2, out_features=5, bias=False)\n  )\n)"
    );
    assert_eq!(
        net.head.tree().to_string(),
        "Linear(in_features=4, out_features=3, bias=True)"
    );
    assert_eq!(net.query.config(), LinearConfig::new(6, 5));
    let summary = summary(&net, input()).unwrap();
    assert_eq!(summary.num_parameters(), net.num_parameters());
    let text = summary.to_string();
    assert!(text.contains("Trainable params: 40\n"), "{text}");
    assert_eq!(lora::adapter_names(&net), ["default"]);
    assert_eq!(
        lora::adapted_layers(&net, "default").unwrap(),
        ["query", "value"]
    );
    assert_eq!(lora::adapter_config(&net, "default").unwrap(), random(2));
}

#[test]
fn layers_in_any_struct_hold_adapters() {
    /// A layer that shows a linear layer's members as its own.
    #[derive(Module)]
    struct Flat {
        #[module(flatten)]
        linear: Linear,
    }

    #[derive(Module)]
    enum Choice {
        Some(Linear),
        #[allow(dead_code)]
        None,
    }

    #[derive(Module)]
    struct Deep {
        list: Vec<Flat>,
        boxed: Box<dyn Layer>,
        choice: Choice,
    }

    let linear = || Linear::new(3, 3).unwrap();
    let mut deep = Deep {
        list: vec![Flat { linear: linear() }, Flat { linear: linear() }],
        boxed: Box::new(Sequential::new().push(linear())),
        choice: Choice::Some(linear()),
    };
    let paths = ["list.0", "list.1", "boxed.0", "choice"];
    let known: Vec<String> = lora::adaptable_layers(&deep)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(known, paths);
    let report = lora::add_adapter(&mut deep, "default", paths, &random(1)).unwrap();
    assert_eq!(report.matched, paths);
    for path in paths {
        let key = format!("{path}.lora_A.default.weight");
        assert!(deep.get_parameter(&key).unwrap().requires_grad(), "{key}");
    }
    let Choice::Some(layer) = &deep.choice else {
        panic!()
    };
    let y = layer
        .call(Tensor::ones([1, 3], DType::F32).unwrap())
        .unwrap();
    assert_eq!(y.shape().to_string(), "[1, 3]");
}

#[test]
fn adapters_are_cast_frozen_saved_and_given_like_any_parameter() {
    let net = adapted();
    let y = net.call(input()).unwrap();
    let state = snapshot(&net);
    net.double().unwrap();
    assert_eq!(
        net.get_parameter("query.lora_A.default.weight")
            .unwrap()
            .dtype(),
        DType::F64
    );
    net.float().unwrap();
    assert_same(&net.call(input()).unwrap(), &y, "there and back");
    net.freeze("query.lora_A").unwrap();
    assert!(
        !net.get_parameter("query.lora_A.default.weight")
            .unwrap()
            .requires_grad()
    );

    let path = std::env::temp_dir().join(format!("lora-{}.safetensors", std::process::id()));
    net.save(&path).unwrap();
    let other = adapted();
    let loaded = other.load(&path);
    std::fs::remove_file(&path).unwrap();
    assert!(loaded.unwrap().not_loaded.is_empty());
    assert_same(&other.call(input()).unwrap(), &y, "loaded");

    let zeros = state.iter().map(|(key, value)| {
        let value = match key.contains("lora_B") {
            true => value.zeros_like().unwrap(),
            false => value.clone(),
        };
        (key.to_owned(), value)
    });
    let given: StateDict = zeros.collect();
    let without = functional_call(&net, given.iter(), input()).unwrap();
    let plain = lora::disable_adapters(&net, || net.call(input()))
        .unwrap()
        .unwrap();
    assert_same(&without, &plain, "given");
}

#[test]
fn the_base_is_frozen_with_its_statistics_and_biases_as_asked() {
    #[derive(Module)]
    struct Normed {
        linear: Linear,
        norm: BatchNorm1d,
    }

    impl Forward for Normed {
        type Output = Tensor;

        fn forward(&self, x: Tensor) -> Result<Tensor> {
            self.norm.call(self.linear.call(x)?)
        }
    }

    let mut model = Normed {
        linear: Linear::new(6, 4).unwrap(),
        norm: BatchNorm1d::new(4).unwrap(),
    };
    lora::add_adapter(&mut model, "default", "linear", &random(2)).unwrap();
    let before = snapshot(&model);
    let loss = model.call(input()).unwrap().sum(..).unwrap();
    loss.backward().unwrap();
    AdamWConfig::new(0.1)
        .build(&model)
        .unwrap()
        .step(&model)
        .unwrap();
    for (key, value) in snapshot(&model).iter() {
        assert_eq!(
            value.equal(before.get(key).unwrap()).unwrap(),
            !key.contains("lora_"),
            "{key}"
        );
    }
    let trained = |bias| {
        let mut net = Net::new();
        let config = LoraConfig::new().r(2).bias(bias);
        lora::add_adapter(&mut net, "default", ["query", "value"], &config).unwrap();
        let own = net
            .named_parameters()
            .filter(|(_, parameter)| parameter.requires_grad());
        let own = own.map(|(key, _)| key).filter(|key| !key.contains("lora_"));
        own.collect::<Vec<String>>()
    };
    assert!(trained(LoraBias::None).is_empty());
    assert_eq!(trained(LoraBias::LoraOnly), ["query.bias"]);
    assert_eq!(
        trained(LoraBias::All),
        ["query.bias", "norm.bias", "head.bias"]
    );
}

fn adapted_with(config: &LoraConfig) -> Net {
    let mut net = Net::new();
    lora::add_adapter(&mut net, "default", "query", config).unwrap();
    net
}

#[test]
fn dropout_follows_the_mode() {
    let config = random(2).lora_dropout(0.5);
    let net = adapted_with(&config);
    net.eval();
    let y = net.call(input()).unwrap();
    assert_same(&net.call(input()).unwrap(), &y, "evaluation");
    net.train();
    let passes = |seed| fork_rng(seed, || net.call(input())).unwrap();
    assert!(!passes(1).equal(&passes(2)).unwrap());
    assert_same(&passes(1), &passes(1), "one seed");
    net.eval();
    assert_same(&net.call(input()).unwrap(), &y, "evaluation again");
    // A model that has a mode gives it to what is added.
    let dropout = Dropout::new(0.1).unwrap();
    let mut net = Sequential::new()
        .push(Linear::new(6, 5).unwrap())
        .push(dropout);
    net.eval();
    lora::add_adapter(&mut net, "default", "0", &config).unwrap();
    assert!(!net.is_training());
    let y = net.call(input()).unwrap();
    assert_same(&net.call(input()).unwrap(), &y, "added in evaluation");
    assert!(
        net.tree()
            .to_string()
            .contains("(default): Dropout(p=0.5, inplace=False)")
    );
}

#[test]
fn attention_and_transformers_use_their_adapters() {
    let mut layer = TransformerEncoderLayerConfig::new(8, 2)
        .dim_feedforward(16)
        .batch_first(true)
        .build()
        .unwrap();
    layer.eval();
    let x = fork_rng(1, || Tensor::randn([2, 3, 8], DType::F32)).unwrap();
    let plain = layer.call(x.clone()).unwrap();
    let paths: Vec<String> = lora::adaptable_layers(&layer)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        paths,
        ["self_attn", "self_attn.out_proj", "linear1", "linear2"]
    );
    let report = lora::add_adapter(
        &mut layer,
        "default",
        ["self_attn", "linear1", "linear2"],
        &random(2),
    )
    .unwrap();
    assert_eq!(report.matched, paths);
    let y = layer.call(x.clone()).unwrap();
    assert!(super::differs(&y, &plain));
    y.mul(&y).unwrap().sum(..).unwrap().backward().unwrap();
    for (key, parameter) in layer.named_parameters() {
        assert_eq!(parameter.grad().is_some(), key.contains("lora_"), "{key}");
    }
    let without = lora::disable_adapters(&layer, || layer.call(x.clone()))
        .unwrap()
        .unwrap();
    assert_same(&without, &plain, "disabled");
    lora::merge(&mut layer).unwrap();
    assert_close(&layer.call(x).unwrap(), &y, "merged");
}
