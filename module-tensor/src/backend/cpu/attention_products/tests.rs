//! Attention of one query and of few keys, compared with the formula in `f64`.

use crate::{AttentionOptions, BackwardOptions, Leaf, Shape, Tensor};

/// The output for one query; `hidden` says which keys it does not see.
fn expected(
    query: &[f32],
    keys: &[f32],
    values: &[f32],
    hidden: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let width = query.len();
    let scale = 1.0 / (width as f64).sqrt();
    let dot = |key: &[f32]| -> f64 {
        let products = key
            .iter()
            .zip(query)
            .map(|(k, q)| f64::from(*k) * f64::from(*q));
        products.sum()
    };
    let scores: Vec<f64> = keys
        .chunks_exact(width)
        .enumerate()
        .map(|(i, key)| {
            if hidden(i) {
                f64::NEG_INFINITY
            } else {
                dot(key) * scale
            }
        })
        .collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shares: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let total: f64 = shares.iter().sum();
    let column = |c: usize| -> f64 {
        let values = values.iter().skip(c).step_by(width);
        values
            .zip(&shares)
            .map(|(v, share)| f64::from(*v) * share / total)
            .sum()
    };
    (0..width).map(column).collect()
}

fn numbers(len: usize, factor: f64) -> Vec<f32> {
    let number = |i: usize| ((i as f64 * factor).fract() * 4.0 - 2.0) as f32;
    (0..len).map(number).collect()
}

#[test]
fn one_query_and_few_keys_give_the_formula() {
    for (length, count) in [
        (1, 1),
        (1, 7),
        (1, 64),
        (1, 150),
        (3, 3),
        (9, 20),
        (5, 63),
        (4, 64),
        (20, 65),
    ] {
        for width in [1, 5, 16, 64] {
            let heads = 3;
            let shape = |rows: usize| Shape::from([1, heads, rows, width]);
            let query = numbers(heads * length * width, 0.618_033_988_749_895);
            let key = numbers(heads * count * width, 0.754_877_666_246_693);
            let value = numbers(heads * count * width, 0.569_840_290_998_053);
            let tensor = |v: &[f32], rows| Tensor::from_vec(v.to_vec(), shape(rows)).unwrap();
            let inputs = [(&query, length), (&key, count), (&value, count)];
            let [q, k, v] = inputs.map(|(v, rows)| tensor(v, rows));
            for is_causal in [false, true] {
                let options = AttentionOptions::new().is_causal(is_causal);
                let out = q.scaled_dot_product_attention(&k, &v, options).unwrap();
                let out = out.to_vec::<f32>().unwrap();
                for (i, row) in out.chunks_exact(width).enumerate() {
                    let (head, at) = (i / length, i % length);
                    let of_head = head * count * width..(head + 1) * count * width;
                    let want = expected(
                        &query[i * width..][..width],
                        &key[of_head.clone()],
                        &value[of_head],
                        |key| is_causal && key > at,
                    );
                    for (got, want) in row.iter().zip(want) {
                        let distance = (f64::from(*got) - want).abs();
                        assert!(
                            distance <= 2e-6,
                            "{got} and not {want}: query {at} of {length}, {count} keys of {width}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_score_of_one_key_has_no_gradient() {
    for (length, width) in [(1, 3), (1, 64), (1, 100), (7, 5), (20, 64)] {
        let heads = 4;
        let tensor = |rows: usize, factor: f64| {
            let values = numbers(heads * rows * width, factor);
            Tensor::from_vec(values, [1, heads, rows, width]).unwrap()
        };
        let (query, key, value) = (tensor(length, 0.618), tensor(1, 0.755), tensor(1, 0.57));
        let leaves = [Leaf::new(), Leaf::new(), Leaf::new()];
        let [q, k, v] = [&query, &key, &value];
        let (q, k, v) = (leaves[0].track(q), leaves[1].track(k), leaves[2].track(v));
        let out = q.scaled_dot_product_attention(&k, &v, AttentionOptions::new());
        let out = out.unwrap();
        let grad = tensor(length, 0.31);
        out.backward_with(&grad, BackwardOptions::new()).unwrap();
        for leaf in &leaves[..2] {
            let grad = leaf.grad().unwrap().to_vec::<f32>().unwrap();
            assert!(
                grad.iter().all(|v| *v == 0.0),
                "{length} queries of {width}"
            );
        }
        // The value is every output, and its gradient the sum of theirs.
        let expected = grad.sum_keepdim(2).unwrap().to_vec::<f32>().unwrap();
        let got = leaves[2].grad().unwrap().to_vec::<f32>().unwrap();
        for (got, want) in got.iter().zip(expected) {
            assert!((got - want).abs() <= 1e-5, "{got} and not {want}");
        }
    }
}
