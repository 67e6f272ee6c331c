use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::format_error::damaged;
use super::formats::read_by_format;
use super::open::{open, read_whole};
use super::output::file_error;
use super::safetensors::{self, Unique};
use super::sorted::Sorted;
use super::{ReadOptions, RestoreReport, SaveHandle, Snapshot, Stateful, atomic, directory};
use crate::error::suggest;
use crate::{Error, Result};
use module_tensor::error::quote;

/// Everything that training needs to resume: the states of a model, its optimizer, the generator and anything else that is
/// [`Stateful`], with the epoch and the step, in one directory.
///
/// # Example
///
/// ```
/// use module_core::rng::default_generator;
/// use module_core::{Module, Parameter, Tensor, TrainingCheckpoint};
///
/// #[derive(Module)]
/// struct Scale {
///     weight: Parameter,
/// }
///
/// let directory = std::env::temp_dir().join(format!("doc-training-{}", std::process::id()));
/// let mut model = Scale { weight: Parameter::new(Tensor::from([1.0_f32, 2.0]))? };
///
/// let checkpoint = TrainingCheckpoint::new(3, 1200).with("model", &model)?;
/// let checkpoint = checkpoint.with("generator", &default_generator())?;
/// checkpoint.save(&directory)?;
///
/// let checkpoint = TrainingCheckpoint::load(&directory)?;
/// checkpoint.restore("model", &mut model)?;
/// checkpoint.restore("generator", &mut default_generator())?;
/// assert_eq!((checkpoint.epoch(), checkpoint.step()), (3, 1200));
/// std::fs::remove_dir_all(directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```
/// use module_core::{Parameter, Tensor, TrainingCheckpoint};
///
/// // Written on another thread, while training continues.
/// let directory = std::env::temp_dir().join(format!("doc-async-{}", std::process::id()));
/// let model = vec![Parameter::new(Tensor::from([1.0_f32]))?];
/// let checkpoint = TrainingCheckpoint::new(0, 10).with("model", &model)?;
/// let saving = checkpoint.save_async(&directory);
/// model[0].set(Tensor::from([2.0_f32]))?;
/// saving.join()?;
///
/// let checkpoint = TrainingCheckpoint::load(&directory)?;
/// assert!(checkpoint.names().eq(["model"]));
/// let saved = checkpoint.get("model")?.tensors().get("0").cloned();
/// assert_eq!(saved.unwrap().item::<f32>()?, 1.0);
/// std::fs::remove_dir_all(directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TrainingCheckpoint {
    epoch: u64,
    step: u64,
    pub(super) parts: IndexMap<String, Snapshot>,
}

/// The index of a directory.
const INDEX: &str = "checkpoint.json";

/// The name of the index in errors.
const FORMAT: &str = "training checkpoint";

/// The version of the index that is written, and the only one that can be read.
const VERSION: u32 = 1;

impl TrainingCheckpoint {
    /// A checkpoint without states.
    pub fn new(epoch: u64, step: u64) -> Self {
        let parts = IndexMap::new();
        Self { epoch, step, parts }
    }

