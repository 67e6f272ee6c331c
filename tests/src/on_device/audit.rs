use module_nn::audit::{Audit, FindingKind};
use module_nn::inspect::GradientInspector;
use module_nn::prelude::*;

use super::{Net, Seen, batch, train};

/// The audit of a network that trains, and of two that do not; and the gradients at the outputs of modules.
///
/// # Errors
///
/// None that is expected.
pub fn audit(device: &Device) -> Result<Seen> {
    let mut seen = Seen::default();
    let report = audited(Net::new(device)?, device)?;
    assert!(report.is_clean(), "{report}");
    let cut = Net {
        cuts: true,
        ..Net::new(device)?
    };
    let same = Net::new(device)?;
    let weight = same.first.weight();
    weight.set(weight.detach().zeros_like()?.add(0.5)?)?;
    if let Some(bias) = same.first.bias().get() {
        bias.set(bias.detach().zeros_like()?)?;
    }
    for (name, model) in [("cut", cut), ("same", same)] {
        let report = audited(model, device)?;
        let found: Vec<(FindingKind, &str)> = report
            .findings()
            .iter()
            .map(|found| (found.kind, found.path.as_str()))
            .collect();
        assert!(!found.is_empty(), "{name}");
        seen.text(name, &found);
    }

    let model = Net::new(device)?;
    let inspector = GradientInspector::new(&model, Select::all())?;
    let (x, y) = batch(2, device)?;
    let loss = CrossEntropyLoss::new().loss(&model.call(x)?, &y)?;
    loss.backward()?;
    for row in inspector.report().rows() {
        seen.text(&row.path, &(row.kind, row.calls, row.flag()));
        let numbers = [row.mean, row.std, row.min, row.max].map(|number| number as f32);
        seen.values(&row.path, &Tensor::from(numbers))?;
    }
    Ok(seen)
}

fn audited(model: Net, device: &Device) -> Result<module_nn::audit::AuditReport> {
    let mut optimizer = SGD::new(&model, 0.1)?;
    Audit::new(&model).run(|step| {
        let seed = 3 + step as u64;
        train(&model, &mut optimizer, batch(seed, device)?)
    })
}
