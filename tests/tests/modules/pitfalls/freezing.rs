//! Selection, and what is frozen and stays frozen.

use module_nn::prelude::*;

use super::{Net, backward, changed, images, net, step};

fn optimizers(model: &Net) -> [Box<dyn Optimizer>; 2] {
    let adamw = AdamWConfig::new(0.1).weight_decay(0.5);
    let sgd = SGDConfig::new(0.1).momentum(0.9).weight_decay(0.5);
    [
        Box::new(adamw.build(model).unwrap()),
        Box::new(sgd.build(model).unwrap()),
    ]
}

#[test]
fn pitfall_17_a_selection_of_nothing_is_an_error_wherever_it_is_used() {
    let model = net();
    let before = model.state_dict().unwrap();
    let expected = "`hiden.*` selects nothing; did you mean `hidden.*`?";
    let errors = [
        model.freeze("hiden.*").unwrap_err(),
        model.freeze_parameters("hiden.*").unwrap_err(),
        model.unfreeze("hiden.*").unwrap_err(),
        before.filter("hiden.*").unwrap_err(),
        before.partition("hiden.*").unwrap_err(),
        model
            .load_state_dict_with(&before, LoadOptions::new().select("hiden.*"))
            .unwrap_err(),
        model
            .load_state_dict_with(&before, LoadOptions::new().transpose("hiden.*"))
            .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.to_string(), expected);
        assert!(matches!(
            error.downcast_ref(),
            Some(ModuleError::NothingSelected { .. })
        ));
    }
    // Among several patterns, one that matches nothing is still reported.
    assert!(model.freeze(["head", "hiden"]).is_err());
    assert!(model.freeze("head.**.").is_err());
    assert_eq!(model.num_trainable(), model.num_parameters());
}

#[test]
fn pitfall_28_what_is_frozen_stays_to_the_last_bit_through_a_hundred_steps() {
    for number in 0..2 {
        let model = net();
        let mut optimizer = optimizers(&model).into_iter().nth(number).unwrap();
        // It has momentum and a gradient when it is frozen.
        step(&model, &mut *optimizer);
        backward(&model, images(1));
        let frozen = model.freeze(["hidden", "**.bias"]).unwrap();
        assert_eq!(
            frozen,
            ["hidden.weight", "hidden.bias", "norm.bias", "head.bias"]
        );
        let before = model.state_dict().unwrap();
        for _ in 0..100 {
            backward(&model, images(1));
            optimizer.step(&model).unwrap();
        }
        let moved = changed(&before, &model.state_dict().unwrap());
        let expected = [
            "norm.weight",
            "norm.running_mean",
            "norm.running_var",
            "norm.num_batches_tracked",
            "head.weight",
        ];
        assert_eq!(moved, expected);
        assert_eq!(model.num_trainable(), 4 + 8);
    }
}

#[test]
fn pitfall_28_freezing_drops_the_state_of_the_optimizer() {
    for number in 0..2 {
        let values = [true, false].map(|anew| {
            let model = fork_rng(1, net);
            let build = || optimizers(&model).into_iter().nth(number).unwrap();
            let mut optimizer = build();
            step(&model, &mut *optimizer);
            // Frozen and unfrozen again before a step could notice it.
            model.freeze(Select::all()).unwrap();
            model.unfreeze(Select::all()).unwrap();
            assert!(
                model
                    .parameters()
                    .all(|parameter| parameter.grad().is_none())
            );
            if anew {
                optimizer = build();
            }
            step(&model, &mut *optimizer);
            model.state_dict().unwrap()
        });
        assert!(values[0].equal(&values[1]).unwrap());
    }
}

fn statistics(model: &Net) -> StateDict {
    let state = model.state_dict().unwrap();
    state.filter(["norm.running_*", "norm.num_*"]).unwrap()
}

#[test]
fn pitfall_29_frozen_statistics_do_not_drift() {
    for frozen in [Select::from("norm"), Select::from("norm.*"), Select::all()] {
        let model = net();
        model.call(images(0)).unwrap();
        let before = statistics(&model);
        model.freeze(&frozen).unwrap();
        // Code that trains the rest calls `train` every epoch.
        model.train();
        assert!(model.is_training());
        let y = model.call(images(1)).unwrap();
        assert!(statistics(&model).equal(&before).unwrap());
        // It normalizes with its running statistics, as in evaluation mode.
        model.eval();
        assert!(model.call(images(1)).unwrap().equal(&y).unwrap());

        model.train();
        model.unfreeze(&frozen).unwrap();
        model.call(images(1)).unwrap();
        assert_eq!(changed(&before, &statistics(&model)).len(), 3);
        assert_eq!(model.num_trainable(), model.num_parameters());
    }
}

#[test]
fn pitfall_29_statistics_may_be_asked_to_keep_moving() {
    let model = net();
    let moving = Select::from("norm").exclude("**.running_*");
    let ways: [&dyn Fn() -> Result<Vec<String>>; 3] = [
        &|| model.freeze_parameters("norm"),
        &|| model.freeze(&moving),
        &|| model.freeze("norm.{weight,bias}"),
    ];
    for freeze in ways {
        assert_eq!(freeze().unwrap(), ["norm.weight", "norm.bias"]);
        let before = statistics(&model);
        model.call(images(1)).unwrap();
        assert_eq!(changed(&before, &statistics(&model)).len(), 3);
        assert!(
            model
                .norm
                .parameters()
                .all(|parameter| !parameter.requires_grad())
        );
        model.unfreeze("norm").unwrap();
    }
}

#[test]
fn a_tied_tensor_is_frozen_under_any_of_its_names() {
    let first = Linear::new(2, 2).unwrap();
    let mut second = Linear::new(2, 2).unwrap();
    second.tie_weight(first.weight()).unwrap();
    let layers = [first, second];
    assert_eq!(layers.freeze("1.weight").unwrap(), ["1.weight"]);
    assert!(!layers[0].weight().requires_grad());
    assert!(layers[0].bias().get().unwrap().requires_grad());
}
