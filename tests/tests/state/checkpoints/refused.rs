//! Training checkpoints of something else, and damaged ones.

use super::*;

#[test]
fn states_of_something_else_change_nothing() {
    let model = net();
    let mut optimizer = AdamW::new(&model, 1e-2).unwrap();
    fork_rng(1, || train(&model, &mut optimizer, 0..2));
    let before = bytes(optimizer.state().unwrap().tensors());
    let mut refuse = |state: &Snapshot, words: &str| {
        let message = optimizer.load_state(state).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
        assert_eq!(bytes(optimizer.state().unwrap().tensors()), before);
        assert_eq!(optimizer.lr(), 1e-2 / 1.1);
    };
    refuse(&model.state().unwrap(), "parameters");
    let other = Sequential::new().push(Linear::new(6, 16).unwrap());
    let other = AdamW::new(&other, 0.5).unwrap();
    refuse(&other.state().unwrap(), "0.");
    let part = AdamW::new(&model.first, 0.5).unwrap();
    refuse(&part.state().unwrap(), "weight");
    let max = AdamWConfig::new(0.5).amsgrad(true).build(&model);
    let state = |optimizer: &AdamW, edit: &dyn Fn(&mut StateDict)| {
        let state = optimizer.state().unwrap();
        let mut tensors = state.tensors().clone();
        edit(&mut tensors);
        let config: serde_json::Value = state.get("config").unwrap();
        let paths: Vec<String> = state.get("parameters").unwrap();
        Snapshot::new(tensors)
            .with("config", &config)
            .unwrap()
            .with("parameters", &paths)
            .unwrap()
    };
    let trained = net();
    let mut trained_optimizer = AdamW::new(&trained, 0.5).unwrap();
    fork_rng(2, || train(&trained, &mut trained_optimizer, 0..2));
    let edited = |edit: &dyn Fn(&mut StateDict)| state(&trained_optimizer, edit);
    let remove = |key: &'static str| edited(&move |tensors| drop(tensors.remove(key)));
    refuse(&remove("first.weight.exp_avg"), "`exp_avg` is missing");
    refuse(&remove("last.bias.step"), "`step` is missing");
    let put =
        |key: &'static str, x: Tensor| edited(&move |tensors| drop(tensors.insert(key, x.clone())));
    refuse(&put("first.weight.exp_avg", constant(0.0, 3)), "shape");
    refuse(
        &put("first.weight.step", Tensor::from(-1_i64)),
        "`step` is -1",
    );
    refuse(&put("first.weight.step", Tensor::from(1.0_f32)), "`step`");
    refuse(
        &put(
            "first.weight.momentum",
            constant(0.0, 96).reshape([16, 6]).unwrap(),
        ),
        "momentum",
    );
    refuse(
        &put("second.weight.step", Tensor::from(1_i64)),
        "no parameter",
    );
    let with_max = edited(&|_| {}).with("config", &AdamWConfig::new(0.5).amsgrad(true));
    refuse(&with_max.unwrap(), "max_exp_avg_sq");
    let wrong = edited(&|_| {}).with("config", &AdamWConfig::new(-1.0));
    refuse(&wrong.unwrap(), "lr");
    drop(max);

    let mut generator = Generator::new(5);
    let state = Snapshot::new(StateDict::from_iter([("state", Tensor::from([1_u8, 2]))]));
    assert!(generator.load_state(&state).is_err());
    assert!(generator.load_state(&Snapshot::default()).is_err());
    assert_eq!(generator, Generator::new(5));
}

#[test]
fn the_state_of_another_optimizer_is_called_so() {
    let model = net();
    let mut adamw = AdamW::new(&model, 1e-2).unwrap();
    let mut sgd = SGDConfig::new(1e-2).momentum(0.9).build(&model).unwrap();
    fork_rng(1, || {
        train(&model, &mut adamw, 0..2);
        train(&model, &mut sgd, 0..2);
    });
    let checkpoint = TrainingCheckpoint::new(0, 0).with("adamw", &adamw).unwrap();
    let checkpoint = checkpoint.with("sgd", &sgd).unwrap();
    let checkpoint = checkpoint.with("model", &model).unwrap();
    let before = [sgd.state().unwrap(), adamw.state().unwrap()].map(|s| bytes(s.tensors()));
    let message = |result: Result<RestoreReport>| result.unwrap_err().to_string();
    assert_eq!(
        message(checkpoint.restore("adamw", &mut sgd)),
        "load_state: state = AdamW: it is the state of AdamW, and this is SGD; build the optimizer \
         that was saved, or start this one without a state"
    );
    let other = message(checkpoint.restore("sgd", &mut adamw));
    assert!(
        other.contains("it is the state of SGD, and this is AdamW"),
        "{other}"
    );
    let none = message(checkpoint.restore("model", &mut sgd));
    assert!(
        none.contains("it is the state of no optimizer, and this is SGD"),
        "{none}"
    );
    // Checkpoints that do not name the optimizer are identified by its configuration.
    let state = adamw.state().unwrap();
    let config: serde_json::Value = state.get("config").unwrap();
    let paths: Vec<String> = state.get("parameters").unwrap();
    let unnamed = Snapshot::new(state.tensors().clone());
    let unnamed = unnamed.with("config", &config).unwrap();
    let unnamed = unnamed.with("parameters", &paths).unwrap();
    let old = sgd.load_state(&unnamed).unwrap_err().to_string();
    assert!(
        old.contains("its configuration is not one of SGD") && old.contains("unknown field"),
        "{old}"
    );
    adamw.load_state(&unnamed).unwrap();
    let after = [sgd.state().unwrap(), adamw.state().unwrap()].map(|s| bytes(s.tensors()));
    assert!(before == after);
}

