use std::collections::{HashMap, HashSet};
use std::fmt;

use super::entries::entries;
use crate::error::{SHOWN, cut};
use crate::module::{IdSet, Module, TensorId, convert, path};
use crate::rng::Generator;
use crate::{Mismatch, Result};

/// The result of a load.
///
/// It prints `<All keys matched successfully>`, like PyTorch's result, if that is true of the whole model. Otherwise it
/// prints PyTorch's list of missing and unexpected keys, if there are any, then how many of the model's keys were loaded,
/// and then what was not loaded and why: at most ten keys for each reason, with the number of the others.
/// [`full`](Self::full) prints all.
///
/// # Example
///
/// ```
/// use module_core::{LoadOptions, Module, ModuleExt, Parameter, StateDict, Tensor};
///
/// #[derive(Module)]
/// struct Two {
///     a: Parameter,
///     b: Parameter,
/// }
///
/// let two = Two { a: Parameter::new(Tensor::from(1.0_f32))?, b: Parameter::new(Tensor::from(2.0_f32))? };
/// let mut state = two.state_dict()?;
/// state.remove("b");
/// let report = two.load_state_dict_with(&state, LoadOptions::new().strict(false))?;
/// assert!(report.to_string().contains('b'));
/// # Ok::<(), module_core::Error>(())
/// ```
#[must_use = "the report tells which tensors keep their old values"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Keys that were loaded, in the module's order.
    pub loaded: Vec<String>,
    /// Keys that should have been loaded and keep their previous values, or still have no values, in the module's order.
    pub not_loaded: Vec<String>,
    /// Keys that the module has and the state dict lacks. A tied tensor that was found under another of its names is not
    /// missing.
    pub missing: Vec<String>,
    /// Keys that the state dict has and the module lacks.
    pub unexpected: Vec<String>,
    /// Keys whose shapes differ.
    pub mismatched: Vec<Mismatch>,
    /// Keys of the model whose tensor was loaded only under another of its names.
    pub tied: Vec<String>,
    /// Keys of the model that [`select`](crate::LoadOptions::select) left out; they keep their values.
    pub not_selected: Vec<String>,
    /// Keys of the state dict that the model lacks and that were skipped: by [`ignore`](crate::LoadOptions::ignore), or
    /// because `select` does not cover them.
    pub ignored: Vec<String>,
}

impl LoadReport {
    /// Draws the parameters that were not loaded with their own initializers, from the default generator, and resets the
    /// buffers among them to their initial values; nothing else changes.
    ///
    /// `model` is the one that was loaded.
    ///
    /// # Errors
    ///
    /// A parameter that was not loaded and has no initializer, a key that the model lacks; then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{LoadOptions, Module, ModuleExt, Parameter, StateDict, Tensor};
    ///
    /// #[derive(Module)]
    /// struct Net {
    ///     stem: Parameter,
    ///     head: Parameter,
    /// }
    ///
    /// let ones = || Parameter::with_init(2, module_core::module::ConstantInit(1.0));
    /// let net = Net { stem: ones()?, head: ones()? };
    /// net.head.set(Tensor::from([5.0_f32, 5.0]))?;
    /// let state = StateDict::from_iter([("stem", Tensor::from([3.0_f32, 4.0]))]);
    /// let report = net.load_state_dict_with(&state, LoadOptions::new().strict(false))?;
    /// assert_eq!(report.not_loaded, ["head"]);
    /// report.reset_not_loaded(&net)?;
    /// assert_eq!(net.head.tensor().to_vec::<f32>()?, [1.0, 1.0]);
    /// assert_eq!(net.stem.tensor().to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn reset_not_loaded(&self, model: &dyn Module) -> Result<()> {
        self.reset_not_loaded_from(model, None)
    }

    /// [`reset_not_loaded`](Self::reset_not_loaded) with a generator.
    ///
    /// # Errors
    ///
    /// Those of [`reset_not_loaded`](Self::reset_not_loaded).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::module::ConstantInit;
    /// use module_core::{Generator, LoadOptions, ModuleExt, Parameter, StateDict, Tensor};
    ///
    /// let half = || Parameter::with_init(1, ConstantInit(0.5));
    /// let net = vec![half()?, half()?];
    /// net[1].set(Tensor::from([7.0_f32]))?;
    /// let state = StateDict::from_iter([("0", Tensor::from([5.0_f32]))]);
    /// let report = net.load_state_dict_with(&state, LoadOptions::new().strict(false))?;
    /// report.reset_not_loaded_with(&net, &Generator::new(0))?;
    /// assert_eq!((net[0].detach().item::<f32>()?, net[1].detach().item::<f32>()?), (5.0, 0.5));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn reset_not_loaded_with(&self, model: &dyn Module, generator: &Generator) -> Result<()> {
        self.reset_not_loaded_from(model, Some(generator))
    }

    fn reset_not_loaded_from(
        &self,
        model: &dyn Module,
        generator: Option<&Generator>,
    ) -> Result<()> {
        let model = model.as_module();
        let tensors = entries(model)?.into_iter();
        let tensors: HashMap<_, _> = tensors.map(|entry| (entry.key, entry.tensor)).collect();
        let mut reset: IdSet<TensorId> = IdSet::default();
        for key in &self.not_loaded {
            match tensors.get(key) {
                Some(tensor) => reset.insert(tensor.id()),
                // The error names the step of the path that does not exist.
                None => reset.insert(path::parameter(model, key)?.id()),
            };
        }
        convert::reset(model, generator, &|id| reset.contains(&id))
    }
}

