use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;

use super::table::TextTable;
use crate::{BackwardPreCall, DType, HookSet, Module, ModuleExt, Result, Select, Tensor};

/// Watches the gradients that arrive at the outputs of modules, over all backward passes during its lifetime.
///
/// For each module it keeps the mean, the standard deviation, the minimum and the maximum of the absolute values. A mean
/// below 1e-7 is flagged as vanishing, above 100 as exploding; a value that is not finite is flagged too.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new()).push(Linear::new(8, 2)?);
/// let inspector = GradientInspector::new(&model, "*")?;
/// for _ in 0..3 {
///     let y = model.call(Tensor::randn([5, 4], DType::F32)?)?;
///     y.mul(1000.0)?.sum(..)?.backward()?;
/// }
/// let report = inspector.report();
/// let last = report.get("2").unwrap();
/// assert_eq!((last.calls, last.mean, last.std), (3, 1000.0, 0.0));
/// assert_eq!(last.flag(), GradientFlag::Exploding);
/// println!("{report}");
/// // From here on, as if there had been no pass.
/// inspector.reset();
/// assert!(inspector.report().rows().is_empty());
/// # Ok::<(), Error>(())
/// ```
#[must_use = "dropping the inspector ends it"]
pub struct GradientInspector<'m> {
    seen: Arc<Mutex<Seen>>,
    /// Removes the hooks when dropped.
    _hooks: HookSet<'m>,
}

type Seen = IndexMap<String, LayerGradients>;

struct LayerGradients {
    kind: &'static str,
    running: Running,
}

/// Count, mean and sum of squared differences so far.
#[derive(Clone, Copy, Default)]
struct Running {
    calls: usize,
    count: f64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Running {
    /// The statistics of one gradient, computed in f64.
    fn of(grad: &Tensor) -> Result<Self> {
        let sizes = grad.abs()?;
        let extreme = |size: Tensor| size.to_dtype(DType::F64)?.item();
        let values = sizes.to_dtype(DType::F64)?;
        let mean = values.mean(..)?;
        let apart = values.sub(&mean)?;
        Ok(Self {
            calls: 0,
            count: values.numel() as f64,
            mean: mean.item()?,
            squares: apart.mul(&apart)?.sum(..)?.item()?,
            min: extreme(sizes.amin(..)?)?,
            max: extreme(sizes.amax(..)?)?,
        })
    }

    /// The combination of both (Chan, Golub and LeVeque, *Updating formulae and a pairwise algorithm for computing sample
    /// variances*, 1979).
    fn with(self, other: Self) -> Self {
        let calls = self.calls + other.calls;
        if self.count == 0.0 || other.count == 0.0 {
            let some = if self.count == 0.0 { other } else { self };
            return Self { calls, ..some };
        }
        let count = self.count + other.count;
        let apart = other.mean - self.mean;
        let between = apart * apart * self.count * other.count / count;
        // A maximum of NaN and a number is NaN here, so that it is not lost.
        let pick = |a: f64, b: f64, greater: bool| {
            if a.is_nan() || (a > b) == greater && !b.is_nan() {
                a
            } else {
                b
            }
        };
        Self {
            calls,
            count,
            mean: self.mean + apart * other.count / count,
            squares: self.squares + other.squares + between,
            min: pick(self.min, other.min, false),
            max: pick(self.max, other.max, true),
        }
    }
}

impl<'m> GradientInspector<'m> {
    /// Watches the modules whose paths `select` matches; `Select::all()` for every one.
    ///
    /// # Errors
    ///
    /// An invalid pattern, or one that matches nothing, with the nearest name.
    pub fn new(model: &'m (impl Module + ?Sized), select: impl Into<Select>) -> Result<Self> {
        let select = select.into();
        let rows = model
            .named_modules()
            .filter(|(path, _)| select.matches(path));
        let rows = rows.map(|(path, module)| {
            let (kind, running) = (module.kind(), Running::default());
            (path, LayerGradients { kind, running })
        });
        let seen = Arc::new(Mutex::new(rows.collect::<Seen>()));
        let watched = seen.clone();
        let hooks = HookSet::full_backward_pre(model, select, move |call| watch(&watched, call))?;
        Ok(Self {
            seen,
            _hooks: hooks,
        })
    }

