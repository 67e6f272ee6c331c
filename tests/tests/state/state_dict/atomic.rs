//! Whatever prevents a state dict from being loaded, the model does not change, including its gradients.

use std::sync::atomic::{AtomicUsize, Ordering};

use module_nn::prelude::*;

use super::{Net, Tied, floats, net, tied};

/// Every byte of a model: its state, its gradients, and its dtypes with both.
fn bytes(model: &dyn Module) -> Vec<(String, DType, Vec<u8>)> {
    let take = |key: String, x: &Tensor| (key, x.dtype(), x.to_host().unwrap().to_le_bytes());
    let state = model.state_dict().unwrap().into_iter();
    let mut all: Vec<_> = state.map(|(key, x)| take(key, &x)).collect();
    for (path, parameter) in model.named_parameters() {
        all.extend(
            parameter
                .grad()
                .map(|grad| take(format!("{path}.grad"), &grad)),
        );
    }
    all
}

/// A model with gradients and a state dict, of other values, that would load.
fn ready() -> (Net, StateDict) {
    let model = net();
    for parameter in model.parameters() {
        let grad = parameter.detach().full_like(0.25).unwrap();
        parameter.set_grad(grad).unwrap();
    }
    let other = net().state_dict().unwrap().into_iter();
    let state = other.map(|(key, x)| (key, x.full_like(3).unwrap()));
    (model, state.collect())
}

#[track_caller]
fn assert_untouched(edit: impl Fn(&mut StateDict), options: LoadOptions) {
    let (model, mut state) = ready();
    edit(&mut state);
    let before = bytes(&model);
    assert!(model.load_state_dict_with(&state, options).is_err());
    assert_eq!(bytes(&model), before);
}

#[test]
fn no_error_changes_a_byte() {
    let strict = LoadOptions::new;
    let lenient = || LoadOptions::new().strict(false);
    let same = |_: &mut StateDict| {};
    let remove = |key: &'static str| move |state: &mut StateDict| drop(state.remove(key));
    let set = |key: &'static str, value: Tensor| {
        move |state: &mut StateDict| drop(state.insert(key, value.clone()))
    };
    let wide = Tensor::from([[1.0_f32; 3]; 4]);
    assert_untouched(remove("head.bias"), strict());
    assert_untouched(set("stranger", floats([1.0])), strict());
    assert_untouched(set("head.bias", floats([1.0; 3])), strict());
    assert_untouched(set("head.weight", wide.clone()), lenient());
    assert_untouched(set("head.weight", wide), lenient().assign_dtype(true));
    assert_untouched(|state| *state = state.add_prefix("x").unwrap(), lenient());
    assert_untouched(|state| *state = StateDict::new(), lenient());
    assert_untouched(same, strict().select("hed"));
    assert_untouched(same, strict().select("a..b"));
    assert_untouched(same, strict().transpose("hed"));
    assert_untouched(same, strict().transpose("head"));
    let collision = Remap::new().rename("head.weight", "head.bias");
    assert_untouched(same, strict().remap(collision));
    assert_untouched(same, strict().remap(Remap::new().prefix("head", "tail")));
    let lossy = Remap::new().rename("head.weight", "head.wieght");
    assert_untouched(same, strict().remap(lossy));
}

#[test]
fn no_error_of_a_hook_changes_a_byte() {
    type Register = fn(&Net) -> module_nn::HookHandle<'_>;
    let cases: [Register; 5] = [
        |model| {
            model
                .head
                .register_load_state_dict_pre_hook(|_| Err(Error::custom("no")))
        },
        |model| {
            let spoil = |state: &mut StateDict| drop(state.remove("head.bias"));
            model
                .head
                .register_load_state_dict_pre_hook(move |call| spoil(call.state_mut()))
        },
        |model| model.register_load_state_dict_post_hook(|_| Err(Error::custom("no"))),
        |model| {
            model.encoder[1].register_load_state_dict_post_hook(|call| {
                call.report_mut().missing.push("invented".to_owned());
            })
        },
        // It makes further changes to the model before it fails.
        |model| {
            let bias = model.head.bias().get().unwrap().share();
            model.head.register_load_state_dict_post_hook(move |_| {
                bias.zero_grad();
                bias.set(floats([8.0; 2]))?;
                Err(Error::custom("no"))
            })
        },
    ];
    for (number, register) in cases.into_iter().enumerate() {
        let (model, state) = ready();
        let before = bytes(&model);
        let hook = register(&model);
        assert!(model.load_state_dict(&state).is_err(), "{number}");
        drop(hook);
        assert_eq!(bytes(&model), before, "{number}");
        assert!(model.load_state_dict(&state).is_ok());
        assert_ne!(bytes(&model), before);
    }
}

#[test]
fn no_tie_is_half_loaded() {
    let model: Tied = tied();
    let mut state = tied().state_dict().unwrap();
    let other = state.get("again").unwrap().add(1.0).unwrap();
    state.insert("again", other);
    let before = bytes(&model);
    for strict in [true, false] {
        let options = LoadOptions::new().strict(strict).allow_mismatch(true);
        assert!(model.load_state_dict_with(&state, options).is_err());
        assert_eq!(bytes(&model), before);
    }
}

/// A gradient that arrives while values are loaded must not be lost.
#[test]
fn loading_loses_no_gradient_of_another_thread() {
    const LOADS: usize = 20_000;
    let layer = LinearConfig::new(2, 1).bias(false).build().unwrap();
    let state = layer.state_dict().unwrap();
    let loads = AtomicUsize::new(0);
    let mut rounds = 0.0_f32;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..LOADS {
                assert!(layer.load_state_dict(&state).unwrap().not_loaded.is_empty());
                loads.fetch_add(1, Ordering::Relaxed);
            }
        });
        while loads.load(Ordering::Relaxed) < LOADS {
            let y = layer.weight().tensor().sum(..).unwrap();
            y.backward().unwrap();
            rounds += 1.0;
        }
    });
    let grad = layer.weight().grad().unwrap().to_vec::<f32>().unwrap();
    assert_eq!(grad, [rounds; 2]);
}
