//! The reference documentation: front pages name everything that is behind them, and what users call has an example.
#![allow(clippy::panic, clippy::unwrap_used)]

use crate::public_items::{Item, Kind, public_items, root};

/// The documentation at the head of a file.
fn front_page(file: &str) -> String {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The names in the `pub use` lines of a file, without those that rustdoc hides.
fn exported(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let mut names = Vec::new();
    let mut rest = &text[..];
    while let Some((before, after)) = rest.split_once("\npub use ") {
        let (list, next) = after.split_once(';').unwrap();
        rest = next;
        if before.ends_with("#[doc(hidden)]") {
            continue;
        }
        let list = list.rsplit("::").next().unwrap().trim_matches(['{', '}']);
        let list = list.split(',').map(str::trim);
        names.extend(list.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    names
}

/// Configurations and inputs are on the pages of their layers.
fn has_a_page_of_its_own(name: &str) -> bool {
    !name.ends_with("Config") && !name.ends_with("Input") && !name.ends_with("Arguments")
}

#[test]
fn front_pages_name_everything_behind_them() {
    let files = [
        "module-nn/src/layers/mod.rs",
        "module-nn/src/loss/mod.rs",
        "module-nn/src/functional/mod.rs",
        "module-nn/src/optim/mod.rs",
        "module-nn/src/data/mod.rs",
    ];
    let mut count = 0;
    for file in files {
        let (page, names) = (front_page(file), exported(file));
        for name in &names {
            let is_option = match file {
                _ if file.contains("functional") => name.starts_with(char::is_uppercase),
                // What has a configuration is an optimizer, a schedule or an average.
                _ if file.contains("optim") => !names.contains(&format!("{name}Config")),
                _ => false,
            };
            if has_a_page_of_its_own(name) && !is_option && name != "LinearCrossEntropyOptions" {
                let named = [
                    format!("[`{name}`]"),
                    format!("({name})"),
                    format!("[`{name}::"),
                ];
                assert!(
                    named.iter().any(|link| page.contains(link)),
                    "add [`{name}`] to the table at the head of {file}"
                );
                count += 1;
            }
        }
    }
    assert!(count > 220, "{count} names");
}

/// The front page of a crate leads to each of its public modules, and each of them says what it holds.
#[test]
fn front_pages_of_crates_lead_to_their_modules() {
    for name in ["module-nn", "module-core", "module-tensor"] {
        let file = format!("{name}/src/lib.rs");
        let (page, text) = (
            front_page(&file),
            std::fs::read_to_string(root().join(&file)).unwrap(),
        );
        let modules = text
            .lines()
            .filter_map(|line| line.strip_prefix("pub mod "));
        for module in modules.map(|rest| rest.trim_end_matches([';', ' ', '{'])) {
            if module.starts_with("__") {
                continue;
            }
            assert!(
                page.contains(&format!("[`{module}`]")),
                "{file} does not name {module}"
            );
        }
        assert!(page.contains("# Example"), "{file} has no example");
    }
    let items = public_items();
    for module in items
        .iter()
        .filter(|item| item.kind == Kind::Module && !item.hidden)
    {
        let folder = module
            .file
            .trim_end_matches("lib.rs")
            .trim_end_matches("mod.rs");
        let files = [
            format!("{folder}{}/mod.rs", module.name),
            format!("{folder}{}.rs", module.name),
        ];
        let page = files.iter().find(|file| root().join(file).exists());
        let said = page.map(|file| front_page(file));
        assert!(
            said.is_none_or(|said| said.trim().len() > 40),
            "{}",
            module.place()
        );
    }
}

/// Traits that no crate can name, and functions that macros write.
const UNREACHABLE: [&str; 12] = [
    "Sealed",
    "RandomFloat",
    "RandomInteger",
    "Float",
    "Integer",
    "Wide",
    "FlattenField",
    "Skippable",
    "MayBeSkipped",
    "IsNotClone",
    "HasAddress",
    "LayerPayload",
];

/// What must have an example of its own: traits, functions outside types, methods of all modules and optimizers, and layers
/// and losses with their aliases.
fn needs_an_example(item: &Item) -> bool {
    let in_a_macro = item.owner.is_none()
        && std::fs::read_to_string(root().join(&item.file)).is_ok_and(|text| {
            let line = text.lines().nth(item.line - 1);
            line.is_some_and(|line| line.starts_with(' '))
        });
    let is_of_a_layer = item.file.starts_with("module-nn/src/layers/")
        || item.file.starts_with("module-nn/src/loss/");
    let wanted = match item.kind {
        Kind::Trait => true,
        Kind::Function => match item.owner.as_deref() {
            None => !in_a_macro,
            Some(owner) => ["ModuleExt", "Optimizer"].contains(&owner),
        },
        Kind::Type => is_of_a_layer && item.owner.is_none() && !item.name.ends_with("Config"),
        _ => false,
    };
    // The macros of `module-derive` have their examples where they are re-exported.
    let internal = ["private.rs", "config/serial.rs", "module-derive/src/lib.rs"];
    let is_internal = internal.iter().any(|file| item.file.ends_with(file));
    wanted && !item.hidden && !is_internal && !UNREACHABLE.contains(&item.name.as_str())
}

#[test]
fn traits_functions_and_layers_have_examples() {
    let items = public_items();
    let needed: Vec<&Item> = items.iter().filter(|item| needs_an_example(item)).collect();
    let without: Vec<String> = needed
        .iter()
        .filter(|item| !item.example)
        .map(|item| item.place())
        .collect();
    assert!(without.is_empty(), "no example at\n{}", without.join("\n"));
    assert!(needed.len() > 420, "{} items", needed.len());
}