    /// The epoch in which it was made.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The step after which it was made.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The names of the states.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.keys().map(String::as_str)
    }

    /// This checkpoint with the current state of an object added. Training may continue before it is saved.
    ///
    /// # Errors
    ///
    /// A name with characters other than ASCII letters, digits, `_` and `-`, because it becomes a file name, one that
    /// Windows reserves for a device (`con`, `nul`, …), or one that is taken; a state that cannot be captured.
    pub fn with(mut self, name: &str, part: &(impl Stateful + ?Sized)) -> Result<Self> {
        let fail = |problem| Err(Error::argument("with", "name", name, problem));
        if let Err(problem) = self.check_name(name) {
            return fail(problem);
        }
        self.parts.insert(name.to_owned(), part.state()?);
        Ok(self)
    }

    /// The state under a name.
    ///
    /// # Errors
    ///
    /// A name that the checkpoint lacks.
    pub fn get(&self, name: &str) -> Result<&Snapshot> {
        self.part("get", name)
    }

    fn part(&self, op: &'static str, name: &str) -> Result<&Snapshot> {
        self.parts.get(name).ok_or_else(|| {
            const SHOWN: usize = 16;
            let names = self.names().take(SHOWN).map(|name| format!("`{name}`"));
            let names: Vec<String> = names.collect();
            let mut problem = match names.len() {
                0 => "the checkpoint is empty".to_owned(),
                _ => format!("the checkpoint has {}", names.join(", ")),
            };
            if let more @ 1.. = self.parts.len().saturating_sub(SHOWN) {
                problem += &format!(" and {more} more");
            }
            if let Some(meant) = suggest(name, self.names()) {
                problem += &format!("; did you mean `{meant}`?");
            }
            Error::argument(op, "name", name, problem)
        })
    }

    /// Refuses an invalid or taken name.
    fn check_name(&self, name: &str) -> Result<(), &'static str> {
        check_part_name(name)?;
        // Some file systems are case-insensitive too.
        match self.names().any(|other| other.eq_ignore_ascii_case(name)) {
            true => Err("this name is taken"),
            false => Ok(()),
        }
    }

    /// Restores an object from the state under a name, and reports which of its hyperparameters changed.
    ///
    /// An optimizer continues with the configuration of the checkpoint, as in PyTorch: a learning rate or momentum that it
    /// was newly built with is overwritten. The report names those; set them after restoring if the new values are
    /// intended.
    ///
    /// # Errors
    ///
    /// Those of [`get`](Self::get), and a state of something else; then nothing is changed.
    pub fn restore(
        &self,
        name: &str,
        part: &mut (impl Stateful + ?Sized),
    ) -> Result<RestoreReport> {
        let state = self.part("restore", name)?;
        let before = part.hyperparameters()?;
        part.load_state(state)?;
        Ok(RestoreReport::new(&before, state))
    }

    /// Writes the checkpoint to a directory, which is made if it does not exist: `checkpoint.json` and one safetensors file
    /// for each state.
    ///
    /// If the directory already holds a checkpoint, the new files are written next to the old ones under unused names
    /// (`model.1.safetensors`), then `checkpoint.json` is replaced, and then files with such names that it does not list
    /// are removed: a crash at any moment leaves the complete old checkpoint or the complete new one.
    ///
    /// # Errors
    ///
    /// A directory that cannot be made or written, a full disk: then the old checkpoint is in place.
    /// [`FileError::NotDurable`](crate::FileError::NotDurable): the new one is in place, but a system crash may bring back
    /// the old one, whose files still exist.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<()> {
        self.write(directory.as_ref())
    }

    /// [`save`](Self::save) on another thread, while training goes on.
    pub fn save_async(&self, directory: impl AsRef<Path>) -> SaveHandle {
        let (checkpoint, path) = (self.clone(), directory.as_ref().to_owned());
        SaveHandle::spawn(path.clone(), move || checkpoint.save(path))
    }

    /// Reads the checkpoint of a directory. Its tensors are copies, like those of
    /// [`StateDict::load`](crate::StateDict::load).
    ///
    /// # Errors
    ///
    /// A directory without a checkpoint, or with a damaged one; names that [`with`](Self::with) refuses, and files outside
    /// the directory.
    pub fn load(directory: impl AsRef<Path>) -> Result<Self> {
        let directory = directory.as_ref();
        let path = directory.join(INDEX);
        let text = read_whole(&path, open(&path, &ReadOptions::new())?)?;
        let damaged = |problem| damaged(&path, FORMAT, problem);
        let index: Index = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
        if index.version != VERSION {
            let version = index.version;
            let problem =
                format!("it has version {version}; this library reads version {VERSION} only");
            return Err(damaged(problem));
        }
        let mut checkpoint = Self::new(index.epoch, index.step);
        for (name, Part { file, values }) in index.parts.0 {
            let named = checkpoint.check_name(&name);
            named.map_err(|problem| damaged(format!("part `{}`: {problem}", quote(&name))))?;
            directory::check_name(&file).map_err(damaged)?;
            let (path, options) = (directory.join(file), ReadOptions::new());
            let tensors = read_by_format(&path, open(&path, &options)?, &options)?;
            let values = values.0;
            checkpoint.parts.insert(name, Snapshot { tensors, values });
        }
        Ok(checkpoint)
    }

    fn write(&self, path: &Path) -> Result<()> {
        let at = |error| file_error(path, error);
        // The names were checked when they were added, and become file names here.
        for name in self.names() {
            check_part_name(name)
                .map_err(|problem| Error::argument("save", "name", name, problem))?;
        }
        directory::make(path).map_err(at)?;
        atomic::remove_stale_temporaries(path);
        let files = |generation| self.names().map(|name| file(name, generation)).collect();
        let files = directory::free_names(path, files).map_err(at)?;
        let mut parts = Vec::new();
        for ((name, Snapshot { tensors, values }), file) in self.parts.iter().zip(&files) {
            let to = path.join(file);
            atomic::write_part(&to, |output| safetensors::write(tensors, output))?;
            let values = values.iter().map(|(name, value)| (&**name, &**value));
            let values = Sorted::new(values);
            parts.push((&**name, NewPart { file, values }));
        }
        let index = NewIndex {
            version: VERSION,
            epoch: self.epoch,
            step: self.step,
            parts: Sorted::new(parts.into_iter()),
        };
        atomic::sync_directory(path).map_err(at)?;
        let mut text = serde_json::to_vec_pretty(&index).map_err(Error::custom)?;
        text.push(b'\n');
        atomic::write(&path.join(INDEX), |output| output.bytes(&text))?;
        directory::remove_unreferenced(path, &files, is_part);
        Ok(())
    }
}

#[derive(Deserialize)]
struct Index {
    version: u32,
    epoch: u64,
    step: u64,
    parts: Unique<Part>,
}

#[derive(Deserialize)]
struct Part {
    file: String,
    values: Unique<Box<RawValue>>,
}

#[derive(Serialize)]
struct NewIndex<'a> {
    version: u32,
    epoch: u64,
    step: u64,
    parts: Sorted<'a, NewPart<'a>>,
}

#[derive(Serialize)]
struct NewPart<'a> {
    file: &'a str,
    values: Sorted<'a, &'a RawValue>,
}

/// Refuses an invalid name of a part.
fn check_part_name(name: &str) -> Result<(), &'static str> {
    match name {
        name if !is_name(name) => Err("a name has ASCII letters, digits, `_` and `-`"),
        name if directory::is_device(name) => Err("Windows takes this name for a device"),
        _ => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.bytes().all(fits)
}

fn file(name: &str, generation: usize) -> String {
    format!("{name}.{generation}.safetensors")
}

/// Whether a file name is one that [`file`] gives.
fn is_part(name: &str) -> bool {
    let parts = name
        .strip_suffix(".safetensors")
        .and_then(|rest| rest.split_once('.'));
    parts.is_some_and(|(name, generation)| {
        is_name(name) && !generation.is_empty() && generation.bytes().all(|b| b.is_ascii_digit())
    })
}
