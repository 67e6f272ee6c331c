//! Saving and loading: complete, independent, and refused if something does not fit.

use module_nn::prelude::*;

use module_tests::files::Scratch;

use super::{Net, changed, images, net, step};

/// Loading must fail with a text that contains `part`, and change nothing.
#[track_caller]
fn assert_refused(model: &Net, state: &StateDict, options: LoadOptions, part: &str) {
    let before = model.state_dict().unwrap();
    let error = model.load_state_dict_with(state, options).unwrap_err();
    assert!(error.to_string().contains(part), "{error}");
    assert!(changed(&before, &model.state_dict().unwrap()).is_empty());
}

fn lenient() -> LoadOptions {
    LoadOptions::new().strict(false)
}

#[test]
fn pitfall_19_a_partial_load_is_an_error_or_reports_what_is_not_loaded() {
    let model = net();
    let mut state = net().state_dict().unwrap();
    state.remove("head.weight");
    let missing = "Missing key(s) in state_dict: \"head.weight\"";
    assert_refused(&model, &state, LoadOptions::new(), missing);
    let report = model.load_state_dict_with(&state, lenient()).unwrap();
    assert_eq!(report.not_loaded, ["head.weight"]);
    // Only values that remain fresh can be redrawn.
    let zeros = model.head.weight().detach().zeros_like().unwrap();
    model.head.weight().set(zeros).unwrap();
    let before = model.state_dict().unwrap();
    report.reset_not_loaded(&model).unwrap();
    let drawn = changed(&before, &model.state_dict().unwrap());
    assert_eq!(drawn, ["head.weight"]);
}

#[test]
fn pitfall_20_a_prefix_that_matches_nothing_is_an_error() {
    let model = net();
    let state = net().state_dict().unwrap();
    let prefixed = state
        .iter()
        .map(|(key, value)| (format!("module.{key}"), value.clone()));
    let prefixed: StateDict = prefixed.collect();
    assert_refused(&model, &prefixed, lenient(), "module.head.weight");
    // The error says what to do, and following it works.
    let advice = "load with `LoadOptions::new().remap(Remap::new().prefix(\"module\", \"\"))`";
    assert_refused(&model, &prefixed, LoadOptions::new(), advice);
    let options = LoadOptions::new().remap(Remap::new().prefix("module", ""));
    let report = model.load_state_dict_with(&prefixed, options).unwrap();
    assert!(report.not_loaded.is_empty());
}

#[test]
fn pitfall_21_a_load_that_fails_changes_nothing() {
    let model = net();
    let mut state = net().state_dict().unwrap();
    // The last key in the order of the model does not fit; all before it do.
    state.insert("head.bias", Tensor::from([1.0_f32; 3]));
    let mismatch = "size mismatch for head.bias: copying a param with shape [3] from checkpoint";
    assert_refused(&model, &state, LoadOptions::new(), mismatch);
}

#[test]
fn pitfall_22_tied_copies_that_disagree_are_an_error() {
    let build = || {
        let first = Linear::new(2, 2).unwrap();
        let mut second = Linear::new(2, 2).unwrap();
        second.tie_weight(first.weight()).unwrap();
        [first, second]
    };
    let model = build();
    let before = model.state_dict().unwrap();
    let mut state = build().state_dict().unwrap();
    let other = state.get("1.weight").unwrap().add(1.0).unwrap();
    state.insert("1.weight", other);
    let error = model.load_state_dict(&state).unwrap_err();
    assert!(
        error.to_string().contains("\"0.weight\" and \"1.weight\""),
        "{error}"
    );
    assert!(changed(&before, &model.state_dict().unwrap()).is_empty());
}

#[test]
fn pitfall_25_a_snapshot_does_not_follow_the_training() {
    let model = net();
    let best = model.state_dict().unwrap();
    let kept: Vec<Vec<f32>> = model
        .parameters()
        .map(|p| p.detach().to_vec().unwrap())
        .collect();
    let mut optimizer = SGD::new(&model, 0.1).unwrap();
    step(&model, &mut optimizer);
    assert!(!changed(&best, &model.state_dict().unwrap()).is_empty());
    assert!(model.load_state_dict(&best).unwrap().not_loaded.is_empty());
    let restored = model
        .parameters()
        .map(|p| p.detach().to_vec::<f32>().unwrap());
    assert!(restored.eq(kept));
    let counter = model.get_buffer("norm.num_batches_tracked").unwrap();
    assert_eq!(counter.tensor().item::<i64>().unwrap(), 0);
}

#[test]
fn pitfall_26_values_that_would_broadcast_or_transpose_are_refused() {
    let model = net();
    let weight = model.head.weight().detach();
    let cases = [
        weight.t().unwrap(),
        weight.narrow(0, 0..1).unwrap(),
        weight.narrow(1, 0..1).unwrap(),
        weight.unsqueeze(0).unwrap(),
        Tensor::from(1.0_f32),
        Tensor::from([1.0_f32]),
    ];
    for value in cases {
        let mut state = model.state_dict().unwrap();
        state.insert("head.weight", value);
        assert_refused(
            &model,
            &state,
            LoadOptions::new(),
            "size mismatch for head.weight",
        );
        assert_refused(&model, &state, lenient(), "size mismatch for head.weight");
    }
    // Neither does a parameter take one.
    assert!(model.head.weight().set(weight.t().unwrap()).is_err());
    assert!(
        model
            .head
            .weight()
            .set(weight.narrow(0, 0..1).unwrap())
            .is_err()
    );
}

