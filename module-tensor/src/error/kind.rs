use std::path::PathBuf;

use thiserror::Error;

use super::LoadProblems;
use super::quote::{file, passage, quote};
use crate::dtype::DType;
use crate::layout::{MAX_RANK, Shape};

/// What can go wrong. Messages are lower case, quote the values and say what to do where there is
/// something to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Two shapes that do not broadcast.
    #[error("{op}: shapes {lhs} and {rhs} cannot be broadcast together")]
    Broadcast {
        /// The operation.
        op: &'static str,
        /// The left shape.
        lhs: Shape,
        /// The right shape.
        rhs: Shape,
    },

    /// Two shapes that do not fit each other for another reason than broadcasting.
    #[error("{op}: {lhs} and {rhs} do not fit: {}", passage(rule))]
    ShapeMismatch {
        /// The operation.
        op: &'static str,
        /// The left shape.
        lhs: Shape,
        /// The right shape.
        rhs: Shape,
        /// What must hold.
        rule: String,
    },

    /// A tensor with the wrong number of dimensions or the wrong size in one.
    #[error("{op}: expected {}, got shape {got}", passage(expected))]
    Shape {
        /// The operation.
        op: &'static str,
        /// What is accepted.
        expected: String,
        /// The shape given.
        got: Shape,
    },

    /// A dimension that the tensor does not have.
    #[error("{op}: dimension {dim} is out of range for shape {shape}, which has {} dimension(s)", shape.rank())]
    Dimension {
        /// The operation.
        op: &'static str,
        /// The dimension given.
        dim: isize,
        /// The shape of the tensor.
        shape: Shape,
    },

    /// An index past the end of a dimension.
    #[error("{op}: index {index} is out of range for size {size}")]
    Index {
        /// The operation.
        op: &'static str,
        /// The index given.
        index: i64,
        /// The size of the dimension.
        size: usize,
    },

    /// A shape whose number of elements or bytes does not fit the address space.
    #[error("{op}: a tensor of shape {shape} is too large for memory")]
    TooLarge {
        /// The operation.
        op: &'static str,
        /// The shape asked for.
        shape: Shape,
    },

    /// More dimensions than a tensor has.
    #[error("{op}: {rank} dimensions are more than the {MAX_RANK} that a tensor may have")]
    Rank {
        /// The operation.
        op: &'static str,
        /// The number of dimensions asked for.
        rank: usize,
    },

    /// Two dtypes where one is needed.
    #[error("{op}: dtypes {lhs} and {rhs} differ; cast one with `to_dtype`")]
    DTypeMismatch {
        /// The operation.
        op: &'static str,
        /// The left dtype.
        lhs: DType,
        /// The right dtype.
        rhs: DType,
    },

    /// A dtype that the operation does not serve.
    #[error("{op}: not available for {dtype}; it needs {needs}")]
    UnsupportedDType {
        /// The operation.
        op: &'static str,
        /// The dtype given.
        dtype: DType,
        /// What it serves.
        needs: &'static str,
    },

    /// Two devices where one is needed.
    #[error(
        "{op}: tensors are on {} and {}; move one with `to_device`",
        quote(lhs),
        quote(rhs)
    )]
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// The left device.
        lhs: String,
        /// The right device.
        rhs: String,
    },

    /// Something that a backend does not do.
    #[error("{op}: not available on {}", quote(device))]
    Unavailable {
        /// The operation.
        op: &'static str,
        /// The device.
        device: String,
    },

    /// A matrix that cannot be decomposed, solved or inverted.
    #[error("{op}: matrix {matrix} of the batch {}", passage(problem))]
    Factorization {
        /// The operation.
        op: &'static str,
        /// The place of the matrix in the batch, in row-major order.
        matrix: usize,
        /// What is wrong with it.
        problem: String,
    },

    /// Any other argument that cannot be used.
    #[error("{op}: {name} = {}: {}", quote(value), passage(problem))]
    Argument {
        /// The operation or the constructor.
        op: &'static str,
        /// The argument.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },

    /// `backward` without a gradient on a tensor of more or fewer than one element.
    #[error(
        "backward: a gradient can be created for one element only, got shape {shape}; reduce to a scalar or use `backward_with`"
    )]
    BackwardNonScalar {
        /// The shape of the tensor.
        shape: Shape,
    },

    /// `backward` on a tensor that nothing tracks.
    #[error(
        "backward: the tensor does not require a gradient and was not computed from one that does"
    )]
    BackwardUntracked,

    /// A second backward pass through a graph whose saved values are freed.
    #[error(
        "backward: the saved values of `{op}` were freed by an earlier backward; keep them with `retain_graph`"
    )]
    GraphFreed {
        /// The operation.
        op: &'static str,
    },

    /// An operation in the graph that has no gradient.
    #[error("backward: `{op}` has no gradient; use `detach` before it if none is wanted")]
    NoGradient {
        /// The operation.
        op: &'static str,
    },

    /// A question about the gradient of a tensor that nothing tracks.
    #[error(
        "{op}: the tensor requires no gradient; make it a leaf by `with_grad`, or compute it from one outside `no_grad`"
    )]
    Untracked {
        /// The operation.
        op: &'static str,
    },

    /// A hook on the gradient of a tensor that failed.
    #[error("backward: the hook registered at {place} on the gradient of `{of}`: {source}")]
    GradHook {
        /// The file, line and column that registered it.
        place: String,
        /// The operation whose output it watches; `leaf` for a leaf.
        of: &'static str,
        /// What it raised.
        source: Box<super::Error>,
    },

    /// A gradient with an infinity or a NaN, where anomalies are looked for.
    #[error(
        "backward: `{op}` gave input {input}, of shape {shape}, a gradient of {value} at element {element}, the first that is not finite"
    )]
    NonFiniteGradient {
        /// The operation in whose backward it appeared.
        op: &'static str,
        /// The place of the input.
        input: usize,
        /// The shape of the input.
        shape: Shape,
        /// The place of the first such element in row-major order.
        element: usize,
        /// The element.
        value: f64,
    },

    /// An operation that returned the wrong number of gradients.
    #[error("backward: `{op}` returned {got} gradient(s) for {expected} input(s)")]
    GradientCount {
        /// The operation.
        op: &'static str,
        /// The number of inputs.
        expected: usize,
        /// The number of gradients.
        got: usize,
    },

    /// A gradient that differs from the central difference.
    #[error(
        "gradcheck: the gradient of element {element} of input {input} is {analytic:?}, but the central difference is {numeric:?}"
    )]
    GradCheck {
        /// The place of the input.
        input: usize,
        /// The place of the element in row-major order.
        element: usize,
        /// What the gradient says.
        analytic: f64,
        /// What the difference says.
        numeric: f64,
    },

    /// A path step that names no module.
    #[error(
        "`{}` in path `{}` is no member of {module}{}",
        quote(step),
        quote(path),
        did_you_mean(suggestion)
    )]
    NoSuchMember {
        /// The path asked for.
        path: String,
        /// The step that failed.
        step: String,
        /// The type of the module that lacks it.
        module: &'static str,
        /// The nearest name.
        suggestion: Option<String>,
    },

    /// A path step that names something else than what was asked for.
    #[error(
        "`{}` in path `{}` is a {found} of {module}, not a {expected}",
        quote(step),
        quote(path)
    )]
    WrongMember {
        /// The path asked for.
        path: String,
        /// The step that failed.
        step: String,
        /// The type of the module that has it.
        module: &'static str,
        /// What it is.
        found: &'static str,
        /// What was asked for.
        expected: &'static str,
    },

    /// Exclusive access to a module behind an `Arc` that somebody else holds.
    #[error(
        "{} is shared by an `Arc`, so it cannot be had exclusively; drop the other handles first",
        place(path, module)
    )]
    SharedModule {
        /// The path of the module; empty for the outermost one.
        path: String,
        /// Its type.
        module: &'static str,
    },

    /// Two members of one module under one key.
    #[error(
        "key `{}` stands twice in {module}; rename a field with `#[module(rename = \"…\")]`",
        quote(key)
    )]
    DuplicateKey {
        /// The key.
        key: String,
        /// The type of the outermost module.
        module: &'static str,
    },

    /// A key that contains a dot or is empty.
    #[error("{op}: key `{}` must not be empty or contain `.`", quote(key))]
    InvalidKey {
        /// The operation.
        op: &'static str,
        /// The key.
        key: String,
    },

    /// A tensor whose values are still to come.
    #[error(
        "{} has no values yet; load a checkpoint or call `reset_parameters`",
        quote(what)
    )]
    NoValues {
        /// Its key or its shape.
        what: String,
    },

    /// A pattern for paths or keys that is none.
    #[error("pattern `{}`: {}", quote(pattern), passage(problem))]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },

    /// A selection that matches nothing where it is used.
    #[error("`{}` selects nothing{}", quote(selection), did_you_mean(suggestion))]
    NothingSelected {
        /// The selection.
        selection: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },

    /// Two keys of a state dict that become one.
    #[error(
        "{op}: `{}` and `{}` would both become `{}`",
        quote(first),
        quote(second),
        quote(key)
    )]
    KeyCollision {
        /// The operation.
        op: &'static str,
        /// The key that both would have.
        key: String,
        /// The key that has it first.
        first: String,
        /// The other one.
        second: String,
    },

    /// A key that a state dict lacks.
    #[error(
        "{op}: the state dict has no key `{}`{}",
        quote(key),
        did_you_mean(suggestion)
    )]
    NoSuchKey {
        /// The operation.
        op: &'static str,
        /// The key.
        key: String,
        /// The nearest key.
        suggestion: Option<String>,
    },

    /// Parameters that were made from a tensor and cannot be drawn anew.
    #[error(
        "reset_parameters: {} made from a tensor and own no initialiser; use `Parameter::with_init`",
        list(paths, "was", "were")
    )]
    NoInitialiser {
        /// The paths of the parameters.
        paths: Vec<String>,
    },

    /// A state dict that does not fit.
    #[error("{0}")]
    Load(Box<LoadProblems>),

    /// An optimiser that does not know all parameters of the model, or knows others.
    #[error(
        "step: {} not the parameter(s) the optimiser was built with; build it anew after replacing layers",
        list(paths, "is", "are")
    )]
    OptimizerParameters {
        /// The paths that are new, replaced or gone.
        paths: Vec<String>,
    },

    /// A step or a clip without a single gradient.
    #[error("{op}: no parameter has a gradient; call `backward` first")]
    NoGradients {
        /// The operation.
        op: &'static str,
    },

    /// A file that could not be read or written.
    #[error("{}: {source}", file(path))]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// A file that was saved, but that a crash of the system may still undo: the file itself is on the
    /// disk and in its place, and its directory could not be forced there.
    #[error(
        "{}: saved, but not durable: the new file is in place, and its directory could not be forced to \
         the disk, so that a crash of the system may bring back the old one: {source}",
        file(path)
    )]
    NotDurable {
        /// The file, which is the new one.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// A file whose content is not what its format demands.
    #[error("{}: not a valid {format} file: {}", file(path), passage(problem))]
    Format {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What is wrong.
        problem: String,
    },

    /// A whole file of a known format that holds something else than tensors under names, or tensors
    /// that are not served.
    #[error(
        "{}: this {format} file does not load as a state dict: {}",
        file(path),
        passage(problem)
    )]
    NoStateDict {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What it holds, and what to do.
        problem: String,
    },

    /// A draw that the generator refuses.
    #[error(transparent)]
    Random(#[from] crate::rng::RngError),

    /// What the operating system said where no file is known, as user code raises it by `?`.
    #[error(transparent)]
    Io(#[from] std::io::Error),

    /// Anything that user code raises from a `forward`, a hook or an initialiser.
    #[error(transparent)]
    Custom(Box<dyn std::error::Error + Send + Sync>),
}

/// `` `encoder` (Linear) ``, or the type alone for the outermost module.
fn place(path: &str, module: &str) -> String {
    match path {
        "" => module.to_owned(),
        path => format!("`{}` ({module})", quote(path)),
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion
        .as_ref()
        .map(|name| format!("; did you mean `{}`?", quote(name)))
        .unwrap_or_default()
}

/// `` `a`, `b` were `` for the middle of a sentence.
fn list(paths: &[String], one: &str, many: &str) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| format!("`{}`", quote(path)))
        .collect();
    format!(
        "{} {}",
        names.join(", "),
        if paths.len() == 1 { one } else { many }
    )
}
