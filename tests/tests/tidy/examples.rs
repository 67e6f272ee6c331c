//! Every public item is used in an example that runs: on its page, on another page, or in the guide.
//!
//! The sources are read token by token ([`items`]), and so is the code of all examples ([`shown`]). What an example hides is
//! not shown, and neither is what it mentions in a comment or a string.

mod items;
mod shown;
mod source;

use crate::files::{files, none};
use items::Public;
use shown::{Example, Shown};
use source::{Item, Kind, WRITTEN};

/// A method that so many types have, such as `config` of layers, is the same on each, and shown on one of them.
const MANY: usize = 20;

/// The crates whose public items are checked.
const CRATES: [&str; 3] = ["module-tensor", "module-core", "module-nn"];

#[test]
fn every_public_item_has_an_example() {
    let shown = Shown::read(files());
    let mut wrong = Vec::new();
    for name in CRATES {
        let public = Public::read(name, files());
        assert!(public.items.len() > 500, "{} items", public.items.len());
        let missing = public
            .items
            .iter()
            .filter(|item| !is_shown(item, &public, &shown));
        wrong.extend(missing.map(|item| {
            let Item { path, line, .. } = item;
            format!("{path}:{line} {}", item.full_name())
        }));
    }
    none(&wrong, "public items that no example uses");
}

/// Whether an example uses the item as what it is: a method is called on a type that the example has; a type, or an
/// alias of it, is named, or returned by a function whose result the example looks at.
fn is_shown(item: &Item, public: &Public, shown: &Shown) -> bool {
    let name = &*item.name;
    let mut examples = shown.examples.iter();
    match &item.kind {
        Kind::Macro => examples.any(|example| example.has(&[name, "!"])),
        Kind::Function => examples.any(|example| example.names(name)),
        Kind::Type => {
            let names: Vec<_> = public.names_of(name).collect();
            let makers = public.returning(name);
            examples.any(|example| {
                names.iter().any(|name| example.names(name))
                    || makers.iter().any(|maker| example.looks_at(maker))
            })
        }
        Kind::Method { owner } => {
            let is_of_many = public.owners(name) >= MANY;
            examples.any(|example| {
                example.calls_method(name) && (is_of_many || has_type(example, item, owner, public))
            })
        }
        Kind::TraitMethod { owner } => examples.any(|example| {
            let implements = example.has(&["fn", name]);
            (example.calls_method(name) || implements) && has_type(example, item, owner, public)
        }),
    }
}

/// Whether an example can have a value of a type: it is on a page of the type, names it, or calls a function that returns
/// or takes one.
fn has_type(example: &Example, item: &Item, owner: &str, public: &Public) -> bool {
    owner == WRITTEN
        || example.path == item.path
        || public.names_of(owner).any(|name| example.names(name))
        || public
            .with_type(owner)
            .any(|item| calls(example, item, public))
}

/// Whether an example calls a function: a method as `.name(` or by its type.
fn calls(example: &Example, function: &Item, public: &Public) -> bool {
    let name = &*function.name;
    match &function.kind {
        Kind::Method { owner } | Kind::TraitMethod { owner } => {
            let by_type = |owner: &str| example.has(&[owner, "::", name, "("]);
            example.has(&[".", name, "("]) || public.names_of(owner).any(by_type)
        }
        _ => example.has(&[name, "("]),
    }
}

/// The parts of the check, on a small crate.
#[test]
fn items_that_are_not_shown_are_found() {
    let source = "\
/// A cup.
///
/// ```
/// let cup = fill(2).pour(1); // drink()
/// # cup.wash();
/// assert_eq!(cup.level(), 1);
/// ```
pub struct Cup;
impl Cup {
    pub fn pour(self, by: usize) -> Self { self }
    pub const fn level(&self) -> usize { 1 }
    pub fn wash(&self) {}
    pub fn drink(&self) {}
    pub(crate) fn inner(&self) {}
    #[doc(hidden)]
    pub fn hidden(&self) {}
}
pub fn fill(size: usize) -> Cup { Cup }
pub trait Drink { fn sip(&self); }
options! {
    pub struct Options {
        required { size: usize, }
        optional {
            #[with(a, b)]
            lid: Option<Vec<u8>> = None,
        }
    }
}
pub enum Tea { Green }
#[cfg(test)]
mod tests { pub fn helper() {} }
";
    let guide = "```rust\nlet options = Options::new(1);\nimpl Drink for X { fn sip(&self) {} }\n```\n\
                 ```text\nTea\n```\n";
    let file = |path: &str, text: &str| crate::files::File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let files = [
        file("module-nn/src/lib.rs", source),
        file("docs/src/a.md", guide),
    ];
    let (public, shown) = (Public::read("module-nn", &files), Shown::read(&files));
    let missing = public
        .items
        .iter()
        .filter(|item| !is_shown(item, &public, &shown));
    let missing: Vec<_> = missing
        .map(|item| format!("{} {}", item.line, item.full_name()))
        .collect();
    let expected = ["12 Cup::wash", "13 Cup::drink", "25 Options::lid", "29 Tea"];
    assert_eq!(missing, expected);
}
