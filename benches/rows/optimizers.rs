//! Steps of optimizers over 7.1 million parameters, a layer of a transformer's.

use module_nn::prelude::*;

use crate::row::{Rows, randn, work};

/// Layers with 7.1 million parameters and gradients for all of them.
fn model() -> Result<Sequential> {
    let model = Sequential::new()
        .push(Linear::new(768, 2304)?)
        .push(Linear::new(2304, 768)?)
        .push(Linear::new(768, 2304)?)
        .push(Linear::new(2304, 768)?);
    model.call(randn(&[1, 768])?)?.sum(..)?.backward()?;
    Ok(model)
}

pub(crate) fn add(rows: &mut Rows) {
    rows.add("SGD, 7.1 million parameters", || {
        let model = model()?;
        let mut optimizer = SGD::new(&model, 1e-6)?;
        work(move || optimizer.step(&model))
    });
    rows.add("SGD with momentum, 7.1 million parameters", || {
        let model = model()?;
        let mut optimizer = SGDConfig::new(1e-6).momentum(0.9).build(&model)?;
        work(move || optimizer.step(&model))
    });
    rows.add("AdamW, 7.1 million parameters", || {
        let model = model()?;
        let mut optimizer = AdamW::new(&model, 1e-6)?;
        work(move || optimizer.step(&model))
    });
}
