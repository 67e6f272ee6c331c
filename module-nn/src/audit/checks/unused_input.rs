//! Elements of the input that no output depends on.

use std::collections::BTreeMap;

use crate::audit::check::Check;
use crate::audit::dependence::Unused;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;

/// Finds, by gradient, rows, columns or features of the input that no output depended on in any step, unless a dropout may
/// have left them out by chance.
pub(in crate::audit) struct UnusedInput;

/// If chance would leave out at least this many indices, none is reported.
const CHANCE: f64 = 0.01;

impl Check for UnusedInput {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let ids = record.by_id();
        // By module and dimension: the indices that no call used, the number of calls, and how many of all indices would be
        // unused in these by chance.
        let mut unused: BTreeMap<(usize, usize), (Vec<usize>, usize, f64)> = BTreeMap::new();
        let mut calls: BTreeMap<usize, usize> = BTreeMap::new();
        for probe in record.steps.iter().flat_map(|step| &step.probes.records) {
            let Some(&module) = ids.get(&probe.id).filter(|_| probe.outermost) else {
                continue;
            };
            *calls.entry(module).or_default() += 1;
            for Unused {
                dim,
                indices,
                size,
                chance,
            } in &probe.unused
            {
                let (kept, count, by_chance) = unused
                    .entry((module, *dim))
                    .or_insert_with(|| (indices.clone(), 0, *size as f64));
                kept.retain(|index| indices.contains(index));
                *count += 1;
                *by_chance *= chance;
            }
        }
        for ((module, dim), (indices, count, by_chance)) in unused {
            let in_all = calls.get(&module) == Some(&count);
            let (Some(first), Some(last)) = (indices.first(), indices.last()) else {
                continue;
            };
            if !in_all || by_chance > CHANCE {
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
