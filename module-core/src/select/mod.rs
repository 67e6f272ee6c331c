//! The one selector: which parameters, buffers and modules of a tree are meant.

mod glob;

use std::fmt;
use std::sync::Arc;

use glob::Glob;
use regex_lite::Regex;

use crate::error::suggest;
use crate::{ModuleError, Result};

/// Which paths of a model are meant: for freezing, loading, optimizer groups, features.
///
/// A text is a pattern for dotted paths:
///
/// | in a pattern | stands for |
/// |---|---|
/// | `*` | any letters within one name |
/// | `**` | any number of names |
/// | `?` | one letter |
/// | `[a-z]`, `[!a-z]` | one letter of these, one of the others |
/// | `{a,b}` | `a` or `b` |
/// | `\` | the next letter as it is |
///
/// Where tensors are selected, **a pattern that matches the path of a module covers everything below
/// it**: `encoder`, `encoder.*` and `encoder.**` all cover `encoder.0.weight`. Where modules are
/// selected, the path itself must match: `layer3.*` are the direct children of `layer3`.
///
/// Whatever takes a selection takes what turns into one: a pattern, an array or a vector of patterns.
/// A malformed pattern, and one that matches nothing in the model, are errors of whatever uses
/// them; of several, each must match something, but those that exclude.
///
/// # Example
///
/// ```
/// use module_core::Select;
///
/// let select = Select::from(["encoder", "**.norm*"]).exclude("**.bias");
/// assert!(select.covers("encoder.0.weight"));
/// assert!(select.covers("head.norm1.weight"));
/// assert!(!select.covers("encoder.0.bias"));
///
/// let error = Select::from("encodr.*").resolve(["encoder.0.weight"]).unwrap_err();
/// assert_eq!(error.to_string(), "`encodr.*` selects nothing; did you mean `encoder.*`?");
/// ```
#[derive(Clone)]
pub struct Select(Rule);

#[derive(Clone)]
enum Rule {
    All,
    None,
    Path(String),
    Glob(Glob),
    Regex(Regex),
    By(Arc<dyn Fn(&str) -> bool + Send + Sync>),
    Or(Vec<Rule>),
    And(Box<[Rule; 2]>),
    Except(Box<[Rule; 2]>),
    /// A malformed pattern, and what is wrong with it.
    Bad(String, String),
}

impl Select {
    /// Everything.
    pub fn all() -> Self {
        Self(Rule::All)
    }

    /// Nothing, which is no error where it is used.
    pub fn none() -> Self {
        Self(Rule::None)
    }

    /// What a pattern matches; [`From<&str>`](#impl-From<%26str>-for-Select) makes the same and leaves
    /// an error to the first use.
    ///
    /// # Errors
    ///
    /// A pattern with an empty name, an open bracket or brace, or `**` beside letters.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Select;
    ///
    /// assert!(Select::glob("layers.[0-3].{weight,bias}")?.matches("layers.2.bias"));
    /// let error = Select::glob("layers.{0,1").unwrap_err();
    /// assert_eq!(error.to_string(), "pattern `layers.{0,1`: a `{` is not closed");
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn glob(pattern: &str) -> Result<Self> {
        let select = Self::from(pattern);
        select.check()?;
        Ok(select)
    }

