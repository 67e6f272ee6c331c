use regex_lite::Regex;

use crate::Result;
use crate::select::regex;

/// Rules that turn the keys of a foreign checkpoint into a module's own.
///
/// The rules run in the order in which they were added, each on what the one before it made.
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
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
enum Rule {
    Prefix(String, String),
    Key(String, String),
    Regex(Regex, String),
}

impl Remap {
    /// Without rules: every key stays.
    pub fn new() -> Self {
        Self::default()
    }

    /// What removes the wrappers of `DataParallel` and of `torch.compile`: every leading `module.`
    /// and `_orig_mod.`, and `_orig_mod.` elsewhere, where a part of a model was compiled.
    pub fn unwrapped() -> Self {
        let rules = [(r"^((module|_orig_mod)\.)+", ""), (r"\._orig_mod\.", ".")];
        let rules = rules.into_iter().filter_map(|(pattern, replacement)| {
            Some(Rule::Regex(Regex::new(pattern).ok()?, replacement.into()))
        });
        Self {
            rules: rules.collect(),
        }
    }

    /// Replaces the module path `from` at the start of keys by `to`; an empty `to` removes it, an
    /// empty `from` puts `to` before every key. A dot at the end may be written or not.
    #[must_use]
    pub fn prefix(self, from: impl Into<String>, to: impl Into<String>) -> Self {
        let path = |text: String| text.strip_suffix('.').map(str::to_owned).unwrap_or(text);
        self.with(Rule::Prefix(path(from.into()), path(to.into())))
    }

    /// Replaces one whole key.
    #[must_use]
    pub fn rename(self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.with(Rule::Key(from.into(), to.into()))
    }

    /// Replaces every match of a regular expression; `$1` or `${name}` in the replacement is what a
    /// group matched, and `$$` is a `$`.
    ///
    /// # Errors
    ///
    /// What is no regular expression.
    pub fn regex(self, pattern: &str, replacement: impl Into<String>) -> Result<Self> {
        Ok(self.with(Rule::Regex(regex(pattern)?, replacement.into())))
    }

    fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// What a key becomes.
    pub fn key(&self, key: &str) -> String {
        let apply = |key: String, rule: &Rule| match rule {
            Rule::Prefix(from, to) => replace_prefix(&key, from, to).unwrap_or(key),
            Rule::Key(from, to) if *from == key => to.clone(),
            Rule::Key(..) => key,
            Rule::Regex(regex, to) => regex.replace_all(&key, to.as_str()).into_owned(),
        };
        self.rules.iter().fold(key.to_owned(), apply)
    }
}

/// The key with another path before it; `None` if it does not lie under `from`.
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
