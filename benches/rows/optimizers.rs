//! Optimizer steps over the 7.1 million parameters of a transformer layer.

use module_nn::prelude::*;

use super::row::{Rows, randn, work};

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

/// Steps with rate 1e-6 and the defaults for the rest.
fn add_rule<R: UpdateRule + 'static>(rows: &mut Rows, rule: R) {
    rows.add(format!("{}, 7.1 million parameters", R::NAME), move || {
        let model = model()?;
        let mut optimizer = rule.build(&model)?;
        work(move || optimizer.step(&model))
    });
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
    add_rule(rows, AdamConfig::new(1e-6));
    add_rule(rows, NAdamConfig::new(1e-6));
    add_rule(rows, RAdamConfig::new(1e-6));
    add_rule(rows, AdamaxConfig::new(1e-6));
    add_rule(rows, AdagradConfig::new(1e-6));
    add_rule(rows, AdadeltaConfig::new(1e-6));
    add_rule(rows, RMSpropConfig::new(1e-6));
    add_rule(rows, RpropConfig::new(1e-6));
    add_rule(rows, ASGDConfig::new(1e-6));
    add_rule(rows, AdafactorConfig::new(1e-6));
    rows.add("clip_grad_norm, 7.1 million parameters", || {
        let model = model()?;
        // A thousandth less than the norm, so that each step scales the gradients.
        let mut max_norm = clip_grad_norm(&model, 1e9)?;
        work(move || {
            max_norm *= 0.999;
            clip_grad_norm(&model, max_norm).map(drop)
        })
    });
}