    /// Paths in which a regular expression matches anywhere; `^` and `$` are their ends.
    ///
    /// # Errors
    ///
    /// What is no regular expression.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Select;
    ///
    /// let select = Select::regex(r"^layers\.(0|1)$")?;
    /// assert!(select.covers("layers.0.weight") && !select.covers("layers.10.weight"));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn regex(pattern: &str) -> Result<Self> {
        Ok(Self(Rule::Regex(regex(pattern)?)))
    }

    /// One path as it is, without patterns; the empty path is the outermost module.
    pub fn path(path: impl Into<String>) -> Self {
        Self(Rule::Path(path.into()))
    }

    /// The paths for which `predicate` is true. It is asked about the path of each tensor or module
    /// itself, and not about the modules around it.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Select;
    ///
    /// let select = Select::by(|path| path.ends_with("weight") && !path.contains("norm"));
    /// assert!(select.covers("head.weight") && !select.covers("norm.weight"));
    /// ```
    pub fn by(predicate: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Rule::By(Arc::new(predicate)))
    }

    /// What this selects and `other` does not: excluding wins.
    #[must_use]
    pub fn exclude(self, other: impl Into<Self>) -> Self {
        Self(Rule::Except(Box::new([self.0, other.into().0])))
    }

    /// What this or `other` selects.
    #[must_use]
    pub fn or(self, other: impl Into<Self>) -> Self {
        let mut rules = match self.0 {
            Rule::Or(rules) => rules,
            rule => vec![rule],
        };
        rules.push(other.into().0);
        Self(Rule::Or(rules))
    }

    /// What both this and `other` select.
    #[must_use]
    pub fn and(self, other: impl Into<Self>) -> Self {
        Self(Rule::And(Box::new([self.0, other.into().0])))
    }

    /// Whether the path itself is selected: how modules are.
    pub fn matches(&self, path: &str) -> bool {
        self.0.takes(path, false)
    }

    /// Whether the path or that of a module around it is selected: how tensors are.
    pub fn covers(&self, path: &str) -> bool {
        self.0.takes(path, true)
    }

    /// Whether every pattern is one.
    ///
    /// # Errors
    ///
    /// The first that is none, with what is wrong with it.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }

    /// Those of `paths`, which belong to tensors, that are covered, in their order.
    ///
    /// # Errors
    ///
    /// An invalid pattern, a selection that selects nothing, with the nearest names.
    pub fn resolve<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Result<Vec<&'a str>> {
        self.resolve_by(paths.into_iter().collect(), true)
    }

    /// Those of `paths`, which belong to modules, that match, in their order.
    ///
    /// # Errors
    ///
    /// As [`resolve`](Self::resolve).
    pub fn resolve_modules<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<&'a str>> {
        self.resolve_by(paths.into_iter().collect(), false)
    }

    /// Whether the path, which belongs to a tensor, is excluded by name.
    pub(crate) fn excludes(&self, path: &str) -> bool {
        self.0.excludes(path)
    }

    /// Whether it selects nothing on purpose.
    pub(crate) fn is_none(&self) -> bool {
        self.0.parts().iter().all(|rule| matches!(rule, Rule::None))
    }

    fn resolve_by<'a>(&self, mut paths: Vec<&'a str>, below: bool) -> Result<Vec<&'a str>> {
        self.check()?;
        for rule in self.0.parts() {
            let found = paths.iter().any(|path| rule.takes(path, below));
            if !found && !matches!(rule, Rule::None) {
                return Err(ModuleError::NothingSelected {
                    selection: rule.to_string(),
                    suggestion: rule.meant(&paths),
                }
                .into());
            }
        }
        paths.retain(|path| self.0.takes(path, below));
        if paths.is_empty() && matches!(self.0, Rule::Except(_)) {
            return Err(ModuleError::NothingSelected {
                selection: self.0.to_string(),
                suggestion: None,
            }
            .into());
        }
        Ok(paths)
    }
}

/// A compiled regular expression, or an error that quotes it.
pub(crate) fn regex(pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| {
        ModuleError::Pattern {
            pattern: pattern.to_owned(),
            problem: error.to_string(),
        }
        .into()
    })
}

/// A path and those of the modules around it, but for the outermost one.
fn around(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('.')?.0))
}

