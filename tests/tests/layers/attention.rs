//! Guarantees of attention beyond PyTorch's numbers: the cache, causality without a mask, copies that share nothing, hooks
//! and paths.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod refused;

use std::cell::RefCell;
use std::rc::Rc;

use module_nn::prelude::*;
use module_nn::{deferred, with_default_dtype};
use module_tests::golden::{Tolerance, assert_close};

fn normal(shape: impl Into<Shape>) -> Tensor {
    Tensor::randn(shape, DType::F64).unwrap()
}

/// Runs in `F64` with a separate generator.
fn doubles(test: impl FnOnce() -> Result<()>) {
    fork_rng(0, || with_default_dtype(DType::F64, test)).unwrap();
}

fn decoder(layout: PositionLayout) -> Result<GroupedQueryAttention> {
    let rotary = RotaryEmbeddingConfig::new(4).rotary_dim(2).layout(layout);
    GroupedQueryAttentionConfig::new(12, 4)
        .num_kv_heads(2)
        .head_dim(4)
        .rotary(rotary)
        .build()
}

#[test]
fn pieces_with_a_cache_give_the_same_output_as_the_whole() {
    doubles(|| {
        for layout in [PositionLayout::HalfSplit, PositionLayout::Interleaved] {
            let attention = decoder(layout)?;
            let x = normal([2, 7, 12]);
            let whole = attention.call(x.clone())?;
            for pieces in [vec![1; 7], vec![4, 1, 2], vec![1, 6], vec![7]] {
                let (mut cache, mut parts) = (KeyValueCache::new(), Vec::new());
                for piece in x.split_with_sizes(&pieces, 1)? {
                    let (y, longer) = attention.call((piece, cache))?;
                    (cache, parts) = (longer, [parts, vec![y]].concat());
                }
                assert_eq!(cache.len(), 7);
                let label = format!("{layout:?} {pieces:?}");
                assert_close(
                    &Tensor::cat(&parts, 1)?,
                    &whole,
                    Tolerance::CONTRACTION,
                    &label,
                );
            }
        }
        Ok(())
    });
}

#[test]
fn an_older_cache_is_as_it_was() {
    doubles(|| {
        let attention = decoder(PositionLayout::HalfSplit)?;
        let (first, second) = (normal([2, 3, 12]), normal([2, 1, 12]));
        let (_, cache) = attention.call((first, KeyValueCache::new()))?;
        let (once, longer) = attention.call((second.clone(), cache.clone()))?;
        let (again, _) = attention.call((second.clone(), cache.clone()))?;
        let (back, _) = attention.call((second.clone(), longer.truncate(3)?))?;
        assert_eq!((cache.len(), longer.len()), (3, 4));
        assert_close(&again, &once, Tolerance::EXACT, "the same cache again");
        assert_close(&back, &once, Tolerance::EXACT, "a truncated cache");
        // A beam search that continues only with the second sequence.
        let second_twice = Tensor::from([1_i64, 1]);
        let chosen = second.index_select(0, &second_twice)?;
        let (beams, _) = attention.call((chosen, cache.select(&second_twice)?))?;
        for beam in 0..2 {
            let beam = beams.select(0, beam)?;
            assert_close(&beam, &once.select(0, 1)?, Tolerance::EXACT, "a beam");
        }
        let error = cache.truncate(4).unwrap_err().to_string();
        assert_eq!(error, "KeyValueCache: len = 4: the cache holds 3");
        Ok(())
    });
}

#[test]
fn the_cache_carries_gradients() {
    doubles(|| {
        let attention = decoder(PositionLayout::HalfSplit)?;
        let x = normal([1, 3, 12]);
        let grad = |y: Tensor| -> Result<Tensor> {
            attention.zero_grad();
            y.sum(..)?.backward()?;
            Ok(attention.get_parameter("k_proj.weight")?.grad().unwrap())
        };
        let whole = grad(attention.call(x.clone())?)?;
        let (a, cache) = attention.call((x.narrow(1, 0..2)?, KeyValueCache::new()))?;
        let (b, _) = attention.call((x.narrow(1, 2..3)?, cache))?;
        let pieces = grad(Tensor::cat(&[a, b], 1)?)?;
        assert_close(&pieces, &whole, Tolerance::CONTRACTION, "gradient");
        Ok(())
    });
}

