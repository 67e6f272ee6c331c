//! Large numbers of handles, and handles that are never dropped.

use std::cell::Cell;
use std::mem::forget;
use std::rc::Rc;
use std::time::{Duration, Instant};

use module_nn::hooks;
use module_nn::prelude::*;

use super::Choice;

#[derive(Module)]
struct Table {
    table: Buffer,
}

/// Contains nothing that distinguishes it from another instance.
#[derive(Module)]
struct Add {
    number: f64,
}

impl Forward for Table {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        x.add(self.table.tensor())
    }
}

impl Forward for Add {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        x.add(self.number)
    }
}

/// How often a leaked hook runs on modules at the address of the one on which it was registered.
fn strange<M: Call<Tensor>>(make: impl Fn() -> M) -> usize {
    let count = Rc::new(Cell::new(0));
    let x = || Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let mut place = make();
    for _ in 0..100 {
        let seen = count.clone();
        forget(place.register_forward_hook(move |_| seen.set(seen.get() + 1)));
        let before = count.get();
        assert!(place.call(x()).is_ok());
        // It runs as long as its module exists.
        assert!(count.get() > before);
        place = make();
        count.set(0);
        assert!(place.call(x()).is_ok());
        if count.get() > 0 {
            return count.get();
        }
        // A hook of the new module runs.
        let seen = count.clone();
        let hook = place.register_forward_hook(move |_| seen.set(seen.get() + 1));
        assert!(place.call(x()).is_ok());
        drop(hook);
        assert_eq!(count.replace(0), 1);
    }
    count.get()
}

#[test]
fn a_leaked_hook_never_fires_on_another_module() {
    let linear = || Linear::new(2, 2).unwrap();
    assert_eq!(strange(linear), 0);
    assert_eq!(strange(ReLU::new), 0);
    assert_eq!(strange(|| Dropout::new(0.5).unwrap()), 0);
    assert_eq!(strange(|| BatchNorm1d::new(2).unwrap()), 0);
    assert_eq!(strange(|| Choice::Linear(linear())), 0);
    assert_eq!(strange(|| Sequential::new().push(ReLU::new())), 0);
    assert_eq!(strange(|| Sequential::new().push(linear())), 0);
    let table = || Table {
        table: Buffer::new(Tensor::from(1.0_f32)),
    };
    assert_eq!(strange(table), 0);
    // As the documentation of `HookHandle` says, it runs if nothing distinguishes them.
    assert_eq!(strange(|| Add { number: 1.0 }), 1);
}

#[test]
fn a_leaked_hook_on_state_never_runs_for_another_module() {
    let mut place = Linear::new(1, 1).unwrap();
    forget(place.register_state_dict_pre_hook(|_| Err(Error::custom("leaked"))));
    assert!(place.state_dict().is_err());
    place = Linear::new(1, 1).unwrap();
    assert!(place.state_dict().is_ok());
}

#[test]
fn modes_and_statistics_do_not_see_the_mark_of_a_hook() {
    let layer = Dropout::new(0.5).unwrap();
    let _hook = layer.register_forward_hook(|_| ());
    assert!(layer.is_training());
    layer.eval();
    assert!(!layer.is_training());
    layer.train();
    let x = Tensor::ones([1000], DType::F32).unwrap();
    let y = layer.call(x).unwrap().to_vec::<f32>().unwrap();
    assert!(y.contains(&0.0) && y.contains(&2.0));
    let norm = BatchNorm1d::new(2).unwrap();
    let _hook = norm.register_forward_hook(|_| ());
    let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    norm.call(x.clone()).unwrap();
    norm.freeze(Select::all()).unwrap();
    norm.call(x).unwrap();
    let counter = norm.get_buffer("num_batches_tracked").unwrap();
    assert_eq!(counter.tensor().item::<i64>().unwrap(), 1);
}

/// Drops handles in an irregular order.
fn drop_shuffled(mut handles: Vec<hooks::HookHandle<'_>>) {
    let mut random = 1_u64;
    while !handles.is_empty() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let place = usize::try_from(random >> 33).unwrap() % handles.len();
        drop(handles.swap_remove(place));
    }
}

#[test]
fn a_hundred_thousand_handles_are_dropped_in_any_order() {
    const COUNT: usize = 100_000;
    let layer = ReLU::new();
    let start = Instant::now();
    let options = |i: usize| HookOptions::new().prepend(i.is_multiple_of(2));
    let own = (0..COUNT).map(|i| layer.register_forward_hook_with(options(i), |_| ()));
    drop_shuffled(own.collect());
    let everywhere = (0..COUNT).map(|_| hooks::register_module_forward_hook(|_| ()));
    drop_shuffled(everywhere.collect());
    // Searching the whole list for each one took a quarter of a minute.
    assert!(start.elapsed() < Duration::from_secs(8));
}
