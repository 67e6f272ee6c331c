//! Optimizers whose type is known only at run time.

use module_nn::prelude::*;

use super::{bytes, network, train};

fn build(model: &dyn Module) -> [Box<dyn Optimizer>; 2] {
    let sgd = SGDConfig::new(0.1).momentum(0.9);
    [
        Box::new(sgd.build(model).unwrap()),
        Box::new(AdamW::new(model, 0.1).unwrap()),
    ]
}

#[test]
fn a_boxed_optimizer_steps_is_saved_and_restored() {
    for kind in 0..2 {
        let model = fork_rng(1, || network(3, 2));
        let [mut sgd, mut adamw] = build(&model);
        let optimizer = if kind == 0 { &mut sgd } else { &mut adamw };
        train(&model, &mut **optimizer, 1..4);
        // As a box, and as its content.
        let saved = TrainingCheckpoint::new(0, 3)
            .with("box", optimizer)
            .unwrap();
        let saved = saved.with("optimizer", &**optimizer).unwrap();
        let saved = saved.with("model", &model).unwrap();
        train(&model, &mut **optimizer, 4..6);
        let straight = bytes(&model, &**optimizer);

        for name in ["box", "optimizer"] {
            let mut model = network(3, 2);
            let mut optimizer = build(&model).into_iter().nth(kind).unwrap();
            saved.restore("model", &mut model).unwrap();
            let report = match name {
                "box" => saved.restore(name, &mut optimizer).unwrap(),
                _ => saved.restore(name, &mut *optimizer).unwrap(),
            };
            assert_eq!(report.changed.len(), 1, "{report}");
            assert_eq!(report.changed[0].name, "lr");
            train(&model, &mut *optimizer, 4..6);
            assert!(bytes(&model, &*optimizer) == straight, "{name}");
        }
    }
}

#[test]
fn a_boxed_optimizer_without_groups_has_one() {
    let model = network(3, 2);
    for mut optimizer in build(&model) {
        optimizer.set_group_lr(0, 0.25).unwrap();
        assert_eq!((optimizer.lr(), optimizer.group_lrs()), (0.25, vec![0.25]));
        let error = optimizer.set_group_lr(1, 0.5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "set_group_lr: there is no group 1; the optimizer has 1, counted from 0"
        );
    }
}
