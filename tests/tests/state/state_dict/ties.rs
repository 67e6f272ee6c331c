//! Tied tensors.

use super::*;

#[track_caller]
fn assert_tied(model: &Tied) {
    assert_eq!(model.encoder.weight().id(), model.decoder.weight().id());
    assert_eq!(model.statistics.id(), model.again.id());
}

#[test]
fn a_tied_tensor_is_saved_under_every_name_and_loads_tied() {
    let (model, other) = (tied(), tied());
    let state = other.state_dict().unwrap();
    let keys: Vec<&str> = state.keys().collect();
    let expected = [
        "statistics",
        "again",
        "encoder.weight",
        "decoder.weight",
        "decoder.bias",
    ];
    assert_eq!(keys, expected);
    assert!(model.load_state_dict(&state).unwrap().not_loaded.is_empty());
    assert_tied(&model);
    assert_same(&model.state_dict().unwrap(), &state, "loaded");
}

#[test]
fn two_values_for_one_tied_tensor_are_an_error_that_changes_nothing() {
    let model = tied();
    let before = model.state_dict().unwrap();
    let mut state = before.clone();
    let zeros = before.get("encoder.weight").unwrap().zeros_like().unwrap();
    state.insert("decoder.weight", zeros);
    let error = model.load_state_dict(&state).unwrap_err();
    let Some(problems) = error.downcast_ref::<LoadProblems>() else {
        panic!("{error}");
    };
    let names = ("encoder.weight".to_owned(), "decoder.weight".to_owned());
    assert_eq!(problems.untied, [names]);
    assert!(
        error
            .to_string()
            .contains("\"encoder.weight\" and \"decoder.weight\" are one tensor")
    );
    assert_same(&model.state_dict().unwrap(), &before, "after the error");
}

#[test]
fn a_tied_tensor_under_one_of_its_names_is_not_fresh() {
    let model = tied();
    let mut state = tied().state_dict().unwrap();
    let weight = state.remove("decoder.weight").unwrap();
    for other in ["encoder.weight", "decoder.weight"] {
        let report = model.load_state_dict(&state).unwrap();
        assert!(report.missing.is_empty() && report.not_loaded.is_empty());
        assert_eq!(report.to_string(), "<All keys matched successfully>");
        assert_tied(&model);
        assert_eq!(
            compare(&model.encoder.weight().detach(), &weight, Tolerance::EXACT),
            Ok(())
        );
        if state.contains_key("encoder.weight") {
            state.rename(other, "decoder.weight").unwrap();
        }
    }
}

#[test]
fn ties_survive_a_file_which_holds_them_once() {
    let path = std::env::temp_dir().join(format!("tied-{}.safetensors", std::process::id()));
    let (model, other) = (tied(), tied());
    other.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    other.save(&path).unwrap();
    // Two ties are two metadata entries, whose order must not change between runs.
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    assert_eq!(bytes.len() - 8 - length, 4 * (3 * 5 + 5 + 2));
    assert!(model.load(&path).unwrap().not_loaded.is_empty());
    std::fs::remove_file(path).unwrap();
    assert_tied(&model);
    assert_same(
        &model.state_dict().unwrap(),
        &other.state_dict().unwrap(),
        "loaded",
    );
}
