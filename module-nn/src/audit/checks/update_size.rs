//! Steps that are as large as the weights: pitfall 40.

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;

/// Weights that a step changes by more than their own size. A weight that starts near zero has no size to compare with.
pub(in crate::audit) struct UpdateSize;

impl Check for UpdateSize {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let bound = record.options.thresholds.update_ratio;
        let mut large = Vec::new();
        for (index, known) in record.parameters.iter().enumerate() {
            let ratios = record.steps.iter().filter_map(|step| {
                let before = &step.start.parameters[index];
                // A manually set value is not a step.
                if !step.trains(known.leaf) || !before.is_sized_matrix() {
                    return None;
                }
                Some(step.change(index)? / before.stats().norm())
            });
            let largest = ratios.fold(0.0, f64::max);
            if largest.is_finite() && largest > bound {
                large.push((index, largest));
            }
        }
        let Some(&(index, ratio)) = large.first() else {
            return;
        };
        let others = match large.len() - 1 {
            0 => String::new(),
            count => format!(", and so for {count} other weight(s)"),
        };
        findings.push(
            Finding::warning(FindingKind::LargeUpdate, &record.parameters[index].path)
                .message(format!("a step changed it by {ratio:.3} times its own norm{others}"))
                .cause("the learning rate is too large for it, or its gradient is")
                .cure("lower the learning rate, warm it up, or clip gradients; a thousandth of the norm is usual")
                .number("update_ratio", ratio)
                .number("weights", large.len() as f64),
        );
    }
}
