use std::fmt;

use module_core::Error;
use module_core::error::{passage, quote};

/// Errors about the parameters of an optimizer; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = SGD::new(&model, 0.1)?;
/// let error = optimizer.step(&model).unwrap_err();
/// match error.downcast_ref::<OptimizerError>() {
///     Some(OptimizerError::NoGradients { op }) => assert_eq!(*op, "step"),
///     _ => unreachable!("{error}"),
/// }
/// assert_eq!(error.to_string(), "step: no parameter has a gradient; call `backward` first");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OptimizerError {
    /// An optimizer whose parameters differ from the model's.
    Parameters {
        /// The paths that are new, replaced or missing.
        paths: Vec<String>,
    },

    /// A step or a clip without any gradient.
    NoGradients {
        /// The operation.
        op: &'static str,
    },

    /// Gradients that a [`GradScaler`](super::GradScaler) has already unscaled since the last update.
    AlreadyUnscaled {
        /// The operation.
        op: &'static str,
        /// Whether the step was already taken.
        stepped: bool,
    },

    /// An update of a [`GradScaler`](super::GradScaler) without gradients since the last one.
    NothingUnscaled,

    /// A gradient in `F16`, which unscaling by a [`GradScaler`](super::GradScaler) would underflow.
    HalfGradient {
        /// The parameter.
        path: String,
    },

    /// A [`GradScaler`](super::GradScaler) whose scale has dropped to 0, or so low that unscaled gradients would be
    /// infinite.
    ScaleTooSmall {
        /// The operation.
        op: &'static str,
        /// The scale.
        scale: f64,
    },

    /// A gradient norm that is infinite or NaN, if that is an error.
    NonFinite {
        /// The norm.
        total: f64,
        /// The first parameter whose gradient is not finite; none if only the sum of the norms is not.
        path: Option<String>,
    },

    /// A group whose selection selects no parameter.
    EmptyGroup {
        /// The selection.
        selection: String,
        /// The probably intended selection.
        suggestion: Option<String>,
    },

    /// Parameters that two groups select.
    TwoGroups {
        /// Their paths.
        paths: Vec<String>,
        /// The selections of the two groups.
        selections: [String; 2],
    },

    /// A group that does not exist.
    NoGroup {
        /// The operation.
        op: &'static str,
        /// The requested group.
        group: usize,
        /// The number of groups.
        groups: usize,
    },

    /// A momentum set in a group whose rule does not have one.
    NoMomentum {
        /// The operation, or the schedule.
        op: &'static str,
        /// The group.
        group: usize,
    },

    /// A state that PyTorch's optimizer of this name does not have, or cannot resume from.
    TorchState {
        /// The operation.
        op: &'static str,
        /// The optimizer.
        optimizer: &'static str,
        /// The problem, and where it is.
        problem: String,
    },

    /// An optimizer whose groups differ from those that a schedule was built for.
    Groups {
        /// The schedule.
        schedule: &'static str,
        /// How many groups it was built for.
        expected: usize,
        /// How many the optimizer has.
        groups: usize,
    },
}

/// The paths as text, and the verb that follows them.
fn list_paths(paths: &[String]) -> (String, &'static str) {
    let names = paths.iter().map(|path| format!("`{}`", quote(path)));
    let are = if paths.len() == 1 { "is" } else { "are" };
    (names.collect::<Vec<_>>().join(", "), are)
}

impl fmt::Display for OptimizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters { paths } => {
                let (names, are) = list_paths(paths);
                write!(
                    f,
                    "step: {names} {are} not the parameter(s) the optimizer was built with; rebuild it \
                     after replacing layers"
                )
            }
            Self::NoGradients { op } => {
                write!(
                    f,
                    "{op}: no parameter has a gradient; call `backward` first"
                )
            }
            Self::AlreadyUnscaled { op, stepped } => {
                let done = match stepped {
                    true => "a step was made",
                    false => "the gradients of the model were divided by the scale",
                };
                write!(
                    f,
                    "{op}: {done} since the last `update`; call `update` first"
                )
            }
            Self::NothingUnscaled => {
                write!(
                    f,
                    "update: no gradients were checked since the last `update`; call `step` first"
                )
            }
            Self::HalfGradient { path } => {
                write!(
                    f,
                    "unscale: the gradient of `{}` is float16; keep parameters in float32 and compute in \
                     `autocast`",
                    quote(path)
                )
            }
            Self::ScaleTooSmall { op, scale } => {
                write!(
                    f,
                    "{op}: the scale has fallen to {scale:e}, by which no gradient can be divided: too many were \
                     infinite or not a number; find the first of them, then set a scale with `update_to`"
                )
            }
            Self::NonFinite { total, path } => {
                write!(f, "clip_grad_norm: the norm of the gradients is {total}")?;
                if let Some(path) = path {
                    write!(f, ", first that of `{}`", quote(path))?;
                }
                write!(
                    f,
                    "; skip the step, or lower the learning rate or the loss scale"
                )
            }
            Self::EmptyGroup {
                selection,
                suggestion,
            } => {
                let selection = quote(selection);
                write!(f, "group: `{selection}` selects no parameter")?;
                match suggestion {
                    Some(meant) => write!(f, "; did you mean `{}`?", quote(meant)),
                    None => Ok(()),
                }
            }
            Self::TwoGroups { paths, selections } => {
                let (names, are) = list_paths(paths);
                let [first, second] = selections.each_ref().map(|text| quote(text));
                write!(
                    f,
                    "group: {names} {are} selected by both `{first}` and `{second}`; leave the \
                     parameter(s) out of one by `Select::exclude`"
                )
            }
            Self::NoGroup { op, group, groups } => {
                write!(
                    f,
                    "{op}: there is no group {group}; the optimizer has {groups}, counted from 0"
                )
            }
            Self::NoMomentum { op, group } => {
                write!(
                    f,
                    "{op}: group {group} of the optimizer has no momentum; set `cycle_momentum` to false, or \
                     use an optimizer with a momentum, or betas"
                )
            }
            Self::TorchState {
                op,
                optimizer,
                problem,
            } => write!(f, "{op}: {optimizer}: {}", passage(problem)),
            Self::Groups {
                schedule,
                expected,
                groups,
            } => {
                write!(
                    f,
                    "{schedule}: the optimizer has {groups} group(s) of parameters, and the schedule was \
                     built for {expected}; build it for this optimizer"
                )
            }
        }
    }
}

impl std::error::Error for OptimizerError {}

impl From<OptimizerError> for Error {
    fn from(error: OptimizerError) -> Self {
        Self::custom(error)
    }
}
