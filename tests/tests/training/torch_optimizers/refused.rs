//! States that do not fit.

use super::*;

/// The state with a replaced entry of its first group, or of the state of its first parameter.
fn changed(
    state: &TorchObject,
    group: bool,
    name: &str,
    value: Option<TorchObject>,
) -> TorchObject {
    let mut state = state.clone();
    let TorchObject::Dict(entries) = &mut state else {
        panic!("no dict")
    };
    let inside = match (group, &mut entries[usize::from(group)].1) {
        (true, TorchObject::List(groups)) => &mut groups[0],
        (false, TorchObject::Dict(states)) => &mut states[0].1,
        _ => panic!("no state dict"),
    };
    let TorchObject::Dict(pairs) = inside else {
        panic!("no dict")
    };
    pairs.retain(|(key, _)| !matches!(key, TorchObject::Text(key) if key == name));
    pairs.extend(value.map(|value| (name.into(), value)));
    state
}

#[test]
fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
    let recorded = Recorded::read();
    let case = recorded.case("adamw");
    let model = case.saved_model();
    let mut optimizer = AdamW::new(&model, 0.3).unwrap();
    let state = case.torch_state();
    let int = TorchObject::Int;
    let tensor = |sizes: &[usize]| TorchObject::Tensor(Tensor::ones(sizes, DType::F32).unwrap());
    let refused = [
        (
            changed(&state, false, "exp_avg", Some(tensor(&[5, 3]))),
            "state of `p0`: `exp_avg`: its shape is [5, 3] instead of [3, 5]",
        ),
        (
            changed(&state, false, "exp_avg", None),
            "`exp_avg` is missing",
        ),
        (
            changed(&state, false, "exp_inf", Some(tensor(&[3, 5]))),
            "state of `p0` has `exp_inf`, which AdamW does not keep",
        ),
        (
            changed(&state, false, "step", Some(TorchObject::Float(1.5))),
            "state of `p0`: `step`: 1.5 is not a number of steps",
        ),
        (
            changed(&state, false, "max_exp_avg_sq", Some(tensor(&[3, 5]))),
            "`max_exp_avg_sq`",
        ),
        (
            changed(&state, true, "eps", None),
            "group 0 of the state has no `eps`",
        ),
        (
            changed(&state, true, "lr", Some(TorchObject::Float(-1.0))),
            "must be at least 0",
        ),
        (
            changed(&state, true, "lr", Some(TorchObject::Float(f64::INFINITY))),
            "inf is not finite",
        ),
        (
            changed(&state, true, "decoupled_weight_decay", Some(false.into())),
            "is another optimizer",
        ),
        (
            changed(
                &state,
                true,
                "params",
                Some(TorchObject::List(vec![int(0), int(1)])),
            ),
            "group 0 of the state has 2 parameter(s), and that of this optimizer 4: `p0`",
        ),
        (
            changed(
                &state,
                true,
                "params",
                Some(TorchObject::List(vec![int(0), int(0), int(1), int(2)])),
            ),
            "position 0 occurs twice",
        ),
        (
            changed(
                &state,
                true,
                "params",
                Some(TorchObject::List([5, 6, 7, 8].map(int).into())),
            ),
            "a state for the number 0, which no group has",
        ),
        (
            recorded.case("adamw_groups").torch_state(),
            "2 group(s) of parameters, and this optimizer 1",
        ),
        (
            recorded.case("adam").torch_state(),
            "`decoupled_weight_decay` of group 0 is False",
        ),
        (recorded.case("sgd").torch_state(), "has no `betas`"),
        (TorchObject::None, "None is not an `optimizer.state_dict()`"),
    ];
    for (state, problem) in refused {
        let error = optimizer
            .load_torch_state_dict(&state)
            .unwrap_err()
            .to_string();
        assert!(error.contains(problem), "{error}");
        assert_eq!(optimizer.lr(), 0.3);
        assert!(optimizer.states().get("p0").is_none());
    }

    // Options that do not affect the result are ignored, and rates may be tensors.
    let rate = TorchObject::Tensor(Tensor::from(0.25_f64));
    let accepted = changed(&state, true, "lr", Some(rate));
    let accepted = changed(&accepted, true, "fused", Some(true.into()));
    let accepted = changed(&accepted, true, "capturable", Some(true.into()));
    let accepted = changed(&accepted, true, "max_lr", Some(0.5.into()));
    // As saved by releases before 2.0 and before 1.12.
    let accepted = changed(&accepted, true, "decoupled_weight_decay", None);
    let accepted = changed(&accepted, true, "maximize", None);
    let accepted = changed(&accepted, false, "step", Some(int(10)));
    let other = AdamWConfig::new(0.3).maximize(true);
    optimizer.set_group_options(0, other).unwrap();
    optimizer.load_torch_state_dict(&accepted).unwrap();
    assert_eq!(optimizer.lr(), 0.25);
    assert!(!optimizer.groups()[0].options.maximize);

    let lion = Lion::new(&model, 0.1).unwrap();
    let error = lion.torch_state_dict().unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(OptimizerError::TorchState {
            optimizer: "Lion",
            ..
        })
    ));
    let muon = MuonConfig::new(0.1).group("{p1,p3}", |group| group.use_muon(false));
    let error = muon.build(&model).unwrap().torch_state_dict().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no groups with `use_muon` other than true"),
        "{error}"
    );
}
