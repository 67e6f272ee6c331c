//! Selects parameters, buffers and modules of a tree.

mod expression;
mod from;
mod glob;

use std::fmt;
use std::sync::Arc;

pub(crate) use self::expression::compile_regex;

use self::expression::Expression;
use crate::{ModuleError, Result};

/// Selects paths of a model: for freezing, loading, optimizer groups, features.
///
/// A string is a pattern for dotted paths:
///
/// | in a pattern | matches |
/// |---|---|
/// | `*` | any letters within one name |
/// | `**` | any number of names |
/// | `?` | one letter |
/// | `[a-z]`, `[!a-z]` | one letter of these, one other letter |
/// | `{a,b}` | `a` or `b` |
/// | `\` | the next letter literally |
///
/// If tensors are selected, **a pattern that matches the path of a module covers everything below it**: `encoder`,
/// `encoder.*` and `encoder.**` all cover `encoder.0.weight`. If modules are selected, the path itself must match:
/// `layer3.*` are the direct children of `layer3`.
///
/// Functions that take a selection also accept anything that converts into one: a pattern, an array or a vector of
/// patterns. Using a malformed pattern, or one that matches nothing in the model, is an error; of several patterns, each
/// must match something, except those that exclude.
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
///
/// ```
/// use module_core::Select;
///
/// // Expressions of other selections.
/// let weights = Select::from("encoder").and("**.weight").or(Select::path("head.bias"));
/// let paths = ["encoder.0.weight", "encoder.0.bias", "head.weight", "head.bias"];
/// assert_eq!(weights.resolve(paths)?, ["encoder.0.weight", "head.bias"]);
/// assert!(weights.check().is_ok() && Select::from("a.{b").check().is_err());
///
/// // Nothing on purpose, and modules, whose own paths must match.
/// assert!(Select::none().resolve(paths)?.is_empty());
/// let modules = ["", "encoder", "encoder.0", "head"];
/// assert_eq!(Select::from("encoder*").resolve_modules(modules)?, ["encoder"]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Select(Expression);

impl Select {
    /// Everything.
    pub fn all() -> Self {
        Self(Expression::All)
    }

    /// Nothing; using it is not an error.
    pub fn none() -> Self {
        Self(Expression::None)
    }

    /// The matches of a pattern; [`From<&str>`](#impl-From<%26str>-for-Select) makes the same, but reports an error only at
    /// first use.
    ///
    /// # Errors
    ///
    /// A pattern with an empty name, an open bracket or brace, or `**` next to letters.
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
    /// An invalid regular expression.
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
        Ok(Self(Expression::Regex(compile_regex(pattern)?)))
    }

    /// One literal path, without patterns; the empty path is the outermost module.
    pub fn path(path: impl Into<String>) -> Self {
        Self(Expression::Path(path.into()))
    }

    /// The paths for which `predicate` is true. It is called with the path of each tensor or module itself, not with those
    /// of the containing modules.
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
        Self(Expression::By(Arc::new(predicate)))
    }

    /// Selects everything that this selection covers and `other` does not.
    #[must_use]
    pub fn exclude(self, other: impl Into<Self>) -> Self {
        Self(Expression::Except(Box::new([self.0, other.into().0])))
    }

    /// Selects everything that this selection or `other` covers.
    #[must_use]
    pub fn or(self, other: impl Into<Self>) -> Self {
        let mut parts = match self.0 {
            Expression::Or(parts) => parts,
            part => vec![part],
        };
        parts.push(other.into().0);
        Self(Expression::Or(parts))
    }

    /// Selects everything that both this selection and `other` cover.
    #[must_use]
    pub fn and(self, other: impl Into<Self>) -> Self {
        Self(Expression::And(Box::new([self.0, other.into().0])))
    }

    /// Whether the path itself is selected, as for modules.
    pub fn matches(&self, path: &str) -> bool {
        self.0.selects(path, false)
    }

    /// Whether the path or that of a containing module is selected, as for tensors.
    pub fn covers(&self, path: &str) -> bool {
        self.0.selects(path, true)
    }

    /// Checks that every pattern is well-formed.
    ///
    /// # Errors
    ///
    /// The first malformed pattern, with what is wrong with it.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }

    /// The selected ones of `paths`, which belong to tensors, in order.
    ///
    /// # Errors
    ///
    /// An invalid pattern, a selection that selects nothing, with the nearest names.
    pub fn resolve<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Result<Vec<&'a str>> {
        self.resolve_by(paths.into_iter().collect(), true)
    }

    /// The selected ones of `paths`, which belong to modules, in order.
    ///
    /// # Errors
    ///
    /// Those of [`resolve`](Self::resolve).
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
        self.0
            .parts()
            .iter()
            .all(|part| matches!(part, Expression::None))
    }

    fn resolve_by<'a>(&self, mut paths: Vec<&'a str>, below: bool) -> Result<Vec<&'a str>> {
        self.check()?;
        for part in self.0.parts() {
            let found = paths.iter().any(|path| part.selects(path, below));
            if !found && !matches!(part, Expression::None) {
                let suggestion = part.suggest(&paths);
                let names = match suggestion {
                    Some(_) => Vec::new(),
                    None => part.names(&paths),
                };
                return Err(ModuleError::NothingSelected {
                    selection: part.to_string(),
                    suggestion,
                    names,
                }
                .into());
            }
        }
        paths.retain(|path| self.0.selects(path, below));
        if paths.is_empty() && matches!(self.0, Expression::Except(_)) {
            return Err(ModuleError::NothingSelected {
                selection: self.0.to_string(),
                suggestion: None,
                names: Vec::new(),
            }
            .into());
        }
        Ok(paths)
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
