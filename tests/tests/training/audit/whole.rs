//! Values that a load did not provide, and calls that hooks did not see.

use module_nn::audit::{Audit, FindingKind, Severity};
use module_nn::prelude::*;

use super::support::{classes, cross_entropy_of, rows, shows, trained, trained_by};

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
        // From another version, in which the layer has another name.
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
        let report = trained_by(Audit::new(&model).loaded(&report), &model, cross_entropy_of)?;
        for finding in report.of_kind(FindingKind::FreshAfterLoad) {
            assert_eq!(finding.numbers["tensors"], 2.0);
        }
        Ok(report)
    });
}

#[test]
fn pitfall_10_a_forward_without_a_call_while_a_hook_waits() {
    shows(FindingKind::BypassedCall, "hidden", |bug| {
        let model = Net::new(bug)?;
        let _hook = model.hidden.register_forward_hook(|_| ());
        trained(&model, cross_entropy_of)
    });
}

#[test]
fn statistics_that_a_partial_load_left_fresh() {
    let load = |missing: &str| {
        let model = Sequential::new()
            .push(Linear::new(6, 3)?)
            .push(BatchNorm1d::new(3)?);
        let mut state = model.state_dict()?;
        state.remove(missing);
        let report = model.load_state_dict_with(&state, LoadOptions::new().strict(false))?;
        model.eval();
        let audit = Audit::new(&model).loaded(&report);
        // Evaluated immediately, like a model that was trained elsewhere.
        audit.evaluate(|| no_grad(|| model.call(rows(16, 6)?)).map(drop))
    };
    shows(FindingKind::FreshAfterLoad, "1", |bug| {
        load(if bug { "1.running_mean" } else { "none" })
    });
    // Frozen values stay random, which is worse than a new head.
    let severity = |missing| load(missing).unwrap().findings()[0].severity;
    assert_eq!(severity("1.running_mean"), Severity::Error);
    assert_eq!(severity("1.weight"), Severity::Warning);
}

#[test]
fn a_module_with_a_hook_that_is_not_used() {
    let report = fork_rng(0, || {
        let model = [Linear::new(6, 3)?, Linear::new(6, 3)?];
        let _hook = model[1].register_forward_hook(|_| ());
        trained(&model, |model| cross_entropy_of(&model[0]))
    });
    let report = report.unwrap();
    assert_eq!(
        report.of_kind(FindingKind::BypassedCall).count(),
        0,
        "{report}"
    );
}

#[test]
fn a_part_of_a_module_that_is_used_in_one_step_while_a_hook_waits() {
    shows(FindingKind::BypassedCall, "hidden", |bug| {
        let model = Net::new(false)?;
        let _hook = model.hidden.register_forward_hook(|_| ());
        let mut steps = 0;
        trained(&model, |model| {
            steps += 1;
            if !bug {
                return cross_entropy_of(model);
            }
            // Only its weight, and only in the second step.
            let weight = model.hidden.weight().tensor();
            let weight = if steps == 1 { weight.detach() } else { weight };
            let x = rows(16, 6)?.linear(&weight, None)?.tanh()?;
            CrossEntropyLoss::new().loss(&model.head.call(x)?, &classes(16, 3)?)
        })
    });
}
