//! Rotary embeddings for sequences longer than in training.

use module_nn::prelude::*;
use module_tests::golden::{Tolerance, assert_close};

use super::{number, recorded};

#[test]
fn scalings_are_those_of_transformers() {
    let (cases, tensors) = recorded("rotary");
    for (n, case) in cases.iter().enumerate() {
        let of = |name: &str| tensors.get(&format!("rotary{n}.{name}")).unwrap();
        let scaling: RotaryScaling = serde_json::from_value(case["scaling"].clone()).unwrap();
        let (head_dim, length) = (number(&case["head_dim"]), number(&case["length"]));
        let layer = RotaryEmbeddingConfig::new(head_dim)
            .rope_theta(case["rope_theta"].as_f64().unwrap())
            .scaling(scaling)
            .build()
            .unwrap();
        // Vectors of one and zero turn into cosine and sine.
        let half = |value: f64| Tensor::full([length, head_dim / 2], value, DType::F32).unwrap();
        let x = Tensor::cat(&[half(1.0), half(0.0)], -1).unwrap();
        let expected = Tensor::cat(&[of("cos"), of("sin")], -1).unwrap();
        let y = layer.call(x).unwrap();
        assert_close(&y, &expected, Tolerance::CONTRACTION, &format!("{case}"));
        let text = serde_json::to_value(layer.config()).unwrap();
        let again: RotaryEmbeddingConfig = serde_json::from_value(text).unwrap();
        assert_eq!(again, layer.config());
    }
}

#[test]
fn dynamic_scaling_is_that_of_the_longest_sequence_of_a_call() {
    let scaling = RotaryScaling::Dynamic {
        factor: 2.0,
        max_position_embeddings: 4,
    };
    let layer = RotaryEmbeddingConfig::new(8)
        .scaling(scaling)
        .build()
        .unwrap();
    let plain = RotaryEmbedding::new(8).unwrap();
    let x = fork_rng(0, || Tensor::randn([6, 8], DType::F32)).unwrap();
    let short = x.narrow(0, 0..4).unwrap();
    assert!(
        layer
            .call(short.clone())
            .unwrap()
            .equal(&plain.call(short.clone()).unwrap())
            .unwrap()
    );
    let long = layer.call(x).unwrap();
    assert!(
        !long
            .narrow(0, 0..4)
            .unwrap()
            .equal(&plain.call(short.clone()).unwrap())
            .unwrap()
    );
    assert!(layer.call(short.narrow(0, 0..0).unwrap()).is_ok());
    let error = RotaryEmbeddingConfig::new(2)
        .scaling(scaling)
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("rotary_dim = 2"), "{error}");
    let yarn = RotaryScaling::yarn(0.0, 4);
    let error = RotaryEmbeddingConfig::new(8)
        .scaling(yarn)
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("factor = 0"), "{error}");
}
