use std::fmt;

use module_tensor::error::quote;

use super::suggest;
use crate::Shape;

/// Everything that prevents a state dict from being loaded, found before anything is changed; found in an
/// [`Error`](crate::Error) by [`downcast_ref`](crate::Error::downcast_ref).
///
/// It prints in PyTorch's words; further lines name keys that are probably misspelled, or the rule under which the state
/// dict would fit. If not a single key fits, an additional first line says so, and at most ten keys of each kind are
/// printed; [`full`](Self::full) prints all.
///
/// # Example
///
/// ```
/// use module_core::{LoadProblems, Module, ModuleExt, Parameter, StateDict, Tensor};
///
/// #[derive(Module)]
/// struct One {
///     weight: Parameter,
/// }
///
/// let one = One { weight: Parameter::new(Tensor::from(1.0_f32))? };
/// let error = one.load_state_dict(&StateDict::new()).unwrap_err();
/// assert!(error.downcast_ref::<LoadProblems>().is_some(), "{error}");
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadProblems {
    /// The type of the module to load into.
    pub module: &'static str,
    /// Keys that the module has and the state dict lacks, in the module's order. A key is not missing if it is tied to one
    /// that was found, or if its shape differs.
    pub missing: Vec<String>,
    /// Keys that the state dict has and the module lacks: grouped by module, in the state dict's order.
    pub unexpected: Vec<String>,
    /// Keys whose shapes differ, in the module's order.
    pub mismatched: Vec<Mismatch>,
    /// The number of keys that could be loaded.
    pub loaded: usize,
    /// The number of the module's keys to be loaded.
    pub total: usize,
    /// Names of one tied tensor for which the state dict holds different values.
    pub untied: Vec<(String, String)>,
    /// Square weights, with the type of their module, that the transposing rule misses although it covers the other weights
    /// of the type: their shapes cannot tell whether they are transposed.
    pub not_transposed: Vec<(String, &'static str)>,
    /// The rule of [`Remap::prefix`](crate::Remap::prefix), `(from, to)`, under which the state dict
    /// would probably fit.
    pub prefix: Option<(String, String)>,
    /// How to transpose the weights if only the transposes fit: the code to write.
    pub transpose: Option<String>,
}

error_from!(LoadProblems);

impl std::error::Error for LoadProblems {}

/// A key whose shape differs between the state dict and the module.
///
/// # Example
///
/// ```
/// use module_core::{LoadProblems, Mismatch, ModuleExt, Parameter, StateDict, Tensor};
///
/// let model = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
/// let state = StateDict::from_iter([("0", Tensor::from([1.0_f32, 2.0, 3.0]))]);
/// let error = model.load_state_dict(&state).unwrap_err();
/// let problems: &LoadProblems = error.downcast_ref().unwrap();
/// assert!(!problems.is_empty());
/// let expected = Mismatch { key: "0".to_owned(), found: [3].into(), expected: [2].into() };
/// assert_eq!(problems.mismatched, [expected]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The key.
    pub key: String,
    /// The shape in the state dict.
    pub found: Shape,
    /// The shape in the module.
    pub expected: Shape,
}

/// How many keys of each kind a shortened list prints.
pub(crate) const SHOWN: usize = 10;

impl LoadProblems {
    /// Whether there are no problems.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
            && self.unexpected.is_empty()
            && self.mismatched.is_empty()
            && self.untied.is_empty()
            && self.not_transposed.is_empty()
    }

    /// The same text with every key, even if none fits.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{LoadProblems, ModuleExt, Parameter, StateDict, Tensor};
    ///
    /// let model = vec![Parameter::new(Tensor::from(1.0_f32))?];
    /// let other = (0..20).map(|i| (format!("layer{i}.weight"), Tensor::from(1.0_f32)));
    /// let error = model.load_state_dict(&StateDict::from_iter(other)).unwrap_err();
    /// let text = error.to_string();
    /// assert!(text.starts_with("0 of 1 keys fit: a checkpoint of another model?\n"));
    /// assert!(text.ends_with("\"layer9.weight\" and 10 more. "));
    /// let problems: &LoadProblems = error.downcast_ref().unwrap();
    /// assert!(problems.full().to_string().contains("layer19.weight"));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn full(&self) -> impl fmt::Display + '_ {
        ShortProblems {
            problems: self,
            shown: usize::MAX,
        }
    }

    fn nothing_fits(&self) -> bool {
        self.loaded == 0 && self.total > 0
    }

    /// Each unexpected key with the missing one for which it is probably a typo.
    fn find_typos(&self) -> Vec<(&str, String)> {
        // Long lists come from a different model rather than from typos.
        const LONG: usize = 20;
        if self.prefix.is_some() || self.missing.len().max(self.unexpected.len()) > LONG {
            return Vec::new();
        }
        let missing = || self.missing.iter().map(String::as_str);
        let typo = |key: &'_ String| suggest(key, missing());
        let keys = self.unexpected.iter();
        keys.filter_map(|key| Some((key.as_str(), typo(key)?)))
            .collect()
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
            "size mismatch for {}: copying a param with shape {found} from checkpoint, the shape \
             in current model is {expected}.",
            quote(key)
        )
    }
}

