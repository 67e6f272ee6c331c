//! Wrong shapes and sizes.

use super::*;

/// Every third of all combinations of these.
fn shapes(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut shapes = vec![vec![]];
    let mut last = vec![vec![]];
    for _ in 0..4 {
        let longer = |shape: &Vec<usize>| -> Vec<Vec<usize>> {
            sizes
                .iter()
                .map(|&size| [&**shape, &[size]].concat())
                .collect()
        };
        last = last.iter().flat_map(longer).collect();
        shapes.extend(last.iter().step_by(3).cloned());
    }
    shapes
}

#[test]
fn wrong_shapes_are_errors_and_never_panics() {
    doubles(|| {
        let plain = MultiheadAttentionConfig::new(4, 2)
            .add_bias_kv(true)
            .build()?;
        let first = MultiheadAttentionConfig::new(4, 2)
            .batch_first(true)
            .kdim(1)
            .build()?;
        let (grouped, rotary) = (
            decoder(PositionLayout::HalfSplit)?,
            RotaryEmbedding::new(4)?,
        );
        let positions = SinusoidalPositionEmbeddingConfig::new(4)
            .max_len(3)
            .build()?;
        let shapes = shapes(&[0, 1, 2, 4, 12]);
        let zeros = |shape: &Vec<usize>| Tensor::zeros(shape.clone(), DType::F64);
        let (mut refused, mut taken) = (0, 0);
        let mut count = |fails: bool| if fails { refused += 1 } else { taken += 1 };
        for (i, shape) in shapes.iter().enumerate() {
            let (x, other) = (zeros(shape)?, zeros(&shapes[i * 7 % shapes.len()])?);
            let right = zeros(&vec![2, 1, 4])?;
            for attention in [&plain, &first] {
                let of = |query: &Tensor, key: &Tensor| {
                    MultiheadAttentionInput::new(query.clone(), key.clone(), key.clone())
                };
                count(attention.call(of(&x, &x)).is_err());
                count(attention.call(of(&x, &other)).is_err());
                count(
                    attention
                        .call(of(&right, &right).attn_mask(x.clone()))
                        .is_err(),
                );
                count(
                    attention
                        .call(of(&right, &right).key_padding_mask(x.clone()))
                        .is_err(),
                );
            }
            count(rotary.call(x.clone()).is_err());
            count(
                rotary
                    .call((right.clone(), x.to_dtype(DType::I64)?))
                    .is_err(),
            );
            count(positions.call(x.clone()).is_err());
            count(grouped.call(x.clone()).is_err());
            let right = zeros(&vec![1, 2, 12])?;
            let masked = GroupedQueryAttentionInput::new(right.clone()).attn_mask(x.clone());
            count(grouped.call(masked).is_err());
            let mut cache = KeyValueCache::new();
            let appended = cache.append(x, other);
            count(appended.and_then(|_| grouped.call((right, cache))).is_err());
        }
        assert!(
            refused > 1000 && taken > 50,
            "{refused} refused, {taken} taken"
        );
        Ok(())
    });
}

#[test]
fn sizes_that_exceed_memory_are_errors() {
    let huge = usize::MAX;
    assert!(MultiheadAttention::new(huge, 1).is_err());
    assert!(
        MultiheadAttentionConfig::new(2, 1)
            .vdim(huge)
            .build()
            .is_err()
    );
    assert!(GroupedQueryAttention::new(huge, 1).is_err());
    let wide = GroupedQueryAttentionConfig::new(2, huge)
        .head_dim(2)
        .build();
    assert!(wide.is_err());
    assert!(RotaryEmbedding::new(huge - 1).is_err());
    assert!(
        SinusoidalPositionEmbeddingConfig::new(2)
            .max_len(huge)
            .build()
            .is_err()
    );
    assert!(SinusoidalPositionEmbedding::new(huge).is_err());
    let x = Tensor::zeros([1, 2], DType::F32).unwrap();
    assert!(
        RotaryEmbedding::new(2)
            .unwrap()
            .call((x.clone(), huge))
            .is_err()
    );
    let positions = SinusoidalPositionEmbeddingConfig::new(2).max_len(3).build();
    assert!(positions.unwrap().call((x, huge)).is_err());
    assert!(
        Transformer::generate_square_subsequent_mask(huge, DType::F32, &Device::cpu()).is_err()
    );
    let empty = Tensor::zeros([0, huge / 8, 4], DType::F32);
    if let Ok(empty) = empty {
        let attention = MultiheadAttention::new(4, 4).unwrap();
        let mask = Tensor::zeros([1], DType::F32).unwrap();
        let input = MultiheadAttentionInput::new(empty.clone(), empty.clone(), empty);
        assert!(attention.call(input.attn_mask(mask)).is_err());
    }
}
