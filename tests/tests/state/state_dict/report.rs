//! A report lists what was loaded, what was not and why; the error for a foreign checkpoint is short.

use module_nn::prelude::*;

use super::{floats, net, tied};

fn text(model: &dyn Module, state: &StateDict, options: LoadOptions) -> String {
    let report = model.load_state_dict_with(state, options).unwrap();
    report.to_string()
}

const ALL: &str = "<All keys matched successfully>";

#[test]
fn all_keys_matched_is_printed_only_for_the_whole_model() {
    let model = net();
    let whole = model.state_dict().unwrap();
    assert_eq!(text(&model, &whole, LoadOptions::new()), ALL);

    let mut state = whole.clone();
    state.insert("table", floats([1.0; 3]));
    let differs = "size mismatch for table: copying a param with shape [3] from checkpoint, the \
                   shape in current model is [2].";
    let lenient = || LoadOptions::new().allow_mismatch(true);
    assert_eq!(
        text(&model, &state, lenient()),
        format!("17 of 18 keys loaded\n\t{differs}")
    );

    let head = LoadOptions::new().select("head");
    let left_out = "\"scale\", \"table\", \"encoder.0.fc1.weight\", \"encoder.0.fc1.bias\", \
                    \"encoder.0.norm.weight\", \"encoder.0.norm.bias\", \
                    \"encoder.0.norm.running_mean\", \"encoder.0.norm.running_var\", \
                    \"encoder.0.norm.num_batches_tracked\", \"encoder.1.fc1.weight\"";
    assert_eq!(
        text(&model, &whole, head.clone()),
        format!("2 of 18 keys loaded\n\tnot selected: {left_out} and 6 more")
    );
    let report = model.load_state_dict_with(&whole, head).unwrap();
    assert_eq!(report.not_selected.len(), 16);
    assert!(
        report
            .full()
            .to_string()
            .ends_with("\"encoder.1.norm.num_batches_tracked\"")
    );

    // All reasons at once.
    state.remove("head.bias");
    state.remove("encoder.0.norm.num_batches_tracked");
    state.insert("head.extra", floats([1.0]));
    state.insert("mask", floats([1.0]));
    state.insert("scale.inner", floats([1.0]));
    let options = lenient().strict(false).ignore("mask");
    let options = options.select(Select::all().exclude(["scale", "encoder.1"]));
    assert_eq!(
        text(&model, &state, options),
        format!(
            "_IncompatibleKeys(missing_keys=['head.bias'], unexpected_keys=['head.extra'])\n\
             7 of 18 keys loaded\n\t{differs}\n\t\
             not in the state dict, kept as it was: \"encoder.0.norm.num_batches_tracked\"\n\t\
             not selected: \"scale\", \"encoder.1.fc1.weight\", \"encoder.1.fc1.bias\", \
             \"encoder.1.norm.weight\", \"encoder.1.norm.bias\", \
             \"encoder.1.norm.running_mean\", \"encoder.1.norm.running_var\", \
             \"encoder.1.norm.num_batches_tracked\"\n\t\
             ignored: \"mask\", \"scale.inner\""
        )
    );
}

#[test]
fn an_old_counter_is_kept_and_told() {
    let model = net();
    let mut state = model.state_dict().unwrap();
    state.remove("encoder.0.norm.num_batches_tracked");
    assert_eq!(
        text(&model, &state, LoadOptions::new()),
        "17 of 18 keys loaded\n\t\
         not in the state dict, kept as it was: \"encoder.0.norm.num_batches_tracked\""
    );
}

#[test]
fn what_came_under_another_name_of_a_tie_was_loaded() {
    let model = tied();
    let mut state = model.state_dict().unwrap();
    state.remove("decoder.weight");
    let report = model.load_state_dict(&state).unwrap();
    assert_eq!(report.tied, ["decoder.weight"]);
    assert_eq!(report.to_string(), ALL);
    let select = LoadOptions::new().select(["encoder", "decoder.bias"]);
    let report = model.load_state_dict_with(&state, select).unwrap();
    assert_eq!(
        report.to_string(),
        "3 of 5 keys loaded\n\tnot selected: \"statistics\", \"again\""
    );
}

