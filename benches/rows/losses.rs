//! Losses and embeddings.

use module_nn::functional::{Reduction, ctc_loss, mse_loss};
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
        mse_loss(&x[0], &x[1], Reduction::Mean)
    });
    for batch in [1, 8] {
        let name = format!("ctc_loss [499, {batch}, 32], 60 labels");
        rows.both(&name, &[&[499, batch, 32]], move |x| {
            let targets = indices(31, [batch, 60])?.add(1_i64)?;
            let (times, labels) = (vec![499; batch], vec![60; batch]);
            ctc_loss(&x[0], &targets, times, labels, &CTCLossConfig::new())
        });
    }
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
