//! Hooks: how long they live, what they keep alive, and on which instance.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use module_nn::prelude::*;
use module_nn::{Backward, Function, Gradients};

use super::{Net, backward, images, net};

fn counting(count: &Rc<Cell<usize>>) -> impl Fn(&mut module_nn::ForwardCall<'_>) + 'static {
    let count = count.clone();
    move |_| count.set(count.get() + 1)
}

#[test]
fn pitfall_10_forward_without_call_runs_no_hook() {
    // PyTorch does the same; this test documents it, and `call` in every example avoids it.
    let (model, count) = (net(), Rc::default());
    let _hook = model.head.register_forward_hook(counting(&count));
    model.forward(images(0)).unwrap();
    assert_eq!(count.get(), 1);
    model.head.forward(Tensor::from([[0.0_f32; 4]])).unwrap();
    assert_eq!(count.get(), 1);
}

/// Forgets to call its second layer.
#[derive(Module)]
struct Direct {
    first: Linear,
    second: Linear,
    unused: Linear,
}

impl Forward for Direct {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.second.forward(self.first.call(x)?)
    }
}

#[test]
fn pitfall_10_a_set_of_hooks_tells_which_modules_were_used_without_call() {
    let linear = || Linear::new(3, 3).unwrap();
    let model = Direct {
        first: linear(),
        second: linear(),
        unused: linear(),
    };
    let hooks = HookSet::forward_of::<Linear, _>(&model, |_| ()).unwrap();
    backward(&model, images(0));
    assert!(hooks.unfired().eq(["second", "unused"]));
    assert!(hooks.bypassed().eq(["second"]));
}

#[test]
fn pitfall_11_a_hook_lives_as_long_as_its_handle() {
    let (model, count) = (net(), Rc::default());
    {
        let _hook = model.head.register_forward_hook(counting(&count));
        model.call(images(0)).unwrap();
    }
    model.call(images(0)).unwrap();
    assert_eq!(count.get(), 1);
    // The closure is dropped with the handle.
    assert_eq!(Rc::strong_count(&count), 1);
}

/// A step of the graph that shows whether it is still alive.
struct Probe {
    _alive: Arc<()>,
}

impl Function for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        Ok(Gradients::from_iter([Some(ctx.grad().clone())]))
    }
}

#[test]
fn pitfall_12_captures_keep_no_graph_alive() {
    let (model, captured) = (net(), Rc::new(RefCell::new(Vec::new())));
    let keep = captured.clone();
    let _hook = model
        .head
        .register_forward_hook(move |call| keep.borrow_mut().extend(call.outputs()));
    let alive = Arc::new(());
    for _ in 0..10_000 {
        let leaf = images(0).with_grad().unwrap();
        let _alive = alive.clone();
        let x = leaf.detach().record([&leaf], |_| Probe { _alive });
        let y = model.call(x).unwrap();
        assert!(y.requires_grad() && Arc::strong_count(&alive) == 2);
    }
    assert_eq!(captured.borrow().len(), 10_000);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn pitfall_13_a_captured_feature_never_changes() {
    let (model, captured) = (net(), Rc::new(RefCell::new(Vec::new())));
    let keep = captured.clone();
    let _hook = model
        .norm
        .register_forward_hook(move |call| keep.borrow_mut().extend(call.outputs()));
    model.call(images(0)).unwrap();
    // The network then applied a ReLU, which in place would have removed these.
    let feature = captured.borrow()[0].to_vec::<f32>().unwrap();
    assert!(feature.iter().any(|&v| v < 0.0));
    model.call(images(1)).unwrap();
    assert_eq!(captured.borrow()[0].to_vec::<f32>().unwrap(), feature);
}

#[test]
fn pitfall_14_threads_that_extract_from_one_model_never_mix() {
    let model = net();
    model.eval();
    let extract = |seed: u64| -> Vec<Vec<f32>> {
        let captured = Rc::new(RefCell::new(Vec::new()));
        let keep = captured.clone();
        let _hook = model.hidden.register_forward_hook(move |call| {
            let feature = call.output().and_then(|y| y.to_vec::<f32>());
            keep.borrow_mut().push(feature.unwrap());
        });
        for _ in 0..200 {
            model.call(images(seed)).unwrap();
        }
        captured.take()
    };
    let alone = [extract(0), extract(1)];
    assert_ne!(alone[0][0], alone[1][0]);
    let together = std::thread::scope(|scope| {
        let threads = [0, 1].map(|seed| scope.spawn(move || extract(seed)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(together, alone);
}

#[test]
fn pitfall_15_hooks_removed_while_hooks_run_still_fire_in_that_call() {
    let model: &'static Net = Box::leak(Box::new(net()));
    let (count, handles) = (Rc::default(), Rc::new(RefCell::new(Vec::new())));
    let remove = handles.clone();
    let remover = model.head.register_forward_hook(move |_| {
        remove.take();
    });
    let later = model.head.register_forward_hook(counting(&count));
    handles.borrow_mut().extend([remover, later]);
    model.call(images(0)).unwrap();
    assert_eq!(count.get(), 1);
    model.call(images(0)).unwrap();
    assert_eq!(count.get(), 1);
}

#[test]
fn pitfall_16_a_hook_stays_on_its_instance() {
    let (original, copy, count) = (net(), net(), Rc::default());
    let report = copy
        .load_state_dict(&original.state_dict().unwrap())
        .unwrap();
    assert!(report.not_loaded.is_empty());
    let _hook = copy.head.register_forward_hook(counting(&count));
    original.call(images(0)).unwrap();
    assert_eq!(count.get(), 0);
    copy.call(images(0)).unwrap();
    assert_eq!(count.get(), 1);
}

#[test]
fn pitfall_17_a_name_that_matches_nothing_is_an_error_with_the_nearest_one() {
    let model = net();
    let error = model.get_submodule("haed").map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`haed` in path `haed` is not a member of Net; did you mean `head`?"
    );
    let error = HookSet::forward(&model, ["hidden", "haed"], |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`haed` selects nothing; did you mean `head`?"
    );
    let error = HookSet::forward_of::<BatchNorm2d, _>(&model, |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`the type BatchNorm2d` selects nothing; did you mean `BatchNorm1d`?"
    );
}
