//! Which modules the names and expressions of a configuration refer to, by PEFT's rules.

use module_core::{Result, Select};
use serde::{Deserialize, Serialize};

use super::super::patterns::escape;

/// The layers that PEFT adapts: its `target_modules` and `exclude_modules`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TargetModules {
    /// A regular expression that matches full paths. `all-linear` means all linear layers.
    Expression(String),
    /// Paths, or ends of paths after a dot: `q_proj` also means `layers.0.q_proj`.
    Names(Vec<String>),
}

impl TargetModules {
    /// PEFT's keyword for all linear layers, in any case as there.
    pub(super) fn is_all_linear(&self) -> bool {
        match self {
            Self::Expression(expression) => expression.eq_ignore_ascii_case("all-linear"),
            Self::Names(_) => false,
        }
    }
}

impl From<&str> for TargetModules {
    fn from(expression: &str) -> Self {
        Self::Expression(expression.to_owned())
    }
}

impl<const N: usize> From<[&str; N]> for TargetModules {
    fn from(names: [&str; N]) -> Self {
        Self::Names(names.map(str::to_owned).into())
    }
}

/// A rule of paths, with its expression compiled.
pub(super) enum Rule<'a> {
    Expression(Select),
    Names(&'a [String]),
}

impl<'a> Rule<'a> {
    pub(super) fn new(targets: &'a TargetModules) -> Result<Self> {
        Ok(match targets {
            TargetModules::Expression(expression) => {
                Self::Expression(Select::regex(&format!("^(?:{expression})$"))?)
            }
            TargetModules::Names(names) => Self::Names(names),
        })
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        match self {
            Self::Expression(expression) => expression.matches(path),
            Self::Names(names) => names_end(names, path),
        }
    }

    /// Whether the path itself is named. `layers_to_transform` does not apply then.
    pub(super) fn is_exact(&self, path: &str) -> bool {
        match self {
            Self::Expression(_) => true,
            Self::Names(names) => names.iter().any(|name| path == name),
        }
    }
}

/// Whether one of the names is the path, or follows a dot at its end.
pub(super) fn names_end(names: &[String], path: &str) -> bool {
    let mut rests = names
        .iter()
        .filter_map(|name| path.strip_suffix(name.as_str()));
    rests.any(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Where the index of a layer is in a path: after a name that one of the expressions matches, or after any.
pub(super) struct LayerIndex(Vec<Select>);

impl LayerIndex {
    pub(super) fn new(patterns: &[String]) -> Result<Self> {
        let compile = |pattern: &String| Select::regex(&format!(r"^(?:.*\.)?(?:{pattern})$"));
        Ok(Self(patterns.iter().map(compile).collect::<Result<_>>()?))
    }

    /// The index of the outermost layer on the path.
    pub(super) fn of(&self, path: &str) -> Option<usize> {
        // The end of each name except the last.
        let ends: Vec<usize> = path.match_indices('.').map(|(at, _)| at).collect();
        let numbers = ends.windows(2).enumerate().filter_map(|(position, pair)| {
            let &[before, after] = pair else { return None };
            let number = path.get(before + 1..after)?;
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            let number = number.parse().ok().filter(|_| is_number)?;
            Some((position, path.get(..before)?, number))
        });
        let numbers: Vec<(usize, &str, usize)> = numbers.collect();
        if self.0.is_empty() {
            // PEFT requires two names before the number.
            let mut inner = numbers.iter().filter(|(position, ..)| *position > 0);
            return inner.next().map(|(.., number)| *number);
        }
        let first = |pattern: &Select| {
            let mut fitting = numbers
                .iter()
                .filter(|(_, before, _)| pattern.matches(before));
            fitting.next().map(|(.., number)| *number)
        };
        self.0.iter().find_map(first)
    }
}

/// A pattern for exactly these paths of a model: the last names if they suffice, otherwise the paths, otherwise an
/// expression.
pub(super) fn name_modules(paths: &[&str], all: &[&str]) -> TargetModules {
    let mut last: Vec<String> = paths
        .iter()
        .map(|path| path.rsplit('.').next().unwrap_or(path).to_owned())
        .collect();
    last.sort_unstable();
    last.dedup();
    let whole = paths.iter().map(|&path| path.to_owned()).collect();
    for names in [last, whole] {
        let rule = Rule::Names(&names);
        if all
            .iter()
            .all(|path| rule.matches(path) == paths.contains(path))
        {
            return TargetModules::Names(names);
        }
    }
    let escaped: Vec<String> = paths.iter().map(|path| escape(path)).collect();
    TargetModules::Expression(escaped.join("|"))
}
