//! Numeric masks, and layers with a cache.

use module_nn::prelude::*;
use module_nn::{AttentionOptions, with_default_dtype};
use module_tests::golden::{Tolerance, assert_close};

use super::{number, recorded};

#[test]
fn bottom_right_masks_and_windows_are_those_that_are_written_out() {
    let (cases, tensors) = recorded("masks");
    for (n, case) in cases.iter().enumerate() {
        let of = |name: &str| tensors.get(&format!("mask{n}.{name}")).unwrap().clone();
        let names = ["query", "key", "value"];
        let inputs = names.map(|name| Parameter::new(of(name)).unwrap());
        let [query, key, value] = [0, 1, 2].map(|i| inputs[i].tensor());
        let options = AttentionOptions::new()
            .causal_with(number(&case["past"]))
            .sliding_window(
                case["window"]
                    .as_u64()
                    .map(|window| usize::try_from(window).unwrap()),
            );
        let out = query
            .scaled_dot_product_attention(&key, &value, options)
            .unwrap();
        assert_close(&out, &of("out"), Tolerance::CONTRACTION, &format!("{case}"));
        out.mul(of("gout"))
            .unwrap()
            .sum(..)
            .unwrap()
            .backward()
            .unwrap();
        for (name, input) in names.iter().zip(&inputs) {
            let grad = input.grad().unwrap();
            let label = format!("{case} {name}");
            assert_close(
                &grad,
                &of(&format!("{name}.grad")),
                Tolerance::CONTRACTION,
                &label,
            );
        }
        // The formula for devices without the kernel, also used with dropout.
        let composed = query
            .scaled_dot_product_attention(&key, &value, options.dropout_p(1e-300))
            .unwrap();
        assert_close(
            &composed,
            &of("out"),
            Tolerance::CONTRACTION,
            &format!("{case} composed"),
        );
    }
}

#[test]
fn a_mask_is_applied_beside_the_numbers() {
    let draw = |shape: [usize; 3]| Tensor::randn(shape, DType::F64).unwrap();
    let (query, key, value) = fork_rng(0, || (draw([2, 3, 4]), draw([2, 5, 4]), draw([2, 5, 4])));
    let allowed = Tensor::from([
        [[true, false, true, true, true]],
        [[false, true, true, true, true]],
    ]);
    let banded = Tensor::ones([3, 5], DType::Bool)
        .unwrap()
        .tril(2)
        .unwrap()
        .triu(0)
        .unwrap();
    let both = allowed.logical_and(&banded).unwrap();
    let attend = |options| {
        query
            .scaled_dot_product_attention(&key, &value, options)
            .unwrap()
    };
    let expected = attend(AttentionOptions::new().attn_mask(&both));
    let options = AttentionOptions::new().causal_with(2).sliding_window(3);
    assert_close(
        &attend(options.attn_mask(&allowed)),
        &expected,
        Tolerance::CONTRACTION,
        "both",
    );
    // A query after all keys in its window sees nothing.
    let far = attend(AttentionOptions::new().causal_with(7).sliding_window(2));
    assert_eq!(
        far.abs().unwrap().sum(..).unwrap().item::<f64>().unwrap(),
        0.0
    );
    let result = query.scaled_dot_product_attention(&key, &value, options.sliding_window(0));
    assert_eq!(
        result.unwrap_err().to_string(),
        "scaled_dot_product_attention: sliding_window = 0: must be positive; a query sees its own key at least"
    );
    let causal = AttentionOptions::new().is_causal(true).attn_mask(&allowed);
    assert!(
        query
            .scaled_dot_product_attention(&key, &value, causal)
            .is_err()
    );
}

#[test]
fn layers_are_those_of_transformers_whole_and_in_pieces() {
    let (cases, tensors) = recorded("attentions");
    for (n, case) in cases.iter().enumerate() {
        let of = |name: &str| {
            tensors
                .get(&format!("attention{n}.{name}"))
                .unwrap()
                .clone()
        };
        let window = case["window"]
            .as_u64()
            .map(|window| usize::try_from(window).unwrap());
        let config = GroupedQueryAttentionConfig::new(16, 4)
            .num_kv_heads(2)
            .head_dim(6)
            .rotary(RotaryEmbeddingConfig::new(6))
            .sliding_window(window)
            .qk_norm_eps((case["kind"] == "qwen3").then_some(1e-6));
        let layer = with_default_dtype(DType::F64, || config.build()).unwrap();
        let prefix = format!("attention{n}.param.");
        let state: StateDict = tensors
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?.to_owned(), value.clone())))
            .collect();
        let _ = layer.load_state_dict(&state).unwrap();
        let x = of("x");
        let whole = layer.call(x.clone()).unwrap();
        assert_close(
            &whole,
            &of("whole"),
            Tolerance::CONTRACTION,
            &format!("{case}"),
        );
        let pieces: Vec<usize> = case["pieces"]
            .as_array()
            .unwrap()
            .iter()
            .map(number)
            .collect();
        let caches = [
            KeyValueCache::new(),
            KeyValueCache::with_capacity(7),
            KeyValueCache::with_capacity(2),
            KeyValueCache::new().sliding_window(window.unwrap_or(7)),
        ];
        for (c, mut cache) in caches.into_iter().enumerate() {
            let mut parts = Vec::new();
            for piece in x.split_with_sizes(&pieces, 1).unwrap() {
                let (y, longer) = no_grad(|| layer.call((piece, cache))).unwrap();
                (cache, parts) = (longer, [parts, vec![y]].concat());
            }
            assert_eq!(cache.len(), 7);
            let y = Tensor::cat(&parts, 1).unwrap();
            assert_close(
                &y,
                &of("pieces"),
                Tolerance::CONTRACTION,
                &format!("{case} cache {c}"),
            );
        }
    }
}
