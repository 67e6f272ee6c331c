use std::fmt;

use super::suggest;
use crate::layout::Shape;

/// Everything that keeps a state dict from being loaded, found before anything is changed.
///
/// It prints as PyTorch words it; a line after that names keys that are probably meant by others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadProblems {
    /// The type of the module that was to be loaded.
    pub module: String,
    /// Keys that the module has and the state dict lacks, in the module's order.
    pub missing: Vec<String>,
    /// Keys that the state dict has and the module lacks: module by module, in the state dict's
    /// order within one.
    pub unexpected: Vec<String>,
    /// Keys whose shapes differ, in the module's order.
    pub mismatched: Vec<Mismatch>,
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

impl LoadProblems {
    /// Pairs each unexpected key with the missing one that it is probably a slip of.
    fn hint(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Long lists come from another model and not from a slip.
        const LONG: usize = 20;
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
        for Mismatch {
            key,
            found,
            expected,
        } in &self.mismatched
        {
            write!(
                f,
                "\n\tsize mismatch for {key}: copying a param with shape {found} from checkpoint, \
                 the shape in current model is {expected}."
            )?;
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