#[test]
fn a_key_that_is_tied_to_one_of_another_shape_is_not_missing() {
    let model = tied();
    let mut state = model.state_dict().unwrap();
    state.remove("decoder.weight");
    state.insert("encoder.weight", Tensor::from([[0.0_f32; 4]; 5]));
    let error = model.load_state_dict(&state).unwrap_err().to_string();
    assert!(
        error.contains("size mismatch for encoder.weight"),
        "{error}"
    );
    assert!(!error.contains("Missing"), "{error}");
    // Nor is it loaded.
    let options = LoadOptions::new().allow_mismatch(true);
    let report = model.load_state_dict_with(&state, options).unwrap();
    assert_eq!(report.not_loaded, ["encoder.weight", "decoder.weight"]);
    assert!(report.missing.is_empty() && report.tied.is_empty());
    assert!(report.to_string().starts_with("3 of 5 keys loaded\n"));
    assert!(
        report
            .to_string()
            .ends_with("kept as it was: \"decoder.weight\"")
    );
}

#[test]
fn a_checkpoint_of_another_model_is_told_in_a_few_lines() {
    let model = net();
    let before = model.state_dict().unwrap();
    let other = (0..60).flat_map(|i| [format!("block{i}.weight"), format!("block{i}.bias")]);
    let mut state: StateDict = other.map(|key| (key, floats([0.0]))).collect();
    state.insert("table", floats([0.0; 3]));
    for strict in [true, false] {
        let options = LoadOptions::new().strict(strict);
        let error = model.load_state_dict_with(&state, options).unwrap_err();
        let text = error.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "0 of 18 keys fit: a checkpoint of another model?");
        assert_eq!(lines[1], "Error(s) in loading state_dict for Net:");
        assert!(
            lines[2].starts_with("\tMissing key(s) in state_dict: \"scale\", \"encoder.0.fc1")
                && lines[2].ends_with("\"encoder.1.norm.weight\" and 5 more. "),
            "{}",
            lines[2]
        );
        assert!(
            lines[3].ends_with("\"block4.bias\" and 110 more. "),
            "{}",
            lines[3]
        );
        assert!(lines[4].starts_with("\tsize mismatch for table"));
        assert_eq!(lines.len(), 5, "{text}");
        let Some(problems) = error.downcast_ref::<LoadProblems>() else {
            panic!("{error}");
        };
        let all = problems.full().to_string();
        assert!(all.contains("\"block59.bias\". ") && all.contains("\"head.bias\". "));
    }
    assert!(model.state_dict().unwrap().equal(&before).unwrap());
    // As soon as one key fits, the list is PyTorch's.
    state.insert("scale", Tensor::from(1.0_f32));
    let text = model.load_state_dict(&state).unwrap_err().to_string();
    assert!(text.starts_with("Error(s) in loading state_dict for Net:\n\tMissing"));
    assert!(text.contains("\"block59.bias\". "));

    let text = model.load_state_dict(&StateDict::new()).unwrap_err();
    assert!(
        text.to_string()
            .starts_with("0 of 18 keys fit: the state dict has none of them\n")
    );
}

