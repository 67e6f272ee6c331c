use std::fmt;

use module_tensor::error::quote;

use super::{Mismatch, SHOWN, cut};

/// Everything that prevents values from temporarily replacing a module's own, in a
/// [`functional_call`](crate::functional_call) or by [`swap_state_dict`](crate::ModuleExt::swap_state_dict); found before
/// anything is changed, and in an [`Error`](crate::Error) by [`downcast_ref`](crate::Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_core::{Identity, Tensor, ValueProblems, functional_call};
///
/// let x = Tensor::from([1.0_f32]);
/// let error = functional_call(&Identity::new(), [("weight", &x)], x.clone()).unwrap_err();
/// let problems: &ValueProblems = error.downcast_ref().unwrap();
/// assert_eq!(problems.unexpected, [("weight".to_owned(), None)]);
/// assert!(!problems.is_empty() && problems.missing.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueProblems {
    /// The operation.
    pub op: &'static str,
    /// The type of the module.
    pub module: &'static str,
    /// Keys that the module lacks, each with the nearest existing one.
    pub unexpected: Vec<(String, Option<String>)>,
    /// Keys that were given more than once.
    pub repeated: Vec<String>,
    /// Keys of the module that were not given, if `strict` requires all.
    pub missing: Vec<String>,
    /// Keys whose shapes differ.
    pub mismatched: Vec<Mismatch>,
    /// Names of one tied tensor that were given different values.
    pub untied: Vec<(String, String)>,
    /// Keys whose values are already swapped by another guard.
    pub swapped: Vec<String>,
}

error_from!(ValueProblems);

impl std::error::Error for ValueProblems {}

impl ValueProblems {
    /// Whether there are no problems.
    pub fn is_empty(&self) -> bool {
        self.unexpected.is_empty()
            && self.repeated.is_empty()
            && self.missing.is_empty()
            && self.mismatched.is_empty()
            && self.untied.is_empty()
            && self.swapped.is_empty()
    }

    /// An error with these problems, if there are any.
    pub(crate) fn check(self) -> crate::Result<()> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(self.into()),
        }
    }
}

/// Writes each problem, at most ten of a kind.
fn each<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    line: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    let (shown, rest) = cut(items, SHOWN);
    for item in shown {
        f.write_str("\n\t")?;
        line(f, item)?;
    }
    match rest {
        0 => Ok(()),
        _ => write!(f, "\n\tand {rest} more such keys"),
    }
}

impl fmt::Display for ValueProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (op, module) = (self.op, self.module);
        write!(f, "{op}: the values do not fit {module}:")?;
        each(f, &self.unexpected, |f, (key, meant)| {
            write!(f, "`{}` is none of its keys", quote(key))?;
            match meant {
                Some(meant) => write!(f, "; did you mean `{}`?", quote(meant)),
                None => Ok(()),
            }
        })?;
        each(f, &self.repeated, |f, key| {
            write!(f, "`{}` is given twice; leave one out", quote(key))
        })?;
        each(f, &self.missing, |f, key| {
            write!(
                f,
                "`{}` is missing; give it, or turn off `strict`",
                quote(key)
            )
        })?;
        each(f, &self.mismatched, |f, mismatch| {
            let Mismatch {
                key,
                found,
                expected,
            } = mismatch;
            write!(
                f,
                "`{}` has shape {expected}, and {found} is given",
                quote(key)
            )
        })?;
        each(f, &self.untied, |f, (first, second)| {
            write!(
                f,
                "`{}` and `{}` are tied, and different values are given; give one of them",
                quote(first),
                quote(second)
            )
        })?;
        each(f, &self.swapped, |f, key| {
            write!(
                f,
                "the value of `{}` is swapped already; drop the guard that holds its own",
                quote(key)
            )
        })
    }
}
