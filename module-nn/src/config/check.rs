//! Checks of arguments, with errors that quote their names and values.

use crate::init::zeros;
use crate::{Error, Module, ModuleExt, Parameter, Result, Sizes, default_dtype};

/// Refuses a size of 0, with its name and value.
///
/// # Errors
///
/// A `size` of 0.
///
/// # Example
///
/// ```
/// use module_nn::config::check_positive;
///
/// assert!(check_positive("Linear", "in_features", 3).is_ok());
/// let error = check_positive("Linear", "in_features", 0).unwrap_err();
/// assert_eq!(error.to_string(), "Linear: in_features = 0: must be at least 1");
/// ```
pub fn check_positive(layer: &'static str, name: &'static str, size: usize) -> Result<()> {
    if size > 0 {
        return Ok(());
    }
    Err(Error::argument(layer, name, size, "must be at least 1"))
}

/// [`check_positive`] for each of several sizes.
///
/// # Errors
///
/// A size of 0 among them.
///
/// # Example
///
/// ```
/// use module_nn::Sizes;
/// use module_nn::config::check_positive_sizes;
///
/// assert!(check_positive_sizes("Conv2d", "kernel_size", Sizes::from([3, 1])).is_ok());
/// assert!(check_positive_sizes("Conv2d", "kernel_size", Sizes::from([3, 0])).is_err());
/// ```
pub fn check_positive_sizes<const N: usize>(
    layer: &'static str,
    name: &'static str,
    sizes: Sizes<N>,
) -> Result<()> {
    if !sizes.get().contains(&0) {
        return Ok(());
    }
    let problem = "each must be at least 1";
    Err(Error::argument(layer, name, sizes, problem))
}

/// Refuses a number outside `[low, high]`, and NaN. A bound may be infinite.
///
/// # Errors
///
/// Such a number.
///
/// # Example
///
/// ```
/// use module_nn::config::check_between;
///
/// assert!(check_between("Dropout", "p", 0.5, [0.0, 1.0]).is_ok());
/// let error = check_between("Dropout", "p", 1.5, [0.0, 1.0]).unwrap_err();
/// assert_eq!(error.to_string(), "Dropout: p = 1.5: must be between 0 and 1");
/// assert!(check_between("LayerNorm", "eps", f64::NAN, [0.0, f64::INFINITY]).is_err());
/// ```
pub fn check_between(
    layer: &'static str,
    name: &'static str,
    value: f64,
    [low, high]: [f64; 2],
) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let problem = match high.is_finite() {
        true => format!("must be between {low} and {high}"),
        false => format!("must be at least {low}"),
    };
    Err(Error::argument(layer, name, value, problem))
}

/// Refuses a number that is not above 0, and NaN.
///
/// # Errors
///
/// Such a number.
///
/// # Example
///
/// ```
/// use module_nn::config::check_above_zero;
///
/// assert!(check_above_zero("HuberLoss", "delta", 1.0).is_ok());
/// assert!(check_above_zero("HuberLoss", "delta", 0.0).is_err());
/// ```
pub fn check_above_zero(layer: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 {
        return Ok(());
    }
    Err(Error::argument(layer, name, value, "must be above 0"))
}

/// The maximum number of parts of any kind: each is a module or a few parameters, and the deepest networks have thousands.
const MOST_PARTS: usize = 1 << 20;

/// The maximum number of steps of a loop: more would not end in any reasonable time.
const MOST_STEPS: usize = 1 << 16;

/// Refuses a number of steps that would practically never end.
pub(crate) fn check_steps(of: &'static str, name: &'static str, steps: usize) -> Result<()> {
    if steps <= MOST_STEPS {
        return Ok(());
    }
    let problem = format!("must be at most {MOST_STEPS}");
    Err(Error::argument(of, name, steps, problem))
}

/// The memory of a parameter besides its elements, including its key and its share of the module: a generous upper bound.
const BESIDE_ELEMENTS: usize = 2048;

/// What each of the parts has that an argument counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartSize {
    pub(crate) parameters: usize,
    pub(crate) elements: usize,
}

impl PartSize {
    pub(crate) fn of(module: &dyn Module) -> Self {
        Self::of_sizes(
            module
                .parameters()
                .map(|parameter| parameter.shape().numel()),
        )
    }

    pub(crate) fn of_sizes(sizes: impl Iterator<Item = usize>) -> Self {
        let none = Self {
            parameters: 0,
            elements: 0,
        };
        sizes.fold(none, |sum, size| Self {
            parameters: sum.parameters + 1,
            elements: sum.elements.saturating_add(size),
        })
    }
}

/// Refuses a number of parts that does not fit in memory, before the first is built: otherwise many small ones would fill
/// memory one after another without any single allocation failing.
///
/// The elements of deferred parameters do not count.
pub(crate) fn check_count_fits(
    layer: &'static str,
    name: &'static str,
    count: usize,
    part: PartSize,
) -> Result<()> {
    let deferred = !Parameter::with_init(0_usize, zeros())?.has_values();
    let size = match deferred {
        true => 0,
        false => default_dtype().size_in_bytes(),
    };
    let elements = part.elements.saturating_mul(size);
    let each = elements.saturating_add(part.parameters.saturating_mul(BESIDE_ELEMENTS));
    // If not even one fits, its own error says which of its sizes is too large.
    let fits = |count: usize| count.checked_mul(each).is_some_and(is_available);
    if count <= 1 || !fits(1) || (count <= MOST_PARTS && fits(count)) {
        return Ok(());
    }
    let total = |each: usize| count as u128 * each as u128;
    let problem = format!(
        "makes {} parameters with {} elements in all, more than memory holds",
        total(part.parameters),
        total(part.elements)
    );
    Err(Error::argument(layer, name, count, problem))
}

/// Refuses an argument that needs more memory than there is; `None` stands for more bytes than can be counted.
#[cfg(any(feature = "data", feature = "generate", feature = "metrics"))]
pub(crate) fn check_bytes_fit(
    of: &'static str,
    name: &'static str,
    value: impl std::fmt::Display,
    bytes: Option<usize>,
) -> Result<()> {
    if bytes.is_some_and(is_available) {
        return Ok(());
    }
    let problem = match bytes {
        Some(bytes) => format!("needs {bytes} bytes, more than memory holds"),
        None => "needs more bytes than can be counted".to_owned(),
    };
    Err(Error::argument(of, name, value, problem))
}

/// Whether the system would grant this many bytes at once.
fn is_available(bytes: usize) -> bool {
    let mut block: Vec<u8> = Vec::new();
    let given = block.try_reserve_exact(bytes).is_ok();
    // Otherwise the compiler may notice that the block is unused and remove the allocation.
    std::hint::black_box(block.as_mut_ptr());
    given
}