impl fmt::Display for LoadProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = if self.nothing_fits() {
            SHOWN
        } else {
            usize::MAX
        };
        ShortProblems {
            problems: self,
            shown,
        }
        .fmt(f)
    }
}

/// The problems, with at most this many keys of each kind.
struct ShortProblems<'p> {
    problems: &'p LoadProblems,
    shown: usize,
}

impl ShortProblems<'_> {
    fn write_quoted(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        keys: &[String],
    ) -> fmt::Result {
        if keys.is_empty() {
            return Ok(());
        }
        write!(f, "\n\t{title} key(s) in state_dict: ")?;
        let (shown, rest) = cut(keys, self.shown);
        for (i, key) in shown.iter().enumerate() {
            write!(f, "{}\"{}\"", if i > 0 { ", " } else { "" }, quote(key))?;
        }
        if rest > 0 {
            write!(f, " and {rest} more")?;
        }
        f.write_str(". ")
    }

    /// One line for each.
    fn write_lines<T>(
        &self,
        f: &mut fmt::Formatter<'_>,
        items: &[T],
        more: &str,
        line: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
    ) -> fmt::Result {
        let (shown, rest) = cut(items, self.shown);
        for item in shown {
            f.write_str("\n\t")?;
            line(f, item)?;
        }
        match rest {
            0 => Ok(()),
            _ => write!(f, "\n\tand {rest} more {more}."),
        }
    }

    /// Writes hints on how to resolve the problems.
    fn hints(&self, f: &mut fmt::Formatter<'_>, typos: &[(&str, String)]) -> fmt::Result {
        let problems = self.problems;
        if let Some(rule) = &problems.transpose {
            write!(f, "\n\t{rule}")?;
        }
        if let Some((from, to)) = &problems.prefix {
            let (from, to) = (quote(from).to_string(), quote(to).to_string());
            let (whose, path) = if to.is_empty() {
                ("the state dict", &from)
            } else {
                ("the module", &to)
            };
            write!(
                f,
                "\n\tthe keys of {whose} start with \"{path}.\": load with \
                 `LoadOptions::new().remap(Remap::new().prefix(\"{from}\", \"{to}\"))`"
            )?;
        }
        for (key, meant) in typos {
            let (key, meant) = (quote(key), quote(meant));
            write!(f, "\n\t\"{key}\": did you mean \"{meant}\"?")?;
        }
        Ok(())
    }
}

impl fmt::Display for ShortProblems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = self.problems;
        let typos = problems.find_typos();
        if problems.nothing_fits() {
            write!(f, "0 of {} keys fit", problems.total)?;
            let explained =
                problems.prefix.is_some() || problems.transpose.is_some() || !typos.is_empty();
            let lacks_all = problems.unexpected.is_empty() && problems.mismatched.is_empty();
            let question = match lacks_all {
                _ if explained => "",
                true => ": the state dict has none of them",
                false => ": a checkpoint of another model?",
            };
            writeln!(f, "{question}")?;
        }
        write!(f, "Error(s) in loading state_dict for {}:", problems.module)?;
        self.write_quoted(f, "Missing", &problems.missing)?;
        self.write_quoted(f, "Unexpected", &problems.unexpected)?;
        self.write_lines(f, &problems.mismatched, "size mismatches", |f, mismatch| {
            mismatch.fmt(f)
        })?;
        self.write_lines(f, &problems.untied, "such pairs", |f, (first, second)| {
            let (first, second) = (quote(first), quote(second));
            write!(
                f,
                "tied tensors differ: \"{first}\" and \"{second}\" are one tensor in the model \
                 and hold different values in state_dict."
            )
        })?;
        self.write_lines(f, &problems.not_transposed, "such weights", |f, (key, kind)| {
            let key = quote(key);
            write!(
                f,
                "\"{key}\" is square and is not transposed, while the other weights of {kind} are: \
                 use `Transpose::of_kind(\"{kind}\")`, or add `.exclude(\"{key}\")` if it must stay as it is."
            )
        })?;
        self.hints(f, &typos)
    }
}

/// The first of a list, and the number of the others.
pub(crate) fn cut<T>(items: &[T], shown: usize) -> (&[T], usize) {
    let shown = items.len().min(shown);
    (&items[..shown], items.len() - shown)
}
