//! Elements of the input that no output depends on.

use std::collections::BTreeMap;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;

/// Finds rows, columns or features of the input that no output depended on in any step, by gradient.
pub(in crate::audit) struct UnusedInput;

impl Check for UnusedInput {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let ids = record.by_id();
        // The indices that no call used, by module and dimension, and in how many calls.
        let mut unused: BTreeMap<(usize, usize), (Vec<usize>, usize)> = BTreeMap::new();
        let mut calls: BTreeMap<usize, usize> = BTreeMap::new();
        for probe in record.steps.iter().flat_map(|step| &step.probes.records) {
            let Some(&module) = ids.get(&probe.id).filter(|_| probe.outermost) else {
                continue;
            };
            *calls.entry(module).or_default() += 1;
            for (dim, indices) in &probe.unused {
                let (kept, count) = unused
                    .entry((module, *dim))
                    .or_insert_with(|| (indices.clone(), 0));
                kept.retain(|index| indices.contains(index));
                *count += 1;
            }
        }
        for ((module, dim), (indices, count)) in unused {
            let in_all = calls.get(&module) == Some(&count);
            let (Some(first), Some(last)) = (indices.first(), indices.last()) else {
                continue;
            };
            if !in_all {
                continue;
            }
            let places = match last - first + 1 == indices.len() {
                true if first == last => format!("index {first}"),
                true => format!("indices {first} to {last}"),
                false => format!("{} indices from {first} to {last}", indices.len()),
            };
            let finding = Finding::warning(FindingKind::UnusedInput, &record.modules[module].path)
                .message(format!(
                    "no output depends on {places} of dimension {dim} of its input"
                ))
                .cause("kernels and strides do not reach the end of this size, or the input is cut")
                .cure("resize or pad the input to a size that the strides divide")
                .number("dimension", dim as f64)
                .number("indices", indices.len() as f64);
            findings.push(finding);
        }
    }
}
