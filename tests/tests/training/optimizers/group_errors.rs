//! Invalid groups, and states that do not match the existing groups.

use module_core::Snapshot;
use module_nn::optim::ParamGroups;
use module_nn::prelude::*;

use super::{bytes, network, train};

fn message<T>(result: Result<T>) -> String {
    result.err().unwrap().to_string()
}

fn sgd() -> SGDConfig {
    SGDConfig::new(0.1).momentum(0.9)
}

#[test]
fn groups_that_cannot_be_meant_are_refused() {
    let model = network(3, 2);
    let error = sgd().group("**.biass", |g| g).build(&model).err().unwrap();
    let Some(OptimizerError::EmptyGroup {
        selection,
        suggestion,
    }) = error.downcast_ref()
    else {
        panic!("{error}");
    };
    assert_eq!(
        (&**selection, suggestion.as_deref()),
        ("**.biass", Some("**.bias"))
    );
    assert_eq!(
        error.to_string(),
        "group: `**.biass` selects no parameter; did you mean `**.bias`?"
    );
    let groups = sgd().group("2.weight", |g| g).group("0", |g| g);
    let error = groups.group("**.bias", |g| g).build(&model).err().unwrap();
    let Some(OptimizerError::TwoGroups { paths, selections }) = error.downcast_ref() else {
        panic!("{error}");
    };
    assert_eq!(paths, &["0.bias"]);
    assert_eq!(selections, &["0", "**.bias"]);
    assert_eq!(
        error.to_string(),
        "group: `0.bias` is selected by both `0` and `**.bias`; leave the parameter(s) out of one by \
         `Select::exclude`"
    );
    let error = sgd().group("{", |g| g).build(&model).err().unwrap();
    assert!(
        matches!(error.downcast_ref(), Some(ModuleError::Pattern { .. })),
        "{error}"
    );
    assert_eq!(
        message(sgd().group("0", |g| g.weight_decay(-1.0)).build(&model)),
        "SGD: weight_decay = -1: must be at least 0"
    );
}

fn by(groups: &[&str]) -> ParamGroups<SGDConfig> {
    let add = |all: ParamGroups<SGDConfig>, group: &&str| {
        let lr = 0.1 + all.options().count() as f64;
        all.group(*group, |g| SGDConfig { lr, ..g })
    };
    groups.iter().fold(ParamGroups::new(sgd()), add)
}

#[test]
fn a_state_of_other_groups_changes_nothing() {
    let model = network(3, 2);
    let cases = [
        (&["**.bias"][..], &[][..], "0.bias: it is in group 0"),
        (&[], &["**.bias"], "0.bias: it is in group 1"),
        (&["**.bias"], &["**.weight"], "0.bias: it is in group 0"),
        (&["**.bias"], &["0.bias"], "2.bias: it is in group 0"),
        (
            &["**.bias"],
            &["0.bias", "2.bias"],
            "2.bias: it is in group 2",
        ),
        (
            &["0.bias", "2.bias"],
            &["**.bias"],
            "2.bias: it is in group 1",
        ),
    ];
    for (saved, own, words) in cases {
        let mut other = by(saved).build(&model).unwrap();
        train(&model, &mut other, 1..2);
        let mut optimizer = by(own).build(&model).unwrap();
        train(&model, &mut optimizer, 2..3);
        let before = (bytes(&model, &optimizer), optimizer.group_lrs());
        let error = message(optimizer.load_state(&other.state().unwrap()));
        assert!(
            error.contains(words) && error.contains("build the optimizer with"),
            "{error}"
        );
        assert!((bytes(&model, &optimizer), optimizer.group_lrs()) == before);
    }
}

#[test]
fn the_same_groups_in_another_order_are_the_same() {
    let model = network(3, 2);
    let mut saved = by(&["0.bias", "2.bias"]).build(&model).unwrap();
    saved.set_lr(0.2).unwrap();
    let mut optimizer = by(&["2.bias", "0.bias"]).build(&model).unwrap();
    optimizer.load_state(&saved.state().unwrap()).unwrap();
    let rates = saved.group_lrs();
    assert_eq!(optimizer.group_lrs(), [rates[0], rates[2], rates[1]]);
    saved.set_lr(0.7).unwrap();
    optimizer.set_lr(0.7).unwrap();
    let rates = saved.group_lrs();
    assert_eq!(optimizer.group_lrs(), [rates[0], rates[2], rates[1]]);
}

#[test]
fn states_from_before_there_were_groups_are_loaded() {
    let model = network(3, 2);
    let mut saved = sgd().build(&model).unwrap();
    train(&model, &mut saved, 1..3);
    let state = saved.state().unwrap();
    // The complete contents of such a state.
    let old = Snapshot::new(state.tensors().clone())
        .with("optimizer", &"SGD")
        .and_then(|old| old.with("config", &sgd().nesterov(true)))
        .and_then(|old| old.with("parameters", &["2.bias", "0.weight", "0.bias", "2.weight"]))
        .unwrap();
    let mut optimizer = sgd().build(&model).unwrap();
    optimizer.load_state(&old).unwrap();
    assert!(bytes(&model, &optimizer) == bytes(&model, &saved));
    assert_eq!(optimizer.groups()[0].options, sgd().nesterov(true));
}

#[test]
fn a_report_names_the_group_that_changed() {
    let model = network(3, 2);
    let saved = by(&["**.bias"]).build(&model).unwrap();
    let checkpoint = TrainingCheckpoint::new(0, 0)
        .with("optimizer", &saved)
        .unwrap();
    let mut optimizer = by(&["**.bias"]).build(&model).unwrap();
    let report = checkpoint.restore("optimizer", &mut optimizer).unwrap();
    assert!(report.changed.is_empty(), "{report}");
    optimizer.set_group_lr(1, 0.5).unwrap();
    let report = checkpoint.restore("optimizer", &mut optimizer).unwrap();
    let [changed] = &report.changed[..] else {
        panic!("{report}");
    };
    assert_eq!(changed.name, "group 1");
    assert!(changed.before.contains("\"lr\":0.5"), "{}", changed.before);
    assert!(changed.after.contains("\"lr\":1.1"), "{}", changed.after);
}

#[test]
fn options_that_do_not_go_on_from_the_states_are_refused() {
    let model = network(3, 2);
    let config = AdamWConfig::new(0.1);
    let mut optimizer = config.clone().group("0", |g| g).build(&model).unwrap();
    train(&model, &mut optimizer, 1..2);
    let error = message(optimizer.set_group_options(1, config.clone().amsgrad(true)));
    assert_eq!(
        error,
        "AdamW: amsgrad = true: the state has 0 `max_exp_avg_sq` for 2 parameters"
    );
    assert!(!optimizer.groups()[1].options.amsgrad);
    optimizer
        .set_group_options(1, config.clone().eps(1e-4))
        .unwrap();
    assert!(optimizer.set_group_options(2, config).is_err());
}
