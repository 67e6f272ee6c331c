//! The options for loading, and the help in error messages.

use module_nn::prelude::*;

use super::{assert_same, floats, net};

/// Every value is `number`.
fn filled(model: &dyn Module, number: f64) -> StateDict {
    let state = model.state_dict().unwrap();
    let full = |(key, value): (String, Tensor)| (key, value.full_like(number).unwrap());
    state.into_iter().map(full).collect()
}

/// The keys whose first value is `number`.
fn keys_with(model: &dyn Module, number: f32) -> Vec<String> {
    let state = model.state_dict().unwrap().into_iter();
    let first = |value: &Tensor| value.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap()[0];
    state
        .filter(|(_, value)| first(value) == number)
        .map(|(key, _)| key)
        .collect()
}

#[test]
fn a_selection_loads_its_keys_and_no_others() {
    let model = net();
    let mut state = filled(&model, 7.0);
    state.remove("scale");
    state.insert("stranger", floats([1.0]));
    let report = model
        .load_state_dict_with(
            &state,
            LoadOptions::new().select(["encoder.0", "head.bias"]),
        )
        .unwrap();
    let expected: Vec<_> = state
        .keys()
        .filter(|key| key.starts_with("encoder.0.") || *key == "head.bias")
        .map(str::to_owned)
        .collect();
    assert_eq!(keys_with(&model, 7.0), expected);
    assert_eq!(report.loaded.len(), expected.len());
    assert!(report.not_loaded.is_empty() && report.unexpected.is_empty());

    // Selected keys are strict.
    state.remove("encoder.0.fc1.bias");
    state.insert("encoder.0.stranger", floats([1.0]));
    let select = || LoadOptions::new().select("encoder.0");
    let error = model.load_state_dict_with(&state, select()).unwrap_err();
    let Some(problems) = error.downcast_ref::<LoadProblems>() else {
        panic!("{error}");
    };
    assert_eq!(problems.missing, ["encoder.0.fc1.bias"]);
    assert_eq!(problems.unexpected, ["encoder.0.stranger"]);

    let slip = LoadOptions::new().select("encodr");
    let error = model.load_state_dict_with(&state, slip).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`encodr` selects nothing; did you mean `encoder`?"
    );
    let nothing = LoadOptions::new().select(Select::none());
    assert!(
        model
            .load_state_dict_with(&state, nothing)
            .unwrap()
            .loaded
            .is_empty()
    );
}

#[test]
fn rules_turn_foreign_keys_into_own_ones() {
    let (model, other) = (net(), net());
    let foreign = other
        .state_dict()
        .unwrap()
        .remap(
            &Remap::new()
                .regex(r"^encoder\.(\d)\.", "blocks.$1.inner.")
                .unwrap(),
        )
        .unwrap()
        .add_prefix("module")
        .unwrap();
    assert!(model.load_state_dict(&foreign).is_err());
    let rules = Remap::new()
        .prefix("module", "")
        .regex(r"^blocks\.(\d)\.inner\.", "encoder.$1.")
        .unwrap();
    let options = LoadOptions::new().remap(rules);
    assert!(
        model
            .load_state_dict_with(&foreign, options)
            .unwrap()
            .not_loaded
            .is_empty()
    );
    assert_same(
        &model.state_dict().unwrap(),
        &other.state_dict().unwrap(),
        "loaded",
    );
}

#[test]
fn a_common_prefix_is_named_with_the_rule_that_fixes_it() {
    let (model, other) = (net(), net());
    let state = other.state_dict().unwrap();
    let hint = |state: &StateDict, options: LoadOptions| {
        let error = model
            .load_state_dict_with(state, options)
            .unwrap_err()
            .to_string();
        error.lines().last().unwrap().trim().to_owned()
    };
    let prefixed = state.add_prefix("module").unwrap();
    let expected = "the keys of the state dict start with \"module.\": load with \
         `LoadOptions::new().remap(Remap::new().prefix(\"module\", \"\"))`";
    assert_eq!(hint(&prefixed, LoadOptions::new()), expected);
    assert_eq!(hint(&prefixed, LoadOptions::new().strict(false)), expected);
    let deep = state.add_prefix("model.net").unwrap();
    assert!(hint(&deep, LoadOptions::new()).contains("prefix(\"model.net\", \"\")"));
    // The other way round: the model wraps what was saved.
    let block = other
        .get_submodule("encoder.0")
        .unwrap()
        .state_dict()
        .unwrap();
    let wrapped = Sequential::new()
        .push_named("net", Linear::new(3, 4).unwrap())
        .unwrap();
    let error = wrapped.load_state_dict(&block.filter("fc1").unwrap().strip_prefix("fc1").unwrap());
    let error = error.unwrap_err().to_string();
    assert!(
        error.ends_with(
            "the keys of the module start with \"net.\": load with \
             `LoadOptions::new().remap(Remap::new().prefix(\"\", \"net\"))`"
        ),
        "{error}"
    );
    // And following the advice works.
    let options = LoadOptions::new().remap(Remap::new().prefix("module", ""));
    assert!(model.load_state_dict_with(&prefixed, options).is_ok());
}

