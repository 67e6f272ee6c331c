use std::collections::HashMap;

use regex_lite::Regex;

use super::inverse::invert;
use crate::select::compile_regex;
use crate::{ModuleError, Result};

/// Rules that translate the keys of a foreign checkpoint to a module's own.
///
/// The rules run in the order in which they were added, each on the result of the one before. A rule that matches no key is
/// not an error; a strict load reports the names that do not fit.
///
/// # Example
///
/// ```
/// use module_core::Remap;
///
/// let remap = Remap::new()
///     .prefix("module", "")
///     .prefix("bert", "encoder")
///     .regex(r"LayerNorm\.gamma$", "norm.weight")?
///     .regex(r"\.layer_(\d+)\.", ".layers.$1.")?;
/// assert_eq!(remap.key("module.bert.layer_3.LayerNorm.gamma"), "encoder.layers.3.norm.weight");
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Remap {
    rules: Vec<RemapRule>,
}

#[derive(Clone, Debug)]
enum RemapRule {
    Prefix(String, String),
    Key(String, String),
    /// Many at once; none is replaced twice.
    Keys(HashMap<String, String>),
    Regex(Regex, String),
}

impl Remap {
    /// No rules: every key stays.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rules that strip the wrappers of `DataParallel` and `torch.compile`: every leading `module.` and `_orig_mod.`,
    /// and `_orig_mod.` elsewhere, if only a part of a model was compiled.
    pub fn strip_wrappers() -> Self {
        let rules = [(r"^((module|_orig_mod)\.)+", ""), (r"\._orig_mod\.", ".")];
        let rules = rules.into_iter().filter_map(|(pattern, replacement)| {
            Some(RemapRule::Regex(
                Regex::new(pattern).ok()?,
                replacement.into(),
            ))
        });
        Self {
            rules: rules.collect(),
        }
    }

    /// Replaces the module path `from` at the start of keys by `to`; an empty `to` removes it, an empty `from` adds `to`
    /// before every key. A trailing dot is optional.
    #[must_use]
    pub fn prefix(self, from: impl Into<String>, to: impl Into<String>) -> Self {
        let path = |text: String| text.strip_suffix('.').map(str::to_owned).unwrap_or(text);
        self.with(RemapRule::Prefix(path(from.into()), path(to.into())))
    }

    /// Replaces one whole key.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Remap;
    ///
    /// let remap = Remap::new().rename("gamma", "norm.weight");
    /// assert_eq!((remap.key("gamma"), remap.key("0.gamma")), ("norm.weight".into(), "0.gamma".into()));
    /// ```
    #[must_use]
    pub fn rename(self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.with(RemapRule::Key(from.into(), to.into()))
    }

    /// Replaces every match of a regular expression; `$1` or `${name}` in the replacement is the match of a group, and `$$`
    /// is a `$`.
    ///
    /// # Errors
    ///
    /// An invalid regular expression.
    pub fn regex(self, pattern: &str, replacement: impl Into<String>) -> Result<Self> {
        Ok(self.with(RemapRule::Regex(
            compile_regex(pattern)?,
            replacement.into(),
        )))
    }

    fn with(mut self, rule: RemapRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The rules that translate the module's keys back to those of the checkpoint.
    ///
    /// They restore the form that each rule looks for: if two forms become one, as with `prefix("module", "")` on keys of
    /// which only some have the prefix, all get it back. [`inverse_for`](Self::inverse_for) is exact for the keys of one
    /// checkpoint.
    ///
    /// # Errors
    ///
    /// A regular expression with anything but plain text and non-nested groups that each occur once in the replacement.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Remap;
    ///
    /// let rules = Remap::new().prefix("bert", "").regex(r"\.layer_(\d+)\.", ".layers.$1.")?;
    /// assert_eq!(rules.key("bert.encoder.layer_3.query"), "encoder.layers.3.query");
    /// assert_eq!(rules.inverse()?.key("encoder.layers.3.query"), "bert.encoder.layer_3.query");
    /// assert!(Remap::strip_wrappers().inverse().is_err());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn inverse(&self) -> Result<Self> {
        let undo = |rule: &RemapRule| {
            match rule {
            RemapRule::Prefix(from, to) => Ok(RemapRule::Prefix(to.clone(), from.clone())),
            RemapRule::Key(from, to) => Ok(RemapRule::Key(to.clone(), from.clone())),
            RemapRule::Keys(keys) => {
                let turned = keys.iter().map(|(from, to)| (to.clone(), from.clone()));
                Ok(RemapRule::Keys(turned.collect()))
            }
            RemapRule::Regex(regex, to) => match invert(regex.as_str(), to) {
                Some((back, text)) => Ok(RemapRule::Regex(back, text)),
                None => Err(ModuleError::Pattern {
                    pattern: regex.as_str().to_owned(),
                    problem: "it has no inverse: it must be plain text and groups, each of which \
                              stands once in the replacement; use `Remap::inverse_for` with the keys \
                              of the checkpoint"
                        .to_owned(),
                }
                .into()),
            },
        }
        };
        let rules: Result<_> = self.rules.iter().rev().map(undo).collect();
        Ok(Self { rules: rules? })
    }

    /// The rules that undo these for `keys`, those of a checkpoint; other keys stay.
    ///
    /// # Errors
    ///
    /// Two keys that become the same.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Remap;
    ///
    /// let back = Remap::strip_wrappers().inverse_for(["module.a", "b"])?;
    /// assert_eq!((back.key("a"), back.key("b")), ("module.a".to_owned(), "b".to_owned()));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn inverse_for<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Result<Self> {
        let mut back = HashMap::new();
        for old in keys {
            let key = self.key(old);
            if let Some(first) = back.insert(key.clone(), old.to_owned()) {
                return Err(ModuleError::KeyCollision {
                    op: "inverse_for",
                    first,
                    second: old.to_owned(),
                    key,
                }
                .into());
            }
        }
        Ok(Self::new().with(RemapRule::Keys(back)))
    }

    /// The translation of a key.
    pub fn key(&self, key: &str) -> String {
        let apply = |key: String, rule: &RemapRule| match rule {
            RemapRule::Prefix(from, to) => replace_prefix(&key, from, to).unwrap_or(key),
            RemapRule::Key(from, to) if *from == key => to.clone(),
            RemapRule::Key(..) => key,
            RemapRule::Keys(keys) => keys.get(&key).cloned().unwrap_or(key),
            RemapRule::Regex(regex, to) => regex.replace_all(&key, to.as_str()).into_owned(),
        };
        self.rules.iter().fold(key.to_owned(), apply)
    }
}

/// The key with another path before it; `None` if it is not under `from`.
fn replace_prefix(key: &str, from: &str, to: &str) -> Option<String> {
    let rest = match from {
        "" => key,
        _ => key.strip_prefix(from)?.strip_prefix('.')?,
    };
    Some(match to {
        "" => rest.to_owned(),
        _ => format!("{to}.{rest}"),
    })
}
