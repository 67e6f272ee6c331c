//! The public items of the library, read from its sources: what rustdoc shows, with names, aliases and documentation.
//!
//! The lint `unreachable_pub` ensures that what is `pub` can be reached, and rustfmt that items begin on lines of their own.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::path::Path;

use module_tests::files::rust_files;

/// The crates whose documentation users read.
const CRATES: [&str; 4] = ["module-tensor", "module-core", "module-nn", "module-derive"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Type,
    Trait,
    Constant,
    Module,
    Variant,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub kind: Kind,
    /// The type or trait whose member it is.
    pub owner: Option<String>,
    pub name: String,
    pub aliases: Vec<String>,
    /// Whether its documentation has a code block.
    pub example: bool,
    /// Whether rustdoc leaves it out.
    pub hidden: bool,
    /// Its file, relative to the repository.
    pub file: String,
    pub line: usize,
}

impl Item {
    /// Whether rustdoc's search finds it by `name`: it ignores case and underscores.
    pub(crate) fn is_found_by(&self, name: &str) -> bool {
        let same = |other: &str| folded(other) == folded(name);
        same(&self.name) || self.aliases.iter().any(|alias| same(alias))
    }

    /// Whether `path`, such as `Tensor::add` or `init::zeros`, is the end of its path.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let (before, name) = path.rsplit_once("::").unwrap_or(("", path));
        let folders = || self.file.split(['/', '.']).any(|part| part == before);
        name == self.name
            && match &self.owner {
                Some(owner) => owner == before,
                None => before.is_empty() || folders(),
            }
    }

    pub(crate) fn place(&self) -> String {
        format!("{}:{}: {}", self.file, self.line, self.name)
    }
}

fn folded(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All public items of the library.
pub(crate) fn public_items() -> Vec<Item> {
    let mut items = Vec::new();
    for name in CRATES {
        for file in rust_files(&root().join(name).join("src")) {
            let path = file.strip_prefix(root()).unwrap();
            let is_test = |part: &std::ffi::OsStr| {
                let stem = Path::new(part).file_stem().unwrap().to_str().unwrap();
                stem == "tests" || stem.ends_with("_tests")
            };
            if path.iter().any(is_test) {
                continue;
            }
            let path = path.to_str().unwrap().replace('\\', "/");
            items.extend(read(&path, &std::fs::read_to_string(&file).unwrap()));
        }
    }
    items
}

/// What a block of members belongs to.
enum Block {
    /// Its `pub` functions and constants are public.
    Inherent(String),
    /// Everything in it is public.
    Trait(String),
    Enum(String),
    /// A macro that writes methods of the trait `ModuleExt`.
    Methods,
    /// An implementation of a trait, or something private.
    Other,
}

/// What stands above an item: documentation and attributes.
#[derive(Default)]
struct Above {
    aliases: Vec<String>,
    example: bool,
    hidden: bool,
}

impl Above {
    /// Whether the line belongs to it.
    fn reads(&mut self, line: &str, inside_attribute: &mut bool) -> bool {
        if let Some(text) = line.strip_prefix("///") {
            self.example |= text.trim_start().starts_with("```");
            return true;
        }
        if !*inside_attribute && !line.starts_with("#[") {
            return false;
        }
        *inside_attribute = !line.ends_with(']');
        if line.starts_with("#[doc(alias") {
            let quoted = line.split('"').skip(1).step_by(2);
            self.aliases.extend(quoted.map(str::to_owned));
        }
        self.hidden |= line == "#[doc(hidden)]";
        true
    }
}

/// The public items of a file.
pub(crate) fn read(file: &str, text: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let (mut above, mut inside_attribute) = (Above::default(), false);
    let mut block: Option<(Block, bool)> = None;
    let mut in_tests = false;
    for (number, whole) in text.lines().enumerate() {
        let (indent, line) = (whole.len() - whole.trim_start().len(), whole.trim());
        if above.reads(line, &mut inside_attribute) {
            in_tests = line == "#[cfg(test)]";
            continue;
        }
        if in_tests && line.ends_with("mod tests {") {
            break;
        }
        if whole.starts_with('}') {
            block = None;
        }
        let member = block.as_ref().filter(|(block, _)| indent == block.indent());
        if let Some((kind, name)) = item(line, member.map(|(block, _)| block)) {
            let owner = member.and_then(|(block, _)| block.name());
            items.push(Item {
                kind,
                owner: owner.map(str::to_owned),
                name: name.to_owned(),
                aliases: std::mem::take(&mut above.aliases),
                example: above.example,
                hidden: above.hidden || member.is_some_and(|(_, hidden)| *hidden),
                file: file.to_owned(),
                line: number + 1,
            });
        }
        if indent == 0 && line.ends_with('{') {
            block = opened(line).map(|block| (block, above.hidden));
        }
        if !line.starts_with("//") {
            above = Above::default();
        }
    }
    items
}

impl Block {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Inherent(name) | Self::Trait(name) | Self::Enum(name) => Some(name),
            Self::Methods => Some("ModuleExt"),
            Self::Other => None,
        }
    }

    /// The indentation of its members.
    fn indent(&self) -> usize {
        match self {
            Self::Methods => 8,
            _ => 4,
        }
    }
}