impl LoadReport {
    /// The same text with all keys.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{LoadOptions, ModuleExt, Parameter, Tensor};
    ///
    /// let one = |_| Parameter::new(Tensor::from(1.0_f32));
    /// let model = (0..20).map(one).collect::<Result<Vec<_>, _>>()?;
    /// let state = model.state_dict()?;
    /// let report = model.load_state_dict_with(&state, LoadOptions::new().select("3"))?;
    /// let text = report.to_string();
    /// assert!(text.starts_with("1 of 20 keys loaded\n\tnot selected: \"0\", \"1\", "));
    /// assert!(text.ends_with(" and 9 more"));
    /// assert!(report.full().to_string().ends_with(", \"18\", \"19\""));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn full(&self) -> impl fmt::Display + '_ {
        ShortReport {
            report: self,
            shown: usize::MAX,
        }
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ShortReport {
            report: self,
            shown: SHOWN,
        }
        .fmt(f)
    }
}

/// The report with at most this many keys for each reason.
struct ShortReport<'r> {
    report: &'r LoadReport,
    shown: usize,
}

impl ShortReport<'_> {
    fn write_line<K: fmt::Display>(
        &self,
        f: &mut fmt::Formatter<'_>,
        reason: &str,
        keys: &[K],
    ) -> fmt::Result {
        let (shown, rest) = cut(keys, self.shown);
        for (i, key) in shown.iter().enumerate() {
            match i {
                0 => write!(f, "\n\t{reason}: \"{key}\"")?,
                _ => write!(f, ", \"{key}\"")?,
            }
        }
        match rest {
            0 => Ok(()),
            _ => write!(f, " and {rest} more"),
        }
    }
}

impl fmt::Display for ShortReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadReport {
            loaded,
            not_loaded,
            missing,
            unexpected,
            mismatched,
            tied,
            not_selected,
            ignored,
        } = self.report;
        let kept = [not_loaded, missing, unexpected, not_selected, ignored];
        if kept.into_iter().all(Vec::is_empty) && mismatched.is_empty() {
            return f.write_str("<All keys matched successfully>");
        }
        if !(missing.is_empty() && unexpected.is_empty()) {
            let (missing, unexpected) = (PythonList(missing), PythonList(unexpected));
            writeln!(
                f,
                "_IncompatibleKeys(missing_keys={missing}, unexpected_keys={unexpected})"
            )?;
        }
        let here = loaded.len() + tied.len();
        let skipped: HashSet<&str> = not_selected.iter().map(String::as_str).collect();
        let not_loaded = not_loaded.iter().map(String::as_str);
        let mut not_loaded: Vec<&str> = not_loaded.filter(|key| !skipped.contains(key)).collect();
        let all = here + not_selected.len() + not_loaded.len();
        write!(f, "{here} of {all} keys loaded")?;
        let (shown, rest) = cut(mismatched, self.shown);
        for mismatch in shown {
            write!(f, "\n\t{mismatch}")?;
        }
        if rest > 0 {
            write!(f, "\n\tand {rest} more size mismatches.")?;
        }
        let differs = mismatched.iter().map(|mismatch| mismatch.key.as_str());
        let told: HashSet<&str> = differs.chain(missing.iter().map(String::as_str)).collect();
        not_loaded.retain(|key| !told.contains(key));
        self.write_line(f, "not in the state dict, kept as it was", &not_loaded)?;
        self.write_line(f, "not selected", not_selected)?;
        self.write_line(f, "ignored", ignored)
    }
}

/// A list of strings as Python writes it.
struct PythonList<'a>(&'a [String]);

impl fmt::Display for PythonList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, key) in self.0.iter().enumerate() {
            write!(f, "{}'{key}'", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}
