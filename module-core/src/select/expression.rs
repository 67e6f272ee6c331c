//! The parts of a selection.

use std::fmt;
use std::sync::Arc;

use regex_lite::Regex;

use super::glob::Glob;
use crate::error::suggest;
use crate::{ModuleError, Result};

/// A selection: one pattern or predicate, or a combination of several.
#[derive(Clone)]
pub(super) enum Expression {
    All,
    None,
    Path(String),
    Glob(Glob),
    Regex(Regex),
    By(Arc<dyn Fn(&str) -> bool + Send + Sync>),
    Or(Vec<Expression>),
    And(Box<[Expression; 2]>),
    Except(Box<[Expression; 2]>),
    /// A malformed pattern, and what is wrong with it.
    Malformed(String, String),
}

/// A path and the paths of the modules that contain it, except the outermost one.
fn enclosing_paths(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('.')?.0))
}

impl Expression {
    pub(super) fn selects(&self, path: &str, below: bool) -> bool {
        match self {
            Self::All => true,
            Self::None | Self::Malformed(..) => false,
            Self::Path(own) if below => {
                let rest = path.strip_prefix(own.as_str());
                own.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }
            Self::Path(own) => own == path,
            Self::Glob(glob) if below => glob.covers(path),
            Self::Glob(glob) => glob.matches(path),
            Self::Regex(regex) if below => enclosing_paths(path).any(|path| regex.is_match(path)),
            Self::Regex(regex) => regex.is_match(path),
            Self::By(predicate) => predicate(path),
            Self::Or(parts) => parts.iter().any(|part| part.selects(path, below)),
            Self::And(both) => both.iter().all(|part| part.selects(path, below)),
            Self::Except(both) => {
                let [include, exclude] = &**both;
                include.selects(path, below) && !exclude.selects(path, below)
            }
        }
    }

    pub(super) fn excludes(&self, path: &str) -> bool {
        match self {
            Self::Except(both) => both[1].selects(path, true) || both[0].excludes(path),
            Self::Or(parts) => parts.iter().any(|part| part.excludes(path)),
            Self::And(both) => both.iter().any(|part| part.excludes(path)),
            _ => false,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Malformed(pattern, problem) => Err(ModuleError::Pattern {
                pattern: pattern.clone(),
                problem: problem.clone(),
            }
            .into()),
            Self::Or(parts) => parts.iter().try_for_each(Self::check),
            Self::And(both) | Self::Except(both) => both.iter().try_for_each(Self::check),
            _ => Ok(()),
        }
    }

    /// The parts that must each select something.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Or(parts) => parts.iter().flat_map(Self::parts).collect(),
            Self::Except(both) => both[0].parts(),
            part => vec![part],
        }
    }

    /// The names that could be selected instead, for an expression that selects nothing and has no suggestion.
    pub(super) fn names(&self, paths: &[&str]) -> Vec<String> {
        match self {
            Self::Glob(glob) => glob.names(paths),
            Self::Path(path) => Glob::of_path(path).names(paths),
            _ => Vec::new(),
        }
    }

    /// The probably intended expression, for one that selects nothing.
    pub(super) fn suggest(&self, paths: &[&str]) -> Option<String> {
        match self {
            Self::Glob(glob) => glob.suggest(paths),
            Self::Path(path) => suggest(path, paths.iter().flat_map(|path| enclosing_paths(path))),
            _ => None,
        }
    }
}

/// A compiled regular expression, or an error that quotes it.
pub(crate) fn compile_regex(pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| {
        ModuleError::Pattern {
            pattern: pattern.to_owned(),
            problem: error.to_string(),
        }
        .into()
    })
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("everything"),
            Self::None => f.write_str("nothing"),
            Self::Path(path) => f.write_str(path),
            Self::Glob(glob) => f.write_str(glob.text()),
            Self::Regex(regex) => write!(f, "/{regex}/"),
            Self::By(_) => f.write_str("a predicate"),
            Self::Or(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if i > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Self::And(both) => write!(f, "({}) and ({})", both[0], both[1]),
            Self::Except(both) => write!(f, "{} except {}", both[0], both[1]),
            Self::Malformed(pattern, _) => f.write_str(pattern),
        }
    }
}
