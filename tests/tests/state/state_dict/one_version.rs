//! Concurrent loads and snapshots never mix.

use std::sync::atomic::{AtomicBool, Ordering};

use module_nn::prelude::*;

use super::{extra, floats, net};

/// The value of the load that the model has, which must be the same everywhere.
#[track_caller]
fn version(state: &StateDict) -> f64 {
    let number = |value: &Tensor| match value.dtype() {
        DType::I64 => value.to_vec::<i64>().unwrap()[0] as f64,
        _ => value.to_vec::<f32>().unwrap()[0].into(),
    };
    let values: Vec<f64> = state.iter().map(|(_, value)| number(value)).collect();
    assert!(
        values.iter().all(|value| *value == values[0]),
        "a mixture: {values:?}"
    );
    values[0]
}

fn filled(model: &dyn Module, number: f64) -> StateDict {
    let state = model.state_dict().unwrap().into_iter();
    let filled = state.map(|(key, value)| (key, value.full_like(number).unwrap()));
    filled.collect()
}

/// Ends the loads when the snapshots end, even with a failure.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn check(model: &(dyn Module + Sync), snapshot: impl Fn() -> StateDict) {
    const SNAPSHOTS: usize = 300;
    // A busy machine may run only one thread for a while.
    const MOST: usize = 1_000_000;
    let versions = [1.0, 2.0].map(|number| filled(model, number));
    assert!(model.load_state_dict(&versions[0]).is_ok());
    let done = AtomicBool::new(false);
    let mut seen = [0_usize; 2];
    std::thread::scope(|scope| {
        // Two that load, so that loads do not mix either.
        for first in 0..2 {
            let (versions, done) = (&versions, &done);
            scope.spawn(move || {
                for load in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let state = &versions[(load + first) % 2];
                    assert!(model.load_state_dict(state).is_ok());
                }
            });
        }
        let _stop = Stop(&done);
        let mut snapshots = 0;
        while snapshots < MOST && (snapshots < SNAPSHOTS || seen.contains(&0)) {
            let number = version(&snapshot());
            seen[usize::from(number == 2.0)] += 1;
            snapshots += 1;
        }
    });
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// Large enough that a mixture would be noticed.
fn wide() -> Vec<Linear> {
    (0..60).map(|_| Linear::new(1, 1).unwrap()).collect()
}

#[test]
fn a_snapshot_beside_loads_is_of_one_version() {
    let model = wide();
    check(&model, || model.state_dict().unwrap());
    let model = net();
    check(&model, || model.state_dict().unwrap());
}

#[test]
fn a_snapshot_with_hooks_is_of_one_version() {
    let model = wide();
    check(&model, || {
        let hook = model[30].register_state_dict_post_hook(|call| {
            assert_eq!(call.state().len(), 2);
        });
        let state = model.state_dict().unwrap();
        drop(hook);
        state
    });
}

/// A hook that runs before collecting may change the module; the changed values are saved.
#[test]
fn values_that_a_pre_hook_sets_are_saved() {
    let model = [Linear::new(1, 1).unwrap(), Linear::new(1, 1).unwrap()];
    let weight = model[1].weight().share();
    let _hook = model.register_state_dict_pre_hook(move |_| {
        weight.set(Tensor::from([[5.0_f32]])).unwrap();
    });
    let state = model.state_dict().unwrap();
    assert_eq!(state.get("1.weight").unwrap().item::<f32>().unwrap(), 5.0);
}

/// A hook may itself save and load: no lock is held while it runs.
#[test]
fn hooks_may_save_and_load() {
    let model = net();
    let other = std::rc::Rc::new(extra());
    let inner = other.clone();
    let _post = model.register_load_state_dict_post_hook(move |_| {
        let state = inner.state_dict()?;
        inner.load_state_dict(&state).map(|_| ())
    });
    let inner = other.clone();
    let _saved = model.register_state_dict_post_hook(move |_| {
        let state = inner.state_dict()?;
        inner.load_state_dict(&state).map(|_| ())
    });
    let state = model.state_dict().unwrap();
    assert!(model.load_state_dict(&state).is_ok());
}

#[test]
fn a_hook_that_panics_leaves_the_model_as_it_was() {
    let model = net();
    for parameter in model.parameters() {
        let grad = parameter.detach().full_like(0.25).unwrap();
        parameter.set_grad(grad).unwrap();
    }
    let before = model.state_dict().unwrap();
    let state = filled(&model, 3.0);
    let bias = model.head.bias().get().unwrap().share();
    let hook = model
        .head
        .register_load_state_dict_post_hook(move |call| -> Result<()> {
            assert_eq!(call.report().loaded.len(), 18);
            bias.zero_grad();
            bias.set(floats([8.0; 2])).unwrap();
            panic!("in the hook");
        });
    let load = std::panic::AssertUnwindSafe(|| model.load_state_dict(&state).map(|_| ()));
    let panic = std::panic::catch_unwind(load).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"in the hook"));
    drop(hook);
    assert!(model.state_dict().unwrap().equal(&before).unwrap());
    for parameter in model.parameters() {
        assert!(parameter.grad().is_some() && !parameter.is_loaded());
    }
    assert!(model.load_state_dict(&state).is_ok());
    assert_eq!(version(&model.state_dict().unwrap()), 3.0);
}
