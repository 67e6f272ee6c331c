//! Recurrent layers.

use module_nn::prelude::*;

use super::row::{Rows, clear, randn, work};

pub(crate) fn add(rows: &mut Rows) {
    for batch in [8, 1] {
        let name = format!("lstm 256, 64 steps, batch {batch}");
        rows.add(&*name, move || {
            let (layer, x) = (LSTM::new(256, 256)?, randn(&[64, batch, 256])?);
            work(move || no_grad(|| layer.call(x.clone())).map(drop))
        });
        rows.add(format!("{name}, and backward"), move || {
            let (layer, x) = (LSTM::new(256, 256)?, randn(&[64, batch, 256])?.with_grad()?);
            let grad = randn(&[64, batch, 256])?;
            work(move || {
                clear(&layer, [&x]);
                let (y, _) = layer.call(x.clone())?;
                y.backward_with(&grad, Default::default())
            })
        });
    }
}
