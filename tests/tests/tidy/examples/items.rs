//! The public items of a crate, found in its sources.
//!
//! `pub` means reachable, because the compiler's lint `unreachable_pub` refuses it elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Item, Kind, Source, WRITTEN, names_of_import, owner_of};
use crate::files::File;
use crate::words::{closing, item_end, numbered_words};

/// What a crate shows to its users.
#[derive(Default)]
pub(crate) struct Public {
    pub(crate) items: Vec<Item>,
    /// Functions in the bodies of macros, by the name of the macro: a trait may get its methods from them.
    of_macros: BTreeMap<String, Vec<Item>>,
    /// Traits and the macros in their bodies.
    calls: Vec<(String, String)>,
    /// Names of types with the types that they are aliases of.
    aliases: Vec<(String, Vec<String>)>,
    /// Names of types that are hidden where they are defined.
    hidden: BTreeSet<String>,
    /// Names that a hidden import re-exports.
    hidden_exports: BTreeSet<String>,
    /// Names that another import re-exports, with its file.
    exports: Vec<(String, String)>,
    /// Files of modules without documentation.
    hidden_files: BTreeSet<String>,
}

impl Public {
    /// Reads the sources of the crate in a folder.
    pub(crate) fn read(folder: &str, files: &[File]) -> Self {
        let sources = format!("{folder}/src/");
        let is_tests = |path: &str| path.contains("/tests/") || path.ends_with("/tests.rs");
        let mut public = Self::default();
        for file in files {
            if file.is_rust() && file.path.starts_with(&sources) && !is_tests(&file.path) {
                let (words, lines) = numbered_words(&file.text);
                let source = Source {
                    path: &file.path,
                    words: &words,
                    lines: &lines,
                };
                public.add(&source, 0, words.len(), "");
            }
        }
        public.add_methods_of_macros();
        let Self {
            items,
            hidden,
            hidden_exports,
            exports,
            hidden_files,
            ..
        } = &mut public;
        exports.retain(|(_, path)| !hidden_files.contains(path));
        let is_exported = |name: &String| exports.iter().any(|(other, _)| other == name);
        items.retain(|item| {
            let name = match &item.kind {
                Kind::Method { owner } | Kind::TraitMethod { owner } => owner,
                Kind::Type | Kind::Function | Kind::Macro => &item.name,
            };
            let is_hidden_export = hidden_exports.contains(name) && !is_exported(name);
            !is_hidden_export && !hidden.contains(name) && !hidden_files.contains(&item.path)
        });
        public
    }

