//! Scaled dot-product attention.

use module_nn::{AttentionOptions, Tensor};

use super::case::{Case, draw};
use super::tape::formula;

#[derive(Clone, Copy, Debug)]
struct Sizes {
    heads: usize,
    queries: usize,
    keys: usize,
    width: usize,
    value_width: usize,
    causal: bool,
}

impl Sizes {
    fn case(self) -> Case {
        let Self {
            heads,
            queries,
            keys,
            width,
            value_width,
            causal,
        } = self;
        // Scores and their scale, the exponential, which counts four, and shares; the same of the gradient; sums over the
        // width, over keys and, in the gradient, over all queries, that follow each other.
        let products = 4 * width.max(value_width) + 4 * keys.max(queries);
        let reference = formula(
            24.0,
            products,
            Box::new(move |tape, operands| {
                let [query, key, value] = [0, 1, 2].map(|i| &operands[i]);
                let scale = tape.number((width as f64).sqrt().recip());
                let mut out = Vec::new();
                for row in 0..heads * queries {
                    let (head, place) = (row / queries, row % queries);
                    let seen = if causal { place + 1 } else { keys };
                    let key_at = |j: usize| (head * keys + j) * width;
                    let score = |j: usize| {
                        let pairs =
                            (0..width).map(|i| (query[row * width + i], key[key_at(j) + i]));
                        tape.dot(pairs) * scale
                    };
                    let scores: Vec<_> = (0..seen).map(score).collect();
                    let shares = tape.softmax(&scores);
                    for i in 0..value_width {
                        let of = |j: usize| value[(head * keys + j) * value_width + i];
                        out.push(tape.dot(shares.iter().enumerate().map(|(j, &p)| (p, of(j)))));
                    }
                }
                out
            }),
        );
        let operands = vec![
            draw(&[1, heads, queries, width], 1),
            draw(&[1, heads, keys, width], 2),
            draw(&[1, heads, keys, value_width], 3),
        ];
        let operation = move |x: &[Tensor]| {
            let options = AttentionOptions::new().is_causal(causal);
            x[0].scaled_dot_product_attention(&x[1], &x[2], options)
        };
        Case::new(format!("{self:?}"), operands, operation, reference)
    }
}

/// Around the 64 or 128 queries of a block, vectors and tiles.
pub(crate) fn cases() -> Vec<Case> {
    let sizes =
        |heads: usize, queries: usize, keys: usize, width: usize, value_width: usize| Sizes {
            heads,
            queries,
            keys,
            width,
            value_width,
            causal: false,
        };
    let causal = |sizes: Sizes| Sizes {
        causal: true,
        ..sizes
    };
    let all = [
        sizes(1, 1, 5, 3, 2),
        sizes(2, 16, 17, 15, 16),
        sizes(3, 63, 31, 16, 17),
        sizes(1, 65, 64, 33, 8),
        sizes(2, 5, 130, 8, 33),
        sizes(1, 130, 80, 32, 32),
        sizes(1, 65, 257, 8, 9),
        causal(sizes(2, 66, 66, 16, 16)),
        causal(sizes(1, 129, 129, 7, 9)),
    ];
    all.map(Sizes::case).into_iter().collect()
}
