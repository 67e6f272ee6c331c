//! States in a training checkpoint, and without some parameters.

use super::*;

#[test]
fn an_entry_of_a_training_checkpoint_is_loaded_with_the_rates_of_its_schedule() {
    let recorded = Recorded::read();
    let case = recorded.case("adamw");
    let path = golden::path("torch_optimizers/training.pt");
    let model = case.model("init");
    let mut optimizer = AdamW::new(&model, 0.3).unwrap();

    let error = optimizer.load_torch(&path).unwrap_err().to_string();
    assert!(
        error.contains("a dict is not an `optimizer.state_dict()`"),
        "{error}"
    );
    assert!(error.contains("ReadOptions::entry"), "{error}");
    let options = LoadOptions::new().entry("model");
    let _ = model.load_with(&path, options).unwrap();
    let entry = ReadOptions::new().entry("optimizer");
    let report = optimizer.load_torch_with(&path, &entry).unwrap();
    assert_eq!(report.to_string(), "restored; lr was 0.3 and is 0.01");
    assert_eq!(optimizer.lr(), 0.01);
    assert_eq!(optimizer.initial_lrs(), Some(vec![0.02]));

    // Its epoch is beside it, and the object of a class is known by its name alone.
    let whole = TorchObject::load(&path).unwrap();
    assert!(matches!(whole.get("epoch"), Some(TorchObject::Int(3))));
    let args = whole.get("args").unwrap().describe();
    assert_eq!(args, "an object of `argparse.Namespace`");
    assert!(
        whole
            .to_bytes()
            .unwrap_err()
            .to_string()
            .contains("`argparse.Namespace`")
    );

    optimizer.set_lr(0.02).unwrap();
    for step in recorded.number("saved")..recorded.number("steps") {
        case.step(&mut optimizer, &model, step);
    }
    case.check(&model, "after");
    // The rate of the schedule is saved again.
    let saved = optimizer.torch_state_dict().unwrap();
    let Some(TorchObject::List(groups)) = saved.get("param_groups") else {
        panic!()
    };
    assert!(matches!(groups[0].get("initial_lr"), Some(TorchObject::Float(lr)) if *lr == 0.02));
}

/// A script may pass only the trained parameters to PyTorch's optimizer.
#[test]
fn positions_may_omit_untrained_parameters() {
    let recorded = Recorded::read();
    let case = recorded.case("muon");
    let mut all = case.saved_model();
    let frozen = Parameter::new(Tensor::ones([2, 2], DType::F32).unwrap()).unwrap();
    all.insert("a", frozen).unwrap();
    let mut optimizer = Muon::new(&all, 0.3).unwrap();
    assert!(
        optimizer
            .load_torch_state_dict(&case.torch_state())
            .is_err()
    );
    all.item("a").unwrap().set_requires_grad(false);
    optimizer
        .load_torch_state_dict(&case.torch_state())
        .unwrap();
    assert!(optimizer.states().get("p2").is_some() && optimizer.states().get("a").is_none());
}