/// The first word of the text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The block that a line opens, if its members are looked at.
fn opened(line: &str) -> Option<Block> {
    if let Some(rest) = line.strip_prefix("pub trait ") {
        return Some(Block::Trait(word(rest).to_owned()));
    }
    if let Some(rest) = line.strip_prefix("pub enum ") {
        return Some(Block::Enum(word(rest).to_owned()));
    }
    if line.starts_with("macro_rules! ") && line.ends_with("_methods {") {
        return Some(Block::Methods);
    }
    let rest = line.strip_prefix("impl")?;
    let rest = after_generics(rest).trim_start();
    if rest.contains(" for ") {
        return Some(Block::Other);
    }
    Some(Block::Inherent(word(rest).to_owned()))
}

/// The text after a leading list in angle brackets.
fn after_generics(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += match c {
            '<' => 1,
            '>' => -1,
            _ => 0,
        };
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

/// The public item that begins on a line.
fn item<'t>(line: &'t str, block: Option<&Block>) -> Option<(Kind, &'t str)> {
    let rest = match (line.strip_prefix("pub "), block) {
        (Some(_), Some(Block::Other)) => return None,
        (Some(rest), _) => rest,
        (None, Some(Block::Trait(_) | Block::Methods)) => line,
        (None, Some(Block::Enum(_))) => {
            let name = word(line);
            let is_variant = name.starts_with(|c: char| c.is_ascii_uppercase());
            return is_variant.then_some((Kind::Variant, name));
        }
        (None, _) => return None,
    };
    let mut rest = rest;
    for qualifier in ["const fn", "unsafe fn", "async fn"] {
        if rest.starts_with(qualifier) {
            rest = &rest[qualifier.len() - 2..];
        }
    }
    let (keyword, after) = rest.split_once(' ')?;
    let kind = match keyword {
        "fn" => Kind::Function,
        "struct" | "enum" | "type" | "union" => Kind::Type,
        "trait" => Kind::Trait,
        "const" | "static" => Kind::Constant,
        "mod" => Kind::Module,
        _ => return None,
    };
    let name = word(after);
    (!name.is_empty()).then_some((kind, name))
}

/// The reader on a file with one of everything.
#[test]
fn items_are_read_with_their_attributes_and_documentation() {
    let text = "\
/// A type.
///
/// ```
/// use it;
/// ```
#[doc(alias = \"thing\")]
#[doc(alias(\"object\", \"entity\"))]
#[diagnostic::on_unimplemented(
    message = \"no\"
)]
pub struct Thing<T>(T);

impl<T: Into<u8>> Thing<T> {
    /// Makes one.
    pub const fn new() -> Self {
    }

    fn private() {}
}

impl<T> Clone for Thing<T> {
    pub fn never() {}
}

pub trait Does {
    #[doc(hidden)]
    fn does(&self);
}

pub enum Choice {
    /// The first.
    #[doc(alias = \"one\")]
    First,
}

#[cfg(test)]
mod tests {
    pub fn none() {}
}
";
    let items = read("module-nn/src/init/file.rs", text);
    let found: Vec<String> = items
        .iter()
        .map(|item| {
            let owner = item.owner.as_deref().unwrap_or("");
            let (example, hidden) = (item.example, item.hidden);
            let (name, aliases) = (&item.name, &item.aliases);
            format!(
                "{:?} {owner}.{name} {aliases:?} {example} {hidden}",
                item.kind
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "Type .Thing [\"thing\", \"object\", \"entity\"] true false",
            "Function Thing.new [] false false",
            "Trait .Does [] false false",
            "Function Does.does [] false true",
            "Type .Choice [] false false",
            "Variant Choice.First [\"one\"] false false",
        ]
    );
    assert!(
        items[0].is_found_by("THING") && items[0].is_at("Thing") && items[0].is_at("init::Thing")
    );
    assert!(items[1].is_at("Thing::new") && !items[1].is_at("new"));
    assert!(!items[5].is_found_by("second"));
}
