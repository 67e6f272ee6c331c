//! Parameter groups with different options.

use module_nn::optim::{ParamGroups, no_decay};
use module_nn::prelude::*;
use serde_json::Value;

use super::{Run, goes_on, network, regress};

/// Trains with groups whose rates `set_lr` scales, like a `LambdaLR` of PyTorch.
fn trains_as_recorded<O: Optimizer>(
    name: &str,
    build: impl Fn(&Value, &Value, &dyn Module) -> Result<O>,
) {
    let run = Run::read(name);
    let model = network(3, 2);
    run.set_initial(&model, "");
    let mut optimizer = build(&run.case["kwargs"], &run.case["biases"], &model).unwrap();
    for step in 0..20 {
        let rate = |group: usize| run.case["rates"][step][group].as_f64().expect("a rate");
        optimizer.set_lr(rate(0)).unwrap();
        assert_eq!(optimizer.lr(), rate(0));
        let found = optimizer.group_lrs();
        assert!((found[1] - rate(1)).abs() < 1e-15, "{found:?}");
        let (x, y) = (run.row("x", step), run.row("y", step));
        run.check_loss(step, &regress(&model, &mut optimizer, x, &y));
    }
    run.check_end(&model, "");
}

fn number(options: &Value, name: &str) -> f64 {
    options[name].as_f64().expect("a number")
}

#[test]
fn groups_step_as_those_of_pytorch() {
    trains_as_recorded("adamw_groups", |kwargs, biases, model| {
        let set = |config: AdamWConfig, options: &Value| AdamWConfig {
            lr: number(options, "lr"),
            weight_decay: number(options, "weight_decay"),
            ..config
        };
        let config = set(AdamWConfig::new(0.0), kwargs);
        config
            .group("**.bias", |config| set(config, biases))
            .build(model)
    });
    trains_as_recorded("sgd_groups", |kwargs, biases, model| {
        let set = |config: SGDConfig, options: &Value| SGDConfig {
            lr: number(options, "lr"),
            momentum: number(options, "momentum"),
            weight_decay: number(options, "weight_decay"),
            ..config
        };
        let config = set(SGDConfig::new(0.0), kwargs);
        config
            .group("**.bias", |config| set(config, biases))
            .build(model)
    });
}

fn with_groups() -> ParamGroups<AdamWConfig> {
    let config = AdamWConfig::new(0.1).group("**.bias", |g| g.weight_decay(0.0));
    config.group("0.weight", |g| AdamWConfig {
        lr: 0.3,
        ..g.amsgrad(true)
    })
}

#[test]
fn training_by_groups_continues_bit_for_bit() {
    goes_on("groups", |model| Ok(Box::new(with_groups().build(model)?)));
    goes_on("momenta", |model| {
        let config = SGDConfig::new(0.7).momentum(0.9);
        let groups = config.group("0", |g| SGDConfig {
            lr: 0.1,
            ..g.momentum(0.0)
        });
        Ok(Box::new(groups.build(model)?))
    });
}

#[test]
fn every_parameter_is_in_one_group() {
    let model = network(3, 2);
    let optimizer = with_groups().build(&model).unwrap();
    let [rest, biases, first] = optimizer.groups() else {
        panic!("{:?}", optimizer.groups());
    };
    assert_eq!(rest.parameters, ["2.weight"]);
    assert_eq!(biases.parameters, ["0.bias", "2.bias"]);
    assert_eq!(first.parameters, ["0.weight"]);
    assert_eq!(rest.options, AdamWConfig::new(0.1));
    assert_eq!(biases.options, AdamWConfig::new(0.1).weight_decay(0.0));
    assert_eq!(first.options, AdamWConfig::new(0.3).amsgrad(true));
    // One that intentionally selects nothing, and the whole model.
    let groups = SGDConfig::new(0.1).group(Select::none(), |g| g.momentum(0.5));
    let optimizer = groups
        .group(Select::all(), |g| g.momentum(0.9))
        .build(&model);
    let counts = optimizer.unwrap();
    let counts = counts.groups().iter().map(|group| group.parameters.len());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 0, 4]);
}

#[test]
fn norms_and_biases_are_selected_by_one_pattern() {
    #[derive(Module)]
    struct Net {
        linear: Linear,
        norm1: LayerNorm,
    }
    let model = Net {
        linear: Linear::new(2, 2).unwrap(),
        norm1: LayerNorm::new(2).unwrap(),
    };
    let select = ["**.bias", "**.norm*.weight"];
    let config = AdamWConfig::new(1e-3).group(select, |g| g.weight_decay(0.0));
    let optimizer = config.build(&model).unwrap();
    assert_eq!(optimizer.groups()[0].parameters, ["linear.weight"]);
    let braces = AdamWConfig::new(1e-3).group("**.{bias,norm*.weight}", |g| g.weight_decay(0.0));
    let same = braces.build(&model).unwrap();
    assert_eq!(same.groups(), optimizer.groups());
}

