//! Training does not increase the process's memory by more than a few bytes per pass.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use module_nn::prelude::*;
use module_tests::processes::{ran_in_a_child, resident_bytes};

#[test]
fn fifty_thousand_steps_keep_memory_flat() {
    if ran_in_a_child("pass_memory::fifty_thousand_steps_keep_memory_flat") {
        return;
    }
    const PASSES: usize = 50_000;
    let net = Sequential::new()
        .push(Linear::new(3, 4).unwrap())
        .push(GELU::new())
        .push(Linear::new(4, 2).unwrap());
    let mut optimizer = SGDConfig::new(1e-3).momentum(0.9).build(&net).unwrap();
    let x = Tensor::randn([5, 3], DType::F32).unwrap();
    let mut pass = |_| {
        let y = net.call(x.clone()).unwrap();
        y.mul(&y).unwrap().mean(..).unwrap().backward().unwrap();
        optimizer.step(&net).unwrap();
        optimizer.zero_grad(&net);
    };
    (0..2_000).for_each(&mut pass);
    let before = resident_bytes().unwrap();
    (0..PASSES).for_each(pass);
    let grown = resident_bytes().unwrap().saturating_sub(before);
    // 80 bytes a pass.
    assert!(grown < 4_000_000, "{grown} bytes");
}