#[test]
fn the_dtype_of_the_file_is_used_on_request() {
    #[derive(Module)]
    struct Mixed {
        weight: Parameter,
        table: Buffer,
        positions: Buffer,
        counter: Buffer,
    }

    let model = Mixed {
        weight: Parameter::new(floats([1.0])).unwrap(),
        table: Buffer::new(floats([1.0])),
        positions: Buffer::new(floats([1.0])).keep_dtype(),
        counter: Buffer::new(Tensor::from([1_i64])),
    };
    model.weight.set_grad(floats([1.0])).unwrap();
    let half = Tensor::from([0.5_f32]).to_dtype(DType::BF16).unwrap();
    let names = ["weight", "table", "positions", "counter"];
    let state: StateDict = names.map(|name| (name, half.clone())).into_iter().collect();
    let dtypes = || names.map(|name| model.state_dict().unwrap().get(name).unwrap().dtype());
    let (f32, bf16, i64) = (DType::F32, DType::BF16, DType::I64);
    assert!(model.load_state_dict(&state).is_ok());
    assert_eq!(dtypes(), [f32, f32, f32, i64]);
    assert!(model.weight.grad().is_some());
    let assign = LoadOptions::new().assign_dtype(true);
    assert!(model.load_state_dict_with(&state, assign.clone()).is_ok());
    assert_eq!(dtypes(), [bf16, bf16, f32, bf16]);
    // A gradient of the old dtype would not fit the value.
    assert!(model.weight.grad().is_none());
    // A parameter is floating-point in any case.
    let whole: StateDict = names
        .map(|name| (name, Tensor::from([3_i64])))
        .into_iter()
        .collect();
    assert!(model.load_state_dict_with(&whole, assign).is_ok());
    assert_eq!(dtypes(), [bf16, i64, f32, i64]);
}

#[test]
fn weights_of_another_layout_are_transposed_where_asked() {
    let (model, other) = (net(), net());
    let mut state = other.state_dict().unwrap();
    for key in ["encoder.0.fc1.weight", "encoder.1.fc1.weight"] {
        let turned = state.get(key).unwrap().t().unwrap().contiguous().unwrap();
        state.insert(key, turned);
    }
    assert!(model.load_state_dict(&state).is_err());
    let options = LoadOptions::new().transpose("encoder.*.fc1");
    assert!(model.load_state_dict_with(&state, options).is_ok());
    assert_same(
        &model.state_dict().unwrap(),
        &other.state_dict().unwrap(),
        "loaded",
    );
    assert!(model.encoder[0].fc1.weight().detach().is_contiguous());
    // With the wrong transposition they do not fit; an unknown name is reported.
    let options = LoadOptions::new().transpose("head");
    assert!(
        model
            .load_state_dict_with(&other.state_dict().unwrap(), options)
            .is_err()
    );
    let options = LoadOptions::new().transpose("encoder.*.fc");
    assert!(
        model
            .load_state_dict_with(&state, options)
            .unwrap_err()
            .to_string()
            .contains("fc1")
    );
}

#[test]
fn exactly_the_parameters_that_were_not_loaded_are_redrawn() {
    let model = net();
    let mut state = filled(&model, 7.0);
    state.remove("head.bias");
    state.remove("encoder.1.norm.running_var");
    let report = model
        .load_state_dict_with(&state, LoadOptions::new().strict(false))
        .unwrap();
    let fresh = ["encoder.1.norm.running_var", "head.bias"];
    assert_eq!(report.not_loaded, fresh);
    let bias = model.head.bias().get().unwrap();
    bias.set(floats([9.0; 2])).unwrap();
    let var = model.get_buffer(fresh[0]).unwrap();
    var.set(floats([9.0; 4])).unwrap();
    report.reset_not_loaded(&model).unwrap();
    assert!(
        bias.detach()
            .to_vec::<f32>()
            .unwrap()
            .iter()
            .all(|x| x.abs() <= 0.5)
    );
    assert_eq!(var.tensor().to_vec::<f32>().unwrap(), [1.0; 4]);
    let after = model.state_dict().unwrap();
    for (key, value) in &state {
        let now = after.get(key).unwrap();
        assert!(now.equal(value).unwrap(), "{key}");
    }
    // Another model lacks the keys; a parameter created from a tensor has no initializer.
    let error = report
        .reset_not_loaded(&Linear::new(1, 1).unwrap())
        .unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(ModuleError::NoSuchMember { .. })),
        "{error}"
    );
    let mut report = report;
    report.not_loaded.push("scale".to_owned());
    let error = report.reset_not_loaded(&model).unwrap_err();
    assert!(
        matches!(
            error.downcast_ref(),
            Some(ModuleError::NoInitializer { .. })
        ),
        "{error}"
    );
    assert_same(&model.state_dict().unwrap(), &after, "after the error");
}