    /// The name of a type and its aliases.
    pub(crate) fn names_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let aliases = self.aliases.iter();
        let aliases = aliases.filter(move |(_, of)| of.iter().any(|word| word == name));
        std::iter::once(name).chain(aliases.map(|(alias, _)| &**alias))
    }

    /// The number of types that have a method of a name.
    pub(crate) fn owners(&self, method: &str) -> usize {
        let methods = self.items.iter().filter(|item| item.name == method);
        let owners = methods.filter_map(|item| match &item.kind {
            Kind::Method { owner } => Some(owner),
            Kind::TraitMethod { .. } | Kind::Type | Kind::Function | Kind::Macro => None,
        });
        owners.collect::<BTreeSet<_>>().len()
    }

    /// Functions whose result contains a type.
    pub(crate) fn returning(&self, name: &str) -> Vec<&str> {
        let returns = |item: &&Item| {
            let arrow = item.signature.windows(2).rposition(|two| two == ["-", ">"]);
            arrow.is_some_and(|at| item.signature[at..].iter().any(|word| word == name))
        };
        let items = self.items.iter().filter(returns);
        items.map(|item| &*item.name).collect()
    }

    /// Functions that return or take a value of a type, or a function of one.
    pub(crate) fn with_type(&self, name: &str) -> impl Iterator<Item = &Item> {
        let has = move |item: &&Item| item.signature.iter().any(|word| word == name);
        self.items.iter().filter(has)
    }

    /// Adds the items between two words; `owner` is the type of an `impl` block around them.
    fn add(&mut self, source: &Source<'_>, start: usize, end: usize, owner: &str) {
        let (mut i, mut is_hidden, mut module) = (start, false, None);
        while i < end {
            let word = |n: usize| source.word(i + n);
            match word(0) {
                "#" if word(1) == "[" => {
                    let close = closing(source.words, i + 1);
                    let attribute = &source.words[i + 2..close];
                    let has = |word: &str| attribute.iter().any(|w| w == word);
                    if has("cfg") && has("test") {
                        i = item_end(source.words, close + 1);
                        continue;
                    }
                    if has("path") {
                        module = attribute.last().map(|path| path.trim_matches('"'));
                    }
                    is_hidden |= has("doc") && has("hidden");
                    if has("macro_export") {
                        self.add_macro(source, close + 1, is_hidden);
                    }
                    i = close + 1;
                    continue;
                }
                "pub" if is_hidden => {
                    self.hide(source, i, module);
                    i = item_end(source.words, i);
                }
                "mod" if word(1) == "sealed" => i = item_end(source.words, i),
                "pub" if word(1) == "use" => {
                    let end = item_end(source.words, i);
                    let names = names_of_import(&source.words[i..end]);
                    let path = |name| (name, source.path.to_owned());
                    self.exports.extend(names.map(path));
                    i = end;
                }
                "pub" if word(1) == "(" => i = closing(source.words, i + 1) + 1,
                "pub" => {
                    let keyword = (1..4).find(|&n| KEYWORDS.contains(&word(n)));
                    match keyword {
                        Some(n) => i = self.add_item(source, i + n, owner),
                        None => i += 1,
                    }
                }
                "fn" | "macro_rules" if is_hidden => i = item_end(source.words, i),
                "impl" => {
                    let open = (i..end).find(|&n| source.word(n) == "{").unwrap_or(end);
                    let close = closing(source.words, open).min(end);
                    if let Some(owner) = owner_of(&source.words[i + 1..open]) {
                        self.add(source, open + 1, close, &owner);
                    }
                    i = close;
                }
                "macro_rules" => {
                    let (name, close) = (word(2).to_owned(), closing(source.words, i + 3));
                    self.add(source, i + 4, close, "");
                    let functions = source.functions(i + 4, close, "");
                    self.of_macros.insert(name, functions);
                    i = close;
                }
                _ => i += 1,
            }
            (is_hidden, module) = (false, None);
        }
    }

    /// Adds the item whose keyword is at `i`, and returns where to read on.
    fn add_item(&mut self, source: &Source<'_>, i: usize, owner: &str) -> usize {
        let name = source.word(i + 1);
        let is_written_by_a_macro = name == "$";
        let kind = match source.word(i) {
            "fn" if owner.is_empty() => Kind::Function,
            "fn" => Kind::Method {
                owner: owner.to_owned(),
            },
            _ => Kind::Type,
        };
        if !is_written_by_a_macro {
            self.items.push(source.item(i, kind));
        }
        match source.word(i) {
            "struct" => self.add_setters(source, i),
            "type" => {
                let end = source.find(i, ";");
                let of = source.words[i + 2..end].to_vec();
                self.aliases.push((name.to_owned(), of));
            }
            "trait" => {
                let open = source.find(i, "{");
                let close = closing(source.words, open);
                self.items.extend(source.functions(open + 1, close, name));
                let calls = (open + 1..close).filter(|&n| source.word(n) == "!");
                let calls = calls.map(|n| (name.to_owned(), source.word(n - 1).to_owned()));
                self.calls.extend(calls);
                return close;
            }
            _ => {}
        }
        i + 2
    }

    /// Adds the setters of a table of options: its entries with a default.
    fn add_setters(&mut self, source: &Source<'_>, i: usize) {
        let body = (i..source.words.len()).find(|&n| ["{", ";", "("].contains(&source.word(n)));
        let Some(open) = body.filter(|&n| source.word(n) == "{") else {
            return;
        };
        let close = closing(source.words, open);
        let table =
            (open..close).find(|&n| source.words[n..].starts_with(&TABLE.map(String::from)));
        let Some(table) = table else { return };
        let owner = source.word(i + 1);
        if owner == WRITTEN {
            return;
        }
        let close = closing(source.words, table + 1);
        let mut n = table + 2;
        while n + 1 < close {
            match source.word(n) {
                "#" => n = closing(source.words, n + 1) + 1,
                _ => {
                    self.items.push(Item {
                        path: source.path.to_owned(),
                        line: source.lines[n],
                        name: source.word(n).to_owned(),
                        kind: Kind::Method {
                            owner: owner.to_owned(),
                        },
                        signature: Vec::new(),
                    });
                    n = source.entry_end(n, close) + 1;
                }
            }
        }
    }

    fn add_macro(&mut self, source: &Source<'_>, i: usize, is_hidden: bool) {
        let is_hidden = is_hidden || source.word(i) != "macro_rules";
        if !is_hidden {
            self.items.push(source.item(i + 1, Kind::Macro));
        }
    }

    /// Notes what a hidden `pub` item keeps from users: a module, or the names of a re-export.
    fn hide(&mut self, source: &Source<'_>, i: usize, module: Option<&str>) {
        let end = item_end(source.words, i).min(source.words.len());
        match source.word(i + 1) {
            "mod" => {
                let folder = source
                    .path
                    .rsplit_once('/')
                    .map_or("", |(folder, _)| folder);
                let file = format!("{}.rs", source.word(i + 2));
                let file = module.unwrap_or(&file);
                self.hidden_files.insert(format!("{folder}/{file}"));
            }
            "use" => self
                .hidden_exports
                .extend(names_of_import(&source.words[i..end])),
            "struct" | "enum" | "trait" => {
                self.hidden.insert(source.word(i + 2).to_owned());
            }
            _ => {}
        }
    }

    fn add_methods_of_macros(&mut self) {
        for (owner, name) in std::mem::take(&mut self.calls) {
            for mut item in self.of_macros.remove(&name).unwrap_or_default() {
                item.kind = Kind::TraitMethod {
                    owner: owner.clone(),
                };
                self.items.push(item);
            }
        }
    }
}

const KEYWORDS: [&str; 6] = ["fn", "struct", "enum", "trait", "type", "union"];

/// What begins the entries of a table that have a default.
const TABLE: [&str; 2] = ["optional", "{"];
