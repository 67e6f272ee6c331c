//! Losses and embeddings.

use module_nn::Reduction;
use module_nn::prelude::*;

use super::row::{Rows, clear, randn, work};

/// Indices below `count`, unordered.
fn indices<const N: usize>(count: i64, shape: [usize; N]) -> Result<Tensor> {
    let len = shape.iter().product::<usize>() as i64;
    Tensor::from_vec((0..len).map(|i| i * 37 % count).collect::<Vec<_>>(), shape)
}

pub(crate) fn add(rows: &mut Rows) {
    rows.both("cross_entropy [256, 1024]", &[&[256, 1024]], |x| {
        x[0].cross_entropy(&indices(1024, [256])?, Default::default())
    });
    rows.both("cross_entropy [8, 256, 128]", &[&[8, 256, 128]], |x| {
        x[0].cross_entropy(&indices(256, [8, 128])?, Default::default())
    });
    rows.both("mse_loss [128, 3072]", &[&[128, 3072], &[128, 3072]], |x| {
        module_nn::functional::mse_loss(&x[0], &x[1], Reduction::Mean)
    });
    rows.add("embedding of 30000x256, 32x128 tokens", || {
        let (layer, tokens) = (Embedding::new(30000, 256)?, indices(30000, [32, 128])?);
        work(move || no_grad(|| layer.call(tokens.clone())).map(drop))
    });
    rows.add(
        "embedding of 30000x256, 32x128 tokens, and backward",
        || {
            let (layer, tokens) = (Embedding::new(30000, 256)?, indices(30000, [32, 128])?);
            let grad = randn(&[32, 128, 256])?;
            work(move || {
                clear(&layer, []);
                layer
                    .call(tokens.clone())?
                    .backward_with(&grad, Default::default())
            })
        },
    );
}
