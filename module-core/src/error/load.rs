use std::collections::HashSet;
use std::fmt;

use super::suggest;
use crate::layout::Shape;

/// Everything that keeps a state dict from being loaded, found before anything is changed.
///
/// It prints as PyTorch words it; lines after that name keys that are probably meant by others, or the
/// rule that turns the keys of the state dict into those of the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadProblems {
    /// The type of the module that was to be loaded.
    pub module: &'static str,
    /// Keys that the module has and the state dict lacks, in the module's order.
    pub missing: Vec<String>,
    /// Keys that the state dict has and the module lacks: module by module, in the state dict's
    /// order within one.
    pub unexpected: Vec<String>,
    /// Keys whose shapes differ, in the module's order.
    pub mismatched: Vec<Mismatch>,
    /// The number of keys that could be loaded.
    pub loaded: usize,
    /// Names of one tied tensor for which the state dict holds different values.
    pub untied: Vec<(String, String)>,
}

/// A key whose shape differs between the state dict and the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The key.
    pub key: String,
    /// The shape in the state dict.
    pub found: Shape,
    /// The shape in the module.
    pub expected: Shape,
}

impl LoadProblems {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
            && self.unexpected.is_empty()
            && self.mismatched.is_empty()
            && self.untied.is_empty()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            found,
            expected,
        } = self;
        write!(
            f,
            "size mismatch for {key}: copying a param with shape {found} from checkpoint, the shape \
             in current model is {expected}."
        )
    }
}

impl LoadProblems {
    /// The module path by which the keys of one side are longer than those of the other, if that is
    /// why nothing fits: `(path in the state dict, path in the module)`.
    fn prefix(&self) -> Option<(&str, &str)> {
        if self.loaded > 0 {
            return None;
        }
        if let Some(longer) = longer(&self.missing, &self.unexpected) {
            return Some((longer, ""));
        }
        Some(("", longer(&self.unexpected, &self.missing)?))
    }

    /// Pairs each unexpected key with the missing one that it is probably a slip of.
    fn hint(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Long lists come from another model and not from a slip.
        const LONG: usize = 20;
        if let Some((from, to)) = self.prefix() {
            let (whose, path) = if to.is_empty() {
                ("the state dict", from)
            } else {
                ("the module", to)
            };
            return write!(
                f,
                "\n\tthe keys of {whose} start with \"{path}.\": load with \
                 `LoadOptions::new().remap(Remap::new().prefix(\"{from}\", \"{to}\"))`"
            );
        }
        if self.missing.len().max(self.unexpected.len()) > LONG {
            return Ok(());
        }
        for key in &self.unexpected {
            if let Some(meant) = suggest(key, self.missing.iter().map(String::as_str)) {
                write!(f, "\n\tdid you mean \"{meant}\" by \"{key}\"?")?;
            }
        }
        Ok(())
    }
}

/// The path that every one of `short` lacks to be one of `long`.
fn longer<'l>(short: &[String], long: &'l [String]) -> Option<&'l str> {
    let first = short.first()?;
    let set: HashSet<&str> = long.iter().map(String::as_str).collect();
    let path = |key: &'l String| key.strip_suffix(first.as_str())?.strip_suffix('.');
    let explains = |path: &&str| {
        let mut keys = short.iter().map(|key| format!("{path}.{key}"));
        keys.all(|key| set.contains(key.as_str()))
    };
    // Few keys end alike, but in a crafted file all of them may.
    long.iter().filter_map(path).take(100).find(explains)
}

fn quoted(f: &mut fmt::Formatter<'_>, title: &str, keys: &[String]) -> fmt::Result {
    if keys.is_empty() {
        return Ok(());
    }
    write!(f, "\n\t{title} key(s) in state_dict: ")?;
    for (i, key) in keys.iter().enumerate() {
        write!(f, "{}\"{key}\"", if i > 0 { ", " } else { "" })?;
    }
    f.write_str(". ")
}

impl fmt::Display for LoadProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error(s) in loading state_dict for {}:", self.module)?;
        quoted(f, "Missing", &self.missing)?;
        quoted(f, "Unexpected", &self.unexpected)?;
        for mismatch in &self.mismatched {
            write!(f, "\n\t{mismatch}")?;
        }
        for (first, second) in &self.untied {
            write!(
                f,
                "\n\ttied tensors differ: \"{first}\" and \"{second}\" are one tensor in the model \
                 and hold different values in state_dict."
            )?;
        }
        self.hint(f)
    }
}
