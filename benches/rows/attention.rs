//! Scaled dot-product attention.

use module_nn::AttentionOptions;
use module_nn::prelude::*;

use super::row::{Rows, randn};

pub(crate) fn add(rows: &mut Rows) {
    let heads: &[usize] = &[4, 12, 128, 64];
    for (name, is_causal) in [("", false), (", causal", true)] {
        rows.both(
            &format!("attention [4, 12, 128, 64]{name}"),
            &[heads; 3],
            move |x| {
                let options = AttentionOptions::new().is_causal(is_causal);
                x[0].scaled_dot_product_attention(&x[1], &x[2], options)
            },
        );
    }
    let inputs = || {
        let x = randn(&[32, 12, 128, 32])?;
        Ok(vec![x.clone(), x.contiguous()?, x])
    };
    rows.both_of("attention [32, 12, 128, 32], padding mask", inputs, |x| {
        let mask = Tensor::arange(0, 128, ())?
            .lt(100)?
            .reshape([1, 1, 1, 128])?;
        let mask = mask.expand([32, 1, 1, 128])?;
        let options = AttentionOptions::new().attn_mask(Some(&mask));
        x[0].scaled_dot_product_attention(&x[1], &x[2], options)
    });
}