#[test]
fn restoring_reports_changed_hyperparameters() {
    let model = net();
    let mut saved = AdamWConfig::new(1e-2)
        .weight_decay(0.1)
        .build(&model)
        .unwrap();
    saved.set_lr(3e-3).unwrap();
    let checkpoint = TrainingCheckpoint::new(0, 0)
        .with("optimizer", &saved)
        .unwrap();
    let checkpoint = checkpoint.with("model", &model).unwrap();
    let restore = |config: AdamWConfig| {
        let mut optimizer = config.build(&model).unwrap();
        let report = checkpoint.restore("optimizer", &mut optimizer).unwrap();
        assert_eq!(optimizer.lr(), 3e-3);
        report
    };
    let same = restore(AdamWConfig::new(3e-3).weight_decay(0.1));
    assert_eq!(same, RestoreReport::default());
    assert_eq!(same.to_string(), "restored");
    let other = restore(AdamWConfig::new(5e-4).betas((0.8, 0.999)).weight_decay(0.1));
    assert_eq!(
        other.to_string(),
        "restored; betas was [0.8,0.999] and is [0.9,0.999], lr was 0.0005 and is 0.003"
    );
    let names: Vec<&str> = other.changed.iter().map(|setting| &*setting.name).collect();
    assert_eq!(names, ["betas", "lr"]);
    // A model has no configuration, and its hooks are not called.
    let mut model = net();
    let report = checkpoint.restore("model", &mut model).unwrap();
    assert_eq!(report.to_string(), "restored");
}

#[test]
fn wrong_checkpoints_are_named() {
    let scratch = Scratch::directory("checkpoints-wrong");
    let model = net();
    let empty = TrainingCheckpoint::new(0, 0);
    for name in ["", "a.b", "../x", "a/b", "ä", "a b"] {
        assert!(empty.clone().with(name, &model).is_err(), "{name}");
    }
    let one = empty.with("model", &model).unwrap();
    assert!(one.clone().with("Model", &model).is_err());
    let message = one.get("modle").unwrap_err().to_string();
    assert!(message.contains("did you mean `model`"), "{message}");

    assert!(TrainingCheckpoint::load(&scratch.0).is_err());
    one.save(&scratch.0).unwrap();
    let index = scratch.file("checkpoint.json");
    let text = std::fs::read_to_string(&index).unwrap();
    let refuse = |text: &[u8]| {
        std::fs::write(&index, text).unwrap();
        let error = TrainingCheckpoint::load(&scratch.0).unwrap_err();
        let typed = matches!(
            error.downcast_ref(),
            Some(FileError::Format { .. } | FileError::File { .. })
        );
        assert!(typed, "{error}");
    };
    for end in 0..text.trim_end().len() {
        refuse(&text.as_bytes()[..end]);
    }
    for (from, to) in [
        ("\"version\": 1", "\"version\": 2"),
        ("\"version\": 1", "\"version\": 1, \"version\": 1"),
        ("\"epoch\": 0", "\"epoch\": -1"),
        ("\"epoch\": 0", "\"epoch\": 0.5"),
        ("model.0.safetensors", "../model.0.safetensors"),
        ("model.0.safetensors", "/etc/passwd"),
        ("model.0.safetensors", "checkpoint.json"),
        ("model.0.safetensors", "model.1.safetensors"),
        (
            "\"parts\": {",
            "\"parts\": {\"model\": {\"file\": \"model.0.safetensors\", \"values\": {}},",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        refuse(text.replacen(from, to, 1).as_bytes());
    }
    refuse(b"\xff");
    std::fs::write(&index, &text).unwrap();
    let mut other = Linear::new(6, 16).unwrap();
    let before = bytes(&other.state_dict().unwrap());
    let loaded = TrainingCheckpoint::load(&scratch.0).unwrap();
    assert!(loaded.restore("model", &mut other).is_err());
    assert_eq!(bytes(&other.state_dict().unwrap()), before);
}