#[test]
fn causal_attention_needs_no_mask() {
    doubles(|| {
        for extra in [false, true] {
            let attention = MultiheadAttentionConfig::new(4, 2)
                .add_zero_attn(extra)
                .build()?;
            let x = normal([5, 3, 4]);
            let mask = Transformer::generate_square_subsequent_mask(5, DType::F64, &Device::cpu())?;
            let padding = Tensor::from([[false, false, false, true, false]]).expand([3, 5])?;
            for padding in [None, Some(padding)] {
                for weights in [false, true] {
                    let input = MultiheadAttentionInput::new(x.clone(), x.clone(), x.clone())
                        .need_weights(weights)
                        .key_padding_mask(padding.clone());
                    let (by_mask, _) = attention.call(input.clone().attn_mask(mask.clone()))?;
                    let (without, _) = attention.call(input.clone().is_causal(true))?;
                    let (both, _) =
                        attention.call(input.is_causal(true).attn_mask(mask.clone()))?;
                    let label = format!("{extra} {weights}");
                    assert_close(&without, &by_mask, Tolerance::CONTRACTION, &label);
                    assert_close(&both, &by_mask, Tolerance::CONTRACTION, &label);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_rotated_product_depends_on_the_distance_only() {
    doubles(|| {
        let rotary = RotaryEmbedding::new(8)?;
        let (query, key) = (normal([1, 8]), normal([1, 8]));
        let product = |t: usize, s: usize| -> Result<Tensor> {
            let (query, key) = (
                rotary.call((query.clone(), t))?,
                rotary.call((key.clone(), s))?,
            );
            query.mul(&key)?.sum(..)
        };
        let expected = product(5, 2)?;
        for far in [0, 7, 1000] {
            assert_close(
                &product(far + 3, far)?,
                &expected,
                Tolerance::CONTRACTION,
                "distance 3",
            );
        }
        Ok(())
    });
}

fn encoder(layers: usize) -> Result<TransformerEncoder> {
    let layer = TransformerEncoderLayerConfig::new(4, 2).dim_feedforward(3);
    TransformerEncoderConfig::new(layer, layers).build()
}

#[test]
fn layers_start_as_copies_that_share_nothing() {
    doubles(|| {
        let next = |layers| {
            fork_rng(0, || {
                encoder(layers)?;
                Tensor::rand([2], DType::F64)
            })
        };
        // Copies draw nothing.
        assert_close(
            &next(4)?,
            &next(1)?,
            Tolerance::EXACT,
            "the generator afterwards",
        );

        let encoder = encoder(2)?;
        let weight = |i: usize| encoder.layers()[i].get_parameter("linear1.weight");
        assert!(weight(0)?.detach().equal(&weight(1)?.detach())?);
        assert_ne!(weight(0)?.id(), weight(1)?.id());
        weight(0)?.set(weight(0)?.detach().add(1.0)?)?;
        assert!(!weight(0)?.detach().equal(&weight(1)?.detach())?);

        // A reset repeats the construction, which made copies.
        encoder.reset_parameters()?;
        assert!(weight(0)?.detach().equal(&weight(1)?.detach())?);
        assert_ne!(weight(0)?.id(), weight(1)?.id());
        Ok(())
    });
}

#[test]
fn models_without_values_get_those_of_a_file_or_of_the_seed() {
    doubles(|| {
        let attention = || {
            MultiheadAttentionConfig::new(6, 2)
                .kdim(3)
                .add_bias_kv(true)
                .build()
        };
        let built = fork_rng(1, attention)?.state_dict()?;
        let later = deferred(attention)?;
        fork_rng(1, || later.reset_parameters())?;
        for (key, value) in later.state_dict()?.iter() {
            let expected = built.get(key).expect("the same keys");
            assert_close(value, expected, Tolerance::EXACT, key);
        }

        let (model, later) = (encoder(3)?, deferred(|| encoder(3))?);
        assert!(later.parameters().all(|parameter| !parameter.has_values()));
        assert!(
            later
                .load_state_dict(&model.state_dict()?)?
                .not_loaded
                .is_empty()
        );
        let x = normal([3, 1, 4]);
        model.eval();
        later.eval();
        assert_close(
            &later.call(x.clone())?,
            &model.call(x)?,
            Tolerance::EXACT,
            "loaded",
        );
        Ok(())
    });
}

#[test]
fn a_reset_transformer_is_drawn_by_xavier() {
    doubles(|| {
        let config = TransformerConfig::new()
            .d_model(8)
            .nhead(2)
            .dim_feedforward(4);
        let model = config.num_encoder_layers(2).num_decoder_layers(1).build()?;
        // Wider than that of any linear layer of 8 inputs.
        let bound = (6.0_f64 / 12.0).sqrt();
        for _ in 0..2 {
            let weight = model
                .get_parameter("encoder.layers.1.linear1.weight")?
                .detach();
            let most = weight.abs()?.amax(..)?.item::<f64>()?;
            assert!(most <= bound && most > 8.0_f64.sqrt().recip(), "{most}");
            model.reset_parameters()?;
        }
        Ok(())
    });
}

#[test]
fn hooks_see_masks_weights_and_the_cache() {
    doubles(|| {
        let attention = MultiheadAttention::new(4, 2)?;
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = seen.clone();
        let hook = attention.register_forward_hook(move |call| {
            let shapes = |tensors: Vec<Tensor>| -> Vec<String> {
                tensors.iter().map(|x| x.shape().to_string()).collect()
            };
            log.borrow_mut()
                .push((shapes(call.inputs()), shapes(call.outputs())));
        });
        let log = seen.clone();
        let projection = attention.out_proj().register_forward_hook(move |call| {
            log.borrow_mut()
                .push((Vec::new(), vec![call.module().kind().to_owned()]));
        });
        let x = normal([3, 1, 4]);
        let mask = Tensor::zeros([3, 3], DType::F64)?;
        attention.call(MultiheadAttentionInput::new(x.clone(), x.clone(), x).attn_mask(mask))?;
        drop((hook, projection));
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let expected: Vec<(Vec<String>, Vec<String>)> = vec![
            (owned(&[]), owned(&["NonDynamicallyQuantizableLinear"])),
            (
                owned(&["[3, 1, 4]", "[3, 1, 4]", "[3, 1, 4]", "[3, 3]"]),
                owned(&["[3, 1, 4]", "[1, 3, 3]"]),
            ),
        ];
        assert_eq!(*seen.borrow(), expected);

        let attention = decoder(PositionLayout::HalfSplit)?;
        let hook = attention.register_forward_hook(|call| assert_eq!(call.outputs().len(), 3));
        attention.call((normal([1, 2, 12]), KeyValueCache::new()))?;
        drop(hook);
        Ok(())
    });
}

#[test]
fn errors_name_the_attention() {
    doubles(|| {
        let encoder = encoder(2)?;
        let mask = Tensor::zeros([2, 2], DType::F64)?;
        let error = encoder.call(TransformerEncoderInput::new(normal([3, 1, 4])).mask(mask));
        assert_eq!(
            error.unwrap_err().to_string(),
            "layers.0.self_attn (MultiheadAttention): MultiheadAttention: expected an attn_mask [3, 3] or \
             [2, 3, 3], got shape [2, 2]"
        );
        Ok(())
    });
}

#[test]
fn layers_of_the_transformer_work_in_a_sequential() {
    doubles(|| {
        let layer = TransformerEncoderLayerConfig::new(4, 2)
            .dim_feedforward(3)
            .batch_first(true);
        let model = Sequential::new()
            .push(
                SinusoidalPositionEmbeddingConfig::new(4)
                    .max_len(8)
                    .batch_first(true)
                    .build()?,
            )
            .push(layer.build()?)
            .push(GroupedQueryAttention::new(4, 2)?);
        assert_eq!(
            model.call(normal([2, 5, 4]))?.shape().to_string(),
            "[2, 5, 4]"
        );
        Ok(())
    });
}