    /// The statistics so far: modules that gradients reached, in the model's order.
    pub fn report(&self) -> GradientReport {
        let seen = lock(&self.seen);
        let reached = seen.iter().filter(|(_, layer)| layer.running.calls > 0);
        let rows = reached.map(|(path, layer)| {
            let Running {
                calls,
                count,
                mean,
                squares,
                min,
                max,
            } = layer.running;
            GradientStats {
                path: path.clone(),
                kind: layer.kind,
                calls,
                mean,
                std: (squares / (count - 1.0)).sqrt(),
                min,
                max,
            }
        });
        GradientReport {
            rows: rows.collect(),
        }
    }

    /// Resets the statistics.
    pub fn reset(&self) {
        let mut seen = lock(&self.seen);
        seen.values_mut()
            .for_each(|layer| layer.running = Running::default());
    }
}

impl fmt::Debug for GradientInspector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GradientInspector")
            .field(&self.report().rows.len())
            .finish()
    }
}

/// A pass that panicked left whole sums.
fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(seen: &Mutex<Seen>, call: &mut BackwardPreCall<'_>) -> Result<()> {
    let mut all = Running {
        calls: 1,
        ..Running::default()
    };
    for grad in call.grad_outputs().into_iter().flatten() {
        if grad.numel() > 0 {
            all = all.with(Running::of(&grad)?);
        }
    }
    let mut seen = lock(seen);
    let kind = call.kind();
    let running = Running::default();
    // A module that is selected by a later one of its paths has no row yet.
    let row = seen
        .entry(call.path().to_owned())
        .or_insert(LayerGradients { kind, running });
    row.running = row.running.with(all);
    Ok(())
}

/// The statistics of a [`GradientInspector`], which print as a table.
///
/// # Example
///
/// ```
/// use module_nn::inspect::{GradientReport, GradientStats};
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 4)?).push(Linear::new(4, 1)?);
/// let inspector = GradientInspector::new(&model, "*")?;
/// model.call(Tensor::randn([5, 4], DType::F32)?)?.mul(1e-9)?.sum(..)?.backward()?;
/// let report: GradientReport = inspector.report();
/// assert_eq!(report.rows().len(), 2);
/// let flagged: Vec<&GradientStats> = report.flagged().collect();
/// assert_eq!((flagged.len(), flagged[0].flag()), (2, GradientFlag::Vanishing));
/// assert!(report.to_string().contains("vanishing"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GradientReport {
    rows: Vec<GradientStats>,
}

/// The absolute gradients of the outputs of one module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GradientStats {
    /// The path of the module.
    pub path: String,
    /// The name of its type.
    pub kind: &'static str,
    /// The number of its calls that a gradient reached.
    pub calls: usize,
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; NaN for a single value.
    pub std: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

/// A problem with gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GradientFlag {
    /// No problem.
    Fine,
    /// The mean is below 1e-7.
    Vanishing,
    /// The mean is above 100.
    Exploding,
    /// There is an infinite value or a NaN.
    NotFinite,
}

impl GradientStats {
    /// The problem, if any.
    pub fn flag(&self) -> GradientFlag {
        match self.mean {
            _ if !self.mean.is_finite() || !self.max.is_finite() => GradientFlag::NotFinite,
            mean if mean < 1e-7 => GradientFlag::Vanishing,
            mean if mean > 100.0 => GradientFlag::Exploding,
            _ => GradientFlag::Fine,
        }
    }
}

impl GradientReport {
    /// All modules that gradients reached.
    pub fn rows(&self) -> &[GradientStats] {
        &self.rows
    }

    /// The statistics of one module.
    pub fn get(&self, path: &str) -> Option<&GradientStats> {
        self.rows.iter().find(|row| row.path == path)
    }

    /// The modules with a problem.
    pub fn flagged(&self) -> impl Iterator<Item = &GradientStats> {
        self.rows
            .iter()
            .filter(|row| row.flag() != GradientFlag::Fine)
    }
}

impl fmt::Display for GradientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles = [
            "Module", "Path", "Calls", "Mean |g|", "Std", "Min", "Max", "",
        ];
        let mut table = TextTable::new(titles.map(str::to_owned));
        for row in &self.rows {
            let number = |value: f64| format!("{value:.3e}");
            let flag = match row.flag() {
                GradientFlag::Fine => "",
                GradientFlag::Vanishing => "vanishing",
                GradientFlag::Exploding => "exploding",
                GradientFlag::NotFinite => "not finite",
            };
            table.push([
                row.kind.to_owned(),
                row.path.clone(),
                row.calls.to_string(),
                number(row.mean),
                number(row.std),
                number(row.min),
                number(row.max),
                flag.to_owned(),
            ]);
        }
        let line = "=".repeat(table.width());
        write!(f, "{}{line}\n{}", table.header(), table.body())
    }
}