impl Rule {
    fn takes(&self, path: &str, below: bool) -> bool {
        match self {
            Self::All => true,
            Self::None | Self::Bad(..) => false,
            Self::Path(own) if below => {
                let rest = path.strip_prefix(own.as_str());
                own.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }
            Self::Path(own) => own == path,
            Self::Glob(glob) if below => glob.covers(path),
            Self::Glob(glob) => glob.matches(path),
            Self::Regex(regex) if below => around(path).any(|path| regex.is_match(path)),
            Self::Regex(regex) => regex.is_match(path),
            Self::By(predicate) => predicate(path),
            Self::Or(rules) => rules.iter().any(|rule| rule.takes(path, below)),
            Self::And(both) => both.iter().all(|rule| rule.takes(path, below)),
            Self::Except(both) => {
                let [include, exclude] = &**both;
                include.takes(path, below) && !exclude.takes(path, below)
            }
        }
    }

    fn excludes(&self, path: &str) -> bool {
        match self {
            Self::Except(both) => both[1].takes(path, true) || both[0].excludes(path),
            Self::Or(rules) => rules.iter().any(|rule| rule.excludes(path)),
            Self::And(both) => both.iter().any(|rule| rule.excludes(path)),
            _ => false,
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::Bad(pattern, problem) => Err(ModuleError::Pattern {
                pattern: pattern.clone(),
                problem: problem.clone(),
            }
            .into()),
            Self::Or(rules) => rules.iter().try_for_each(Self::check),
            Self::And(both) | Self::Except(both) => both.iter().try_for_each(Self::check),
            _ => Ok(()),
        }
    }

    /// The rules of which each must select something.
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Or(rules) => rules.iter().flat_map(Self::parts).collect(),
            Self::Except(both) => both[0].parts(),
            rule => vec![rule],
        }
    }

    /// What was probably meant instead of a rule that selects nothing.
    fn meant(&self, paths: &[&str]) -> Option<String> {
        match self {
            Self::Glob(glob) => glob.meant(paths),
            Self::Path(path) => suggest(path, paths.iter().flat_map(|path| around(path))),
            _ => None,
        }
    }
}

/// A pattern. What is wrong with it is the error of whatever uses the selection;
/// [`Select::glob`] tells it at once.
impl From<&str> for Select {
    fn from(pattern: &str) -> Self {
        Self(match Glob::new(pattern) {
            Ok(glob) => Rule::Glob(glob),
            Err(problem) => Rule::Bad(pattern.to_owned(), problem),
        })
    }
}

impl From<&String> for Select {
    fn from(pattern: &String) -> Self {
        pattern.as_str().into()
    }
}

impl From<String> for Select {
    fn from(pattern: String) -> Self {
        pattern.as_str().into()
    }
}

impl From<&Self> for Select {
    fn from(select: &Self) -> Self {
        select.clone()
    }
}

/// What any of the elements selects.
impl<T: Into<Self>> From<Vec<T>> for Select {
    fn from(patterns: Vec<T>) -> Self {
        patterns.into_iter().collect()
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for Select {
    fn from(patterns: [T; N]) -> Self {
        patterns.into_iter().collect()
    }
}

impl From<&[&str]> for Select {
    fn from(patterns: &[&str]) -> Self {
        patterns.iter().copied().collect()
    }
}

impl<T: Into<Self>> FromIterator<T> for Select {
    fn from_iter<I: IntoIterator<Item = T>>(patterns: I) -> Self {
        Self(Rule::Or(patterns.into_iter().map(|p| p.into().0).collect()))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("everything"),
            Self::None => f.write_str("nothing"),
            Self::Path(path) => f.write_str(path),
            Self::Glob(glob) => f.write_str(glob.text()),
            Self::Regex(regex) => write!(f, "/{regex}/"),
            Self::By(_) => f.write_str("a predicate"),
            Self::Or(rules) => {
                for (i, rule) in rules.iter().enumerate() {
                    write!(f, "{}{rule}", if i > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Self::And(both) => write!(f, "({}) and ({})", both[0], both[1]),
            Self::Except(both) => write!(f, "{} except {}", both[0], both[1]),
            Self::Bad(pattern, _) => f.write_str(pattern),
        }
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Select({self})")
    }
}

#[cfg(test)]
mod tests;