#[test]
fn what_the_model_lacks_is_ignored_by_name() {
    let model = net();
    let mut state = model.state_dict().unwrap();
    for key in ["encoder.0.mask", "encoder.1.mask", "epoch"] {
        state.insert(key, floats([0.0]));
    }
    let load = |options: LoadOptions| model.load_state_dict_with(&state, options);
    let report = load(LoadOptions::new().ignore(["**.mask", "epoch"])).unwrap();
    assert_eq!(
        report.ignored,
        ["epoch", "encoder.0.mask", "encoder.1.mask"]
    );
    assert!(report.unexpected.is_empty() && report.not_loaded.is_empty());
    // Keys that are not covered are still strict, and a pattern must cover something.
    let error = load(LoadOptions::new().ignore("**.mask")).unwrap_err();
    let Some(problems) = error.downcast_ref::<LoadProblems>() else {
        panic!("{error}");
    };
    assert_eq!(problems.unexpected, ["epoch"]);
    let error = load(LoadOptions::new().ignore(["**.mask", "epohc"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`epohc` selects nothing; did you mean `epoch`?"
    );
    let error = load(LoadOptions::new().ignore("head")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ignore: pattern = head: covers `head.bias`, which the module has: leave it out of the \
         load by `select(Select::all().exclude(\"head.bias\"))`"
    );
    // The keys are those after renaming.
    let rules = Remap::new().rename("epoch", "step");
    let options = LoadOptions::new().remap(rules);
    let report = load(options.ignore(["encoder.*.mask", "step"])).unwrap();
    assert_eq!(report.ignored[0], "step");
}

#[test]
fn what_only_some_files_have_is_ignored_where_it_is() {
    let model = net();
    let state = model.state_dict().unwrap();
    let mut older = state.clone();
    older.insert("encoder.0.mask", floats([0.0]));
    older.insert("epoch", floats([0.0]));
    let load = |state: &StateDict, options: LoadOptions| model.load_state_dict_with(state, options);
    let options = || LoadOptions::new().ignore_if_present(["**.mask", "epoch", "step"]);
    assert!(load(&state, options()).unwrap().ignored.is_empty());
    let report = load(&older, options()).unwrap();
    assert_eq!(report.ignored, ["epoch", "encoder.0.mask"]);
    // Keys that are not covered are still strict, next to required keys too.
    let error = load(&older, LoadOptions::new().ignore_if_present("epoch")).unwrap_err();
    let Some(problems) = error.downcast_ref::<LoadProblems>() else {
        panic!("{error}");
    };
    assert_eq!(problems.unexpected, ["encoder.0.mask"]);
    let both = || {
        LoadOptions::new()
            .ignore("epoch")
            .ignore_if_present("**.mask")
    };
    assert_eq!(load(&older, both()).unwrap().ignored.len(), 2);
    assert!(load(&state, both()).is_err());
    let error = load(&state, LoadOptions::new().ignore_if_present("head")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("ignore_if_present: pattern = head: covers `head.bias`"),
        "{text}"
    );
    let error = load(&state, LoadOptions::new().ignore_if_present("mask.{0")).unwrap_err();
    assert!(error.to_string().contains("is not closed"), "{error}");
}

#[test]
fn the_rule_for_a_prefix_is_found_beside_other_keys() {
    let model = net();
    let rule = |state: &StateDict| {
        let error = model.load_state_dict(state).unwrap_err();
        let Some(problems) = error.downcast_ref::<LoadProblems>() else {
            panic!("{error}");
        };
        let rule = problems.prefix.clone();
        if let Some((from, to)) = &rule {
            let rule = format!("`LoadOptions::new().remap(Remap::new().prefix({from:?}, {to:?}))`");
            assert!(error.to_string().ends_with(&rule), "{error}");
        }
        rule
    };
    let own = model.state_dict().unwrap();
    let module = Some(("module".to_owned(), String::new()));
    // The file has more, the model has more, or both, and some keys fit unchanged.
    let mut state = own.add_prefix("module").unwrap();
    state.insert("epoch", floats([0.0]));
    assert_eq!(rule(&state), module);
    state.remove("module.head.bias");
    state.remove("module.head.weight");
    assert_eq!(rule(&state), module);
    state.insert("head.bias", own.get("head.bias").unwrap().clone());
    assert_eq!(rule(&state), module);

    // The model is the longer one.
    #[derive(Module)]
    struct Wrapped {
        net: super::Net,
    }
    let model = Wrapped { net: net() };
    let mut state = own.clone();
    state.insert("epoch", floats([0.0]));
    state.remove("scale");
    let error = model.load_state_dict(&state).unwrap_err().to_string();
    assert!(error.contains("prefix(\"\", \"net\")"), "{error}");

    // A rule that would lose as many keys as it gains is not suggested.
    let model = vec![Linear::new(1, 1).unwrap(), Linear::new(1, 1).unwrap()];
    let state = model.state_dict().unwrap();
    let state: StateDict = state
        .into_iter()
        .map(|(key, value)| (key.replace("1.", "0.1."), value))
        .collect();
    let error = model.load_state_dict(&state).unwrap_err();
    assert!(!error.to_string().contains("Remap"), "{error}");
}
