//! Values that a load did not set.

use std::collections::BTreeMap;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{ModuleRecord, Record};

/// Finds modules whose values should have been loaded but still have their initial values.
pub(in crate::audit) struct FreshAfterLoad;

impl Check for FreshAfterLoad {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        // A trained parameter may be a new head; an untrained one will stay random.
        let mut fresh: BTreeMap<usize, (Vec<&str>, bool)> = BTreeMap::new();
        for (index, known) in record.parameters.iter().enumerate() {
            if record.options.not_loaded.contains(&known.path) {
                let (paths, trained) = fresh.entry(known.module).or_default();
                paths.push(&known.path);
                *trained |= record.is_trainable(index);
            }
        }
        for (index, known) in record.buffers.iter().enumerate() {
            let holds = |module: &ModuleRecord<'_>| module.buffers.contains(&index);
            let module = record.modules.iter().position(holds);
            if let Some(module) = module.filter(|_| record.options.not_loaded.contains(&known.path))
            {
                let (paths, _) = fresh.entry(module).or_default();
                paths.push(&known.path);
            }
        }
        for (module, (paths, trained)) in fresh {
            let path = &record.modules[module].path;
            let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
            let finding = match trained {
                true => Finding::warning(FindingKind::FreshAfterLoad, path),
                false => Finding::error(FindingKind::FreshAfterLoad, path),
            };
            let finding = finding
                .message(format!(
                    "{} kept the values from before the load",
                    names.join(", ")
                ))
                .cause("the file has other names, or the layer is new")
                .cure("rename the keys by `Remap`; allow it if the layer is meant to start anew")
                .number("tensors", paths.len() as f64);
            findings.push(finding);
        }
    }
}
