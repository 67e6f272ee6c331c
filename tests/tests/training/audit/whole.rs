//! Values that a load did not bring, and calls that hooks did not see.

use module_nn::audit::FindingKind;
use module_nn::prelude::*;

use super::support::{audited, audited_by, classes, rows, shows, step};
use module_nn::audit::Audit;

#[derive(Module)]
struct Net {
    hidden: Linear,
    head: Linear,
    #[module(skip)]
    direct: bool,
}

impl Net {
    fn new(direct: bool) -> Result<Self> {
        Ok(Self {
            hidden: Linear::new(6, 16)?,
            head: Linear::new(16, 3)?,
            direct,
        })
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = match self.direct {
            true => self.hidden.forward(x)?,
            false => self.hidden.call(x)?,
        };
        self.head.call(x.tanh()?)
    }
}

#[test]
fn pitfall_19_weights_that_a_partial_load_left_fresh() {
    shows(FindingKind::FreshAfterLoad, "hidden", |bug| {
        let model = Net::new(false)?;
        let state = Net::new(false)?.state_dict()?;
        // Of another version, which has the layer under another name.
        let renamed = |(key, value): (&str, &Tensor)| {
            let key = if bug {
                key.replace("hidden.", "body.")
            } else {
                key.to_owned()
            };
            (key, value.clone())
        };
        let state: StateDict = state.iter().map(renamed).collect();
        let report = model.load_state_dict_with(&state, LoadOptions::new().strict(false))?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited_by(Audit::new(&model).loaded(&report), || {
            let logits = model.call(rows(16, 6)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

#[test]
fn pitfall_10_a_forward_without_a_call_while_a_hook_waits() {
    shows(FindingKind::BypassedCall, "hidden", |bug| {
        let model = Net::new(bug)?;
        let _hook = model.hidden.register_forward_hook(|_| ());
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let logits = model.call(rows(16, 6)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}
