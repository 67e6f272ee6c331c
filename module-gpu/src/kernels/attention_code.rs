//! The sizes of attention, and the functions that its kernels share.

use module_tensor::Result;
use module_tensor::backend::{AttentionGeometry, AttentionInputs};

use super::attention::NAME;
use crate::gpu::word;
use crate::product::PRODUCT_FIRST;

/// The sizes of an attention.
pub(crate) struct Sizes {
    pub(crate) batch: usize,
    /// The elements of the batch that share keys and values.
    pub(crate) repeats: usize,
    pub(crate) length: usize,
    pub(crate) keys: usize,
    pub(crate) width: usize,
    pub(crate) value_width: usize,
}

impl Sizes {
    pub(crate) fn new(inputs: &AttentionInputs, geometry: &AttentionGeometry) -> Self {
        let [query, key, value] =
            [&inputs.query, &inputs.key, &inputs.value].map(|x| x.layout.shape());
        Self {
            batch: query[0],
            repeats: geometry.repeats.max(1),
            length: query[1],
            keys: key[1],
            width: query[2],
            value_width: value[2],
        }
    }

    /// The parameters that the functions below read: the repeats, the queries, the keys, and the widths.
    pub(crate) fn parameters(&self) -> Result<Vec<u32>> {
        let sizes = [
            self.repeats,
            self.length,
            self.keys,
            self.width,
            self.value_width,
        ];
        sizes.into_iter().map(|size| word(NAME, size)).collect()
    }
}

/// The numbers of the parameters.
pub(crate) const REPEATS: usize = PRODUCT_FIRST;
pub(crate) const LENGTH: usize = PRODUCT_FIRST + 1;
pub(crate) const KEYS: usize = PRODUCT_FIRST + 2;
pub(crate) const WIDTH: usize = PRODUCT_FIRST + 3;
pub(crate) const VALUES: usize = PRODUCT_FIRST + 4;

/// The share of key `k` in the result of query `row`: `a` are the scores, `b` and `c` the greatest of each row and the sum of
/// its exponentials. A fully masked row has none.
pub(crate) fn share() -> String {
    format!(
        "fn share(row: u32, k: u32) -> f32 {{
    let total = c(row);
    if total == 0.0 {{ return 0.0; }}
    return exp_(a(row * ${KEYS} + k) - b(row)) / total;
}}
"
    )
}

/// The gradient of a score: `d` are the products of the gradient and the values, `e` their sums with the shares.
pub(crate) fn slope() -> String {
    share()
        + &format!(
            "fn slope(row: u32, k: u32) -> f32 {{
    return share(row, k) * (d(row * ${KEYS} + k) - e(row)) * $f{};
}}
",
            VALUES + 1
        )
}