#[test]
fn a_tied_parameter_is_selected_under_any_of_its_names() {
    let first = Linear::new(2, 2).unwrap();
    let mut second = Linear::new(2, 2).unwrap();
    second.tie_weight(first.weight()).unwrap();
    let model = [first, second];
    let groups = SGDConfig::new(0.1).group("1.weight", |g| g.momentum(0.9));
    let optimizer = groups.build(&model).unwrap();
    assert_eq!(optimizer.groups()[1].parameters, ["0.weight"]);
    let twice = groups.group("0.weight", |g| g).build(&model).err().unwrap();
    assert!(
        twice
            .to_string()
            .contains("selected by both `1.weight` and `0.weight`"),
        "{twice}"
    );
}

#[test]
fn rates_of_groups_are_set_together_and_alone() {
    let model = network(3, 2);
    let groups = SGDConfig::new(0.1).group("0", |g| SGDConfig { lr: 0.2, ..g });
    let mut optimizer = groups.group("2.bias", |g| g).build(&model).unwrap();
    optimizer.set_lr(0.5).unwrap();
    assert_eq!(optimizer.group_lrs(), [0.5, 1.0, 0.5]);
    // A rate of 0 does not lose the proportions.
    optimizer.set_lr(0.0).unwrap();
    optimizer.set_lr(0.25).unwrap();
    assert_eq!(optimizer.group_lrs(), [0.25, 0.5, 0.25]);
    optimizer.set_group_lr(2, 1.0).unwrap();
    optimizer.set_lr(0.5).unwrap();
    assert_eq!(optimizer.group_lrs(), [0.5, 1.0, 2.0]);
    optimizer.set_group_lr(0, 1.0).unwrap();
    assert_eq!(optimizer.group_lrs(), [1.0, 1.0, 2.0]);
    optimizer.set_lr(0.5).unwrap();
    assert_eq!(optimizer.group_lrs(), [0.5, 0.5, 1.0]);
    let options = SGDConfig::new(0.25).momentum(0.9);
    optimizer.set_group_options(1, options.clone()).unwrap();
    assert_eq!(optimizer.groups()[1].options, options);
    optimizer.set_lr(1.0).unwrap();
    assert_eq!(optimizer.group_lrs(), [1.0, 0.5, 2.0]);
    assert!(
        optimizer
            .set_group_options(1, options.momentum(-1.0))
            .is_err()
    );
    assert!(optimizer.set_group_lr(3, 0.1).is_err());
    for lr in [-1.0, f64::NAN] {
        let expected = format!("SGD: lr = {lr}: must be at least 0");
        let error = optimizer.set_group_lr(1, lr).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(optimizer.set_lr(lr).is_err());
    }
    assert_eq!(optimizer.group_lrs(), [1.0, 0.5, 2.0]);
    // A rate of 0 has no proportion: the previous one stays.
    optimizer.set_lr(0.0).unwrap();
    optimizer.set_group_lr(1, 3.0).unwrap();
    assert_eq!(optimizer.group_lrs(), [0.0, 3.0, 0.0]);
    optimizer.set_lr(1.0).unwrap();
    assert_eq!(optimizer.group_lrs(), [1.0, 0.5, 2.0]);
}

#[test]
fn norms_biases_and_embeddings_are_kept_from_decay() {
    #[derive(Module)]
    struct Model {
        words: Embedding,
        blocks: Vec<Linear>,
        norm: LayerNorm,
        head: Linear,
    }
    let mut model = Model {
        words: Embedding::new(5, 4).unwrap(),
        blocks: vec![Linear::new(4, 4).unwrap()],
        norm: LayerNorm::new(4).unwrap(),
        head: Linear::new(4, 5).unwrap(),
    };
    let decayed = |model: &Model| {
        let config = AdamWConfig::new(0.1).group(no_decay(model), |group| group.weight_decay(0.0));
        config.build(model).unwrap().groups()[0].parameters.clone()
    };
    assert_eq!(decayed(&model), ["blocks.0.weight", "head.weight"]);
    model.head.tie_weight(model.words.weight()).unwrap();
    assert_eq!(decayed(&model), ["blocks.0.weight"]);
}
