//! Extracting features repeatedly needs no more memory than doing so once; in a separate process, whose memory it reads.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;

use module_nn::prelude::*;
use module_nn::{Backward, Function, Gradients};
use module_tests::processes::{ran_in_a_child, resident_bytes};

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
fn ten_thousand_extractions_keep_memory_flat() {
    if ran_in_a_child("feature_memory::ten_thousand_extractions_keep_memory_flat") {
        return;
    }
    let model = Sequential::new()
        .push(Linear::new(64, 256).unwrap())
        .push(ReLU::new());
    let alive = Arc::new(());
    let extractor = FeatureExtractor::new(&model, "*").unwrap();
    let run = |times: usize| {
        for _ in 0..times {
            let leaf = Tensor::ones([16, 64], DType::F32).unwrap();
            let leaf = leaf.with_grad().unwrap();
            let _alive = alive.clone();
            let x = leaf.detach().record([&leaf], |_| Probe { _alive });
            let features = extractor.extract(x).unwrap();
            assert_eq!(features.get("1").unwrap().shape().to_string(), "[16, 256]");
            // Features that still exist hold no graph.
            assert_eq!(Arc::strong_count(&alive), 1);
        }
    };
    run(500);
    let before = resident_bytes();
    run(10_000);
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        // One kept feature each would be 160 MB.
        let grown = after.saturating_sub(before);
        assert!(grown < 8 << 20, "memory grew by {grown} bytes");
    }
}
