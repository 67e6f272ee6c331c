#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    CpuGenerator, Distribution, Generator, default_generator, fork_rng, initial_seed, manual_seed,
};
use crate::{DType, Device, Tensor};

/// The next uniform of the default generator.
fn draw() -> f32 {
    Tensor::rand((), DType::F32).unwrap().item().unwrap()
}

/// The first `N` uniforms of a seed.
fn expected<const N: usize>(seed: u64) -> [f32; N] {
    let mut out = [0.0; N];
    CpuGenerator::new(seed)
        .fill_uniform(&mut out, 0.0, 1.0)
        .unwrap();
    out
}

#[test]
fn fork_is_private_and_nests() {
    fork_rng(1, || {
        assert_eq!(initial_seed(), 1);
        let expected_of_1 = expected::<2>(1);
        assert_eq!(draw(), expected_of_1[0]);
        fork_rng(2, || {
            assert_eq!([draw()], expected(2));
            manual_seed(3);
            assert_eq!([draw()], expected(3));
        });
        let unwound = catch_unwind(|| fork_rng(4, || panic!("on purpose")));
        assert!(unwound.is_err());
        assert_eq!(draw(), expected_of_1[1]);
    });
}

/// The only test that touches the shared generator: two would disturb each other.
#[test]
fn shared_generator_is_one_for_all_threads() {
    manual_seed(21);
    assert_eq!(initial_seed(), 21);
    fork_rng(5, draw);
    let all = expected::<3>(21);
    let other_thread = std::thread::spawn(draw);
    assert_eq!(other_thread.join().unwrap(), all[0]);
    // A handle holds no lock, so other draws can continue.
    let generator = default_generator();
    assert_eq!(draw(), all[1]);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _held = generator.clone();
        panic!("on purpose")
    }));
    assert!(unwound.is_err());
    let x = Tensor::uniform((), 0.0, 1.0, DType::F32, &generator).unwrap();
    assert_eq!(x.item::<f32>().unwrap(), all[2]);
}

#[test]
fn clones_share_and_copies_do_not() {
    let generator = Generator::new(7);
    let (same, copy) = (generator.clone(), generator.clone_state().unwrap());
    let next = |generator: &Generator| {
        let x = Tensor::normal((), 0.0, 1.0, DType::F64, generator).unwrap();
        x.item::<f64>().unwrap()
    };
    let first = next(&generator);
    // The spare of the pair is kept in the state.
    assert_ne!(next(&same), first);
    assert!(generator == same && generator != copy);
    assert_eq!(next(&copy), first);
    let state = generator.get_state();
    let second = next(&generator);
    copy.set_state(&state).unwrap();
    assert_eq!(next(&copy), second);
    assert!(copy.set_state(&state[1..]).is_err());
    assert!(copy == generator);
}

#[test]
fn each_seeding_starts_another_stream() {
    let generator = Generator::new(0);
    let stream = generator.stream();
    assert_eq!(generator.clone().stream(), stream);
    generator.manual_seed(0);
    assert_ne!(generator.stream(), stream);
}

#[test]
fn skipping_leaves_the_same_state_as_drawing() {
    let all = [
        Distribution::Uniform {
            low: -1.0,
            high: 2.0,
        },
        Distribution::Normal {
            mean: 0.0,
            std: 1.0,
        },
        Distribution::TruncNormal {
            mean: 0.0,
            std: 1.0,
            low: -1.0,
            high: 1.0,
        },
        Distribution::TruncNormalByInverse {
            mean: 0.0,
            std: 1.0,
            low: -1.0,
            high: 1.0,
        },
        Distribution::Exponential { lambda: 2.0 },
        Distribution::Bernoulli { p: 0.25 },
        Distribution::Dropout { p: 0.25 },
    ];
    for distribution in all {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            for numel in [0, 1, 3, 16, 37, 700] {
                let (drawn, skipped) = (Generator::new(9), Generator::new(9));
                let _values = drawn.draw(distribution, numel, dtype).unwrap();
                skipped.skip(distribution, numel, dtype).unwrap();
                assert!(drawn == skipped, "{distribution:?} {dtype} {numel}");
            }
        }
    }
}

#[test]
fn impossible_draws_are_refused() {
    let generator = Generator::new(0);
    let error = |distribution, dtype| {
        let drawn = generator.draw(distribution, 3, dtype);
        drawn.err().unwrap().to_string()
    };
    let range = Distribution::Integers { low: 0, high: 3 };
    assert_eq!(
        error(range, DType::F32),
        "randint: not available for float32; it needs int64"
    );
    let even = Distribution::Uniform {
        low: 0.0,
        high: 1.0,
    };
    assert_eq!(
        error(even, DType::Bool),
        "uniform: not available for bool; it needs a floating-point dtype"
    );
    assert_eq!(Device::cpu().default_generator().device(), Device::cpu());
}
