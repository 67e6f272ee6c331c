use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use crate::rng::Generator;
use crate::{Error, Module, ModuleExt, Result, StateDict, Tensor};

/// State that must be saved and restored for training to resume exactly.
///
/// Modules, optimizers and generators implement it; your own schedules and averages can too.
///
/// # Example
///
/// ```
/// use module_core::{Result, Snapshot, Stateful};
///
/// struct Warmup {
///     step: u64,
/// }
///
/// impl Stateful for Warmup {
///     fn state(&self) -> Result<Snapshot> {
///         Snapshot::default().with("step", &self.step)
///     }
///
///     fn load_state(&mut self, state: &Snapshot) -> Result<()> {
///         self.step = state.get("step")?;
///         Ok(())
///     }
/// }
///
/// let saved = Warmup { step: 7 }.state()?;
/// let mut fresh = Warmup { step: 0 };
/// fresh.load_state(&saved)?;
/// assert_eq!(fresh.step, 7);
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait Stateful {
    /// The current state; later changes do not affect it.
    ///
    /// # Errors
    ///
    /// State that cannot be captured.
    fn state(&self) -> Result<Snapshot>;

    /// Restores a state that [`state`](Self::state) returned.
    ///
    /// # Errors
    ///
    /// A state of something else; then nothing is changed.
    fn load_state(&mut self, state: &Snapshot) -> Result<()>;

    /// The values of [`state`](Self::state) that are configuration, under the same names. A restore reports which of them
    /// it has changed or, if a value is a map, which of its fields.
    ///
    /// # Errors
    ///
    /// Values that cannot be captured.
    fn hyperparameters(&self) -> Result<Snapshot> {
        Ok(Snapshot::default())
    }
}

/// A state: tensors, and values of any type that serde knows.
///
/// Values are kept as JSON, which holds every finite number exactly, and no others.
#[derive(Clone, Default)]
pub struct Snapshot {
    pub(super) tensors: StateDict,
    pub(super) values: IndexMap<String, Box<RawValue>>,
}

impl Snapshot {
    /// A state of tensors alone.
    pub fn new(tensors: StateDict) -> Self {
        let values = IndexMap::new();
        Self { tensors, values }
    }

    /// The tensors.
    pub fn tensors(&self) -> &StateDict {
        &self.tensors
    }

    /// This state with one more value.
    ///
    /// # Errors
    ///
    /// A value that JSON cannot hold, such as a map whose keys are not strings.
    pub fn with(self, name: &str, value: &impl Serialize) -> Result<Self> {
        self.with_raw(name, to_raw_value(value))
    }

    fn with_raw(mut self, name: &str, value: serde_json::Result<Box<RawValue>>) -> Result<Self> {
        let value = value.map_err(|e| value_error("with", name, &e))?;
        self.values.insert(name.to_owned(), value);
        Ok(self)
    }

    /// The value under a name.
    ///
    /// # Errors
    ///
    /// A name that the state lacks; a value of another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        match serde_json::from_str(self.get_raw(name)?) {
            Ok(value) => Ok(value),
            Err(error) => Err(value_error("get", name, &error)),
        }
    }

    fn get_raw(&self, name: &str) -> Result<&str> {
        let value = self.values.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.values.keys().map(String::as_str).collect();
            let problem = format!("the state has no such value; it has {names:?}");
            Error::argument("get", "name", name, problem)
        })?;
        Ok(value.get())
    }

    /// This state with another one nested in it, such as that of a part; [`nested`](Self::nested) returns it.
    ///
    /// # Errors
    ///
    /// Those of [`with`](Self::with).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Snapshot;
    ///
    /// let part = Snapshot::default().with("step", &7)?;
    /// let whole = Snapshot::default().with_nested("part", &part)?;
    /// assert_eq!(whole.nested("part")?.get::<u64>("step")?, 7);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn with_nested(mut self, name: &str, state: &Self) -> Result<Self> {
        for (key, tensor) in &state.tensors {
            self.tensors.insert(format!("{name}.{key}"), tensor.clone());
        }
        self.with(name, &state.sorted_values())
    }

    /// The values, in the order of their names.
    pub(super) fn sorted_values(&self) -> BTreeMap<&str, &RawValue> {
        let values = self.values.iter();
        values
            .map(|(key, value)| (key.as_str(), &**value))
            .collect()
    }

    /// The state that [`with_nested`](Self::with_nested) put under a name.
    ///
    /// # Errors
    ///
    /// A name that the state lacks; a value that is not a state.
    pub fn nested(&self, name: &str) -> Result<Self> {
        let values: BTreeMap<String, Box<RawValue>> = self.get(name)?;
        let prefix = format!("{name}.");
        let tensors = self.tensors.iter().filter_map(|(key, tensor)| {
            let key = key.strip_prefix(&prefix)?;
            Some((key.to_owned(), tensor.clone()))
        });
        Ok(Self {
            tensors: tensors.collect(),
            values: values.into_iter().collect(),
        })
    }
}

fn value_error(op: &'static str, name: &str, error: &serde_json::Error) -> Error {
    Error::argument(op, "value", name, error.to_string())
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.tensors.keys().collect();
        let mut f = f.debug_struct("Snapshot");
        f.field("tensors", &keys).field("values", &self.values);
        f.finish()
    }
}

/// The state dict, loaded strictly.
impl<M: Module + ?Sized> Stateful for M {
    fn state(&self) -> Result<Snapshot> {
        self.as_module().state_dict().map(Snapshot::new)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        // A strict load leaves nothing to report.
        let _complete = self.as_module().load_state_dict(&state.tensors)?;
        Ok(())
    }
}

/// A state that is saved as it is.
impl Stateful for Snapshot {
    fn state(&self) -> Result<Snapshot> {
        Ok(self.clone())
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        *self = state.clone();
        Ok(())
    }
}

/// For the CPU, the bytes of PyTorch's `get_rng_state`, as the tensor `state`.
impl Stateful for Generator {
    fn state(&self) -> Result<Snapshot> {
        let bytes = self.get_state();
        let tensor = Tensor::from_vec(bytes.clone(), bytes.len())?;
        Ok(Snapshot::new(StateDict::from_iter([("state", tensor)])))
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let Some(tensor) = state.tensors.get("state") else {
            let keys: Vec<&str> = state.tensors.keys().collect();
            let problem = "a generator's state is one tensor `state`";
            return Err(Error::argument(
                "load_state",
                "state",
                format_args!("{keys:?}"),
                problem,
            ));
        };
        let bytes = tensor.to_vec::<u8>()?;
        self.set_state(&bytes)
    }
}