#[test]
fn pitfall_52_a_square_weight_is_not_left_out_of_a_transposing_rule() {
    let build = || vec![Linear::new(3, 3).unwrap(), Linear::new(3, 4).unwrap()];
    let (model, other) = (build(), build());
    // The checkpoint holds every weight `(in, out)`.
    let stored = other.state_dict().unwrap().into_iter();
    let stored = stored.map(|(key, value)| match value.rank() {
        2 => (key, value.t().unwrap().contiguous().unwrap()),
        _ => (key, value),
    });
    let stored: StateDict = stored.collect();
    // All differing shapes are transposed: the error suggests the rule, by the type of the modules.
    let error = model.load_state_dict(&stored).unwrap_err().to_string();
    let rule = "`LoadOptions::new().transpose(Transpose::of_kind(\"Linear\"))`";
    assert!(error.ends_with(rule), "{error}");
    // A rule for the differing shapes would leave the square one as stored, and all keys would match.
    let before = model.state_dict().unwrap();
    let options = LoadOptions::new().transpose("1.weight");
    let error = model.load_state_dict_with(&stored, options).unwrap_err();
    assert!(
        error.to_string().contains("\"0.weight\" is square"),
        "{error}"
    );
    assert!(changed(&before, &model.state_dict().unwrap()).is_empty());
    let options = LoadOptions::new().transpose(Transpose::of_kind("Linear"));
    let report = model.load_state_dict_with(&stored, options).unwrap();
    assert_eq!(report.to_string(), "<All keys matched successfully>");
    let (now, expected) = (model.state_dict().unwrap(), other.state_dict().unwrap());
    assert!(now.equal(&expected).unwrap());
}

#[test]
fn pitfall_47_a_pickle_is_refused_unread() {
    let scratch = Scratch::new("pitfall-47");
    // The beginning of a zip, as `torch.save` writes it, and of a bare pickle.
    for bytes in [&b"PK\x03\x04archive/data.pkl"[..], b"\x80\x02cos\nsystem\n"] {
        std::fs::write(&scratch.0, bytes).unwrap();
        let error = net().load(&scratch.0).unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(FileError::Format { .. })),
            "{error}"
        );
    }
}

#[test]
fn pitfall_48_a_truncated_file_is_an_error() {
    let (model, scratch) = (net(), Scratch::new("pitfall-48"));
    model.call(images(0)).unwrap();
    model.save(&scratch.0).unwrap();
    let whole = std::fs::read(&scratch.0).unwrap();
    let before = model.state_dict().unwrap();
    for length in (0..whole.len()).rev().step_by(7) {
        std::fs::write(&scratch.0, &whole[..length]).unwrap();
        let error = model.load(&scratch.0).unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(FileError::Format { .. })),
            "{length}: {error}"
        );
    }
    std::fs::write(&scratch.0, [&whole[..], &[0]].concat()).unwrap();
    assert!(model.load(&scratch.0).is_err(), "trailing byte");
    assert!(changed(&before, &model.state_dict().unwrap()).is_empty());
}

#[test]
fn pitfall_48_a_crafted_header_is_an_error_without_a_huge_allocation() {
    let scratch = Scratch::new("pitfall-48-crafted");
    let file = |length: u64, header: &str, data: usize| {
        [&length.to_le_bytes()[..], header.as_bytes(), &vec![0; data]].concat()
    };
    let plain = |header: &str, data| file(header.len() as u64, header, data);
    let tensor = |dtype: &str, shape: &str, start: u64, end: u64| {
        format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{start},{end}]}}"#)
    };
    let one = tensor("F32", "[1]", 0, 4);
    let crafted = [
        file(u64::MAX, "{}", 0),
        file(1 << 40, "{}", 0),
        file(100, "{}", 0),
        plain("{", 0),
        plain("{\"a\":1}", 0),
        plain("\u{7f}", 0),
        plain(
            &format!("{{\"a\":{}}}", tensor("F32", "[1]", 0, 1 << 40)),
            4,
        ),
        plain(
            &format!("{{\"a\":{}}}", tensor("F32", "[4611686018427387905]", 0, 4)),
            4,
        ),
        plain(
            &format!(
                "{{\"a\":{}}}",
                tensor("F32", "[9223372036854775807,4]", 0, 4)
            ),
            4,
        ),
        plain(&format!("{{\"a\":{}}}", tensor("F32", "[2]", 0, 4)), 4),
        plain(&format!("{{\"a\":{}}}", tensor("F32", "[1]", 4, 0)), 4),
        plain(&format!("{{\"a\":{}}}", tensor("F99", "[1]", 0, 4)), 4),
        plain(&format!("{{\"a\":{}}}", tensor("F32", "[-1]", 0, 4)), 4),
        // A gap, an overlap, and bytes that belong to nothing.
        plain(&format!("{{\"a\":{}}}", tensor("F32", "[1]", 4, 8)), 8),
        plain(&format!("{{\"a\":{one},\"b\":{one}}}"), 4),
        plain(&format!("{{\"a\":{one}}}"), 8),
    ];
    for (number, bytes) in crafted.into_iter().enumerate() {
        std::fs::write(&scratch.0, bytes).unwrap();
        match StateDict::load(&scratch.0) {
            Err(error) => {
                assert!(
                    matches!(error.downcast_ref(), Some(FileError::Format { .. })),
                    "{number}: {error}"
                );
            }
            Ok(state) => panic!("{number} loads: {state:?}"),
        }
    }
}
