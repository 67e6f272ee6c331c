use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use module_core::{Error, Result, Tensor};

use super::HParam;
use super::event_file::EventFile;
use super::histogram::histogram;
use super::hparams;
use super::png;
use super::proto::Message;
use crate::log::Logger;
use crate::log::logger::check_names;

/// Writes event files for TensorBoard: PyTorch's `torch.utils.tensorboard.SummaryWriter`.
///
/// `tensorboard --logdir runs` shows everything written below `runs`. Each writer makes its own file,
/// `events.out.tfevents.<seconds>.<host>.<process>.<number>`, so that several can write into one directory. Records have
/// lengths and checksums: TensorBoard reads a truncated file up to the truncation.
///
/// # Example
///
/// ```
/// use module_nn::log::SummaryWriter;
/// use module_nn::prelude::*;
///
/// let runs = std::env::temp_dir().join("doc-runs");
/// let mut writer = SummaryWriter::new(runs.join("first"))?;
/// for step in 0..3 {
///     writer.add_scalar("train/loss", 1.0 / (step + 1) as f64, step)?;
/// }
/// writer.add_histogram("weights", &Tensor::randn([100], DType::F32)?, 2)?;
/// writer.add_text("note", "a *small* run", 2)?;
/// writer.flush()?;
/// // Losses of several runs in one chart, and an image, after a crash at step 2.
/// let mut writer = SummaryWriter::resume(writer.log_dir(), 2)?;
/// writer.add_scalars("loss", &[("train", 0.3), ("validation", 0.4)], 2)?;
/// writer.add_image("input", &Tensor::rand([3, 8, 8], DType::F32)?, 2)?;
/// assert!(writer.log_dir().join("loss_train").is_dir());
/// # std::fs::remove_dir_all(runs).unwrap();
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct SummaryWriter {
    log_dir: PathBuf,
    file: EventFile,
    /// The writers of [`add_scalars`](Self::add_scalars), by the names of their directories.
    others: IndexMap<String, EventFile>,
}

/// The numbers of the fields of an event.
const SUMMARY: u64 = 5;
const SESSION_LOG: u64 = 7;

fn scalar(tag: &str, value: f64) -> Message {
    Message::new().text(1, tag).float(2, value as f32)
}

/// A summary of one value, whose content is the field `field`.
fn summary(tag: &str, field: u64, content: &Message) -> Message {
    let value = Message::new().text(1, tag).message(field, content);
    Message::new().message(1, &value)
}

impl SummaryWriter {
    /// Begins a file in the directory of a run, which is created if necessary.
    ///
    /// # Errors
    ///
    /// A directory or file that cannot be created.
    pub fn new(log_dir: impl AsRef<Path>) -> Result<Self> {
        let log_dir = log_dir.as_ref().to_owned();
        let file = EventFile::create(&log_dir)?;
        let others = IndexMap::new();
        Ok(Self {
            log_dir,
            file,
            others,
        })
    }

    /// Resumes a run at a step, for example from a checkpoint: TensorBoard no longer shows what earlier writers wrote for
    /// `purge_step` and later steps.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn resume(log_dir: impl AsRef<Path>, purge_step: u64) -> Result<Self> {
        const START: u64 = 1;
        let mut writer = Self::new(log_dir)?;
        let log = Message::new().varint(1, START);
        writer.file.event(purge_step, SESSION_LOG, &log)?;
        Ok(writer)
    }

    /// The directory of the run.
    pub fn log_dir(&self) -> &Path {
        &self.log_dir
    }

    /// Writes a number in single precision. Names with a slash are grouped by the part before it.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn add_scalar(&mut self, tag: &str, value: f64, step: u64) -> Result<()> {
        let summary = Message::new().message(1, &scalar(tag, value));
        self.file.event(step, SUMMARY, &summary)
    }

    /// Writes several numbers in one chart. Each is its own run, `<log_dir>/<main_tag>_<name>`.
    ///
    /// # Errors
    ///
    /// A name that occurs twice; a directory or file that cannot be created or written.
    pub fn add_scalars(&mut self, main_tag: &str, values: &[(&str, f64)], step: u64) -> Result<()> {
        check_names(values)?;
        for (name, value) in values {
            let run = format!("{}_{name}", main_tag.replace('/', "_"));
            let file = match self.others.entry(run) {
                indexmap::map::Entry::Occupied(entry) => entry.into_mut(),
                indexmap::map::Entry::Vacant(entry) => {
                    let file = EventFile::create(&self.log_dir.join(entry.key()))?;
                    entry.insert(file)
                }
            };
            let summary = Message::new().message(1, &scalar(main_tag, *value));
            file.event(step, SUMMARY, &summary)?;
        }
        Ok(())
    }

    /// Writes a histogram of the elements of a tensor, in the bins of PyTorch's default: 0, and powers of 1.1 from 10⁻¹² to
    /// 10²⁰ in both directions.
    ///
    /// # Errors
    ///
    /// Elements that are not finite, none within the outer edges, complex numbers; a file that cannot be written.
    pub fn add_histogram(&mut self, tag: &str, values: &Tensor, step: u64) -> Result<()> {
        const HISTO: u64 = 5;
        let summary = summary(tag, HISTO, &histogram(tag, values)?);
        self.file.event(step, SUMMARY, &summary)
    }

    /// Writes an image `[C, H, W]` of 1 (gray), 3 (RGB) or 4 (RGBA) channels: U8, or floating-point from 0 to 1, clamped.
    ///
    /// # Errors
    ///
    /// Other shapes and dtypes; a file that cannot be written.
    pub fn add_image(&mut self, tag: &str, image: &Tensor, step: u64) -> Result<()> {
        const IMAGE: u64 = 4;
        let summary = summary(tag, IMAGE, &png::image(image)?);
        self.file.event(step, SUMMARY, &summary)
    }

    /// Writes text, which is shown as Markdown.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn add_text(&mut self, tag: &str, text: &str, step: u64) -> Result<()> {
        const DT_STRING: u64 = 7;
        let plugin = Message::new().text(1, "text");
        let metadata = Message::new().message(1, &plugin);
        let shape = Message::new().message(2, &Message::new().varint(1, 1));
        let tensor = Message::new()
            .varint(1, DT_STRING)
            .message(2, &shape)
            .text(8, text);
        let value = Message::new().text(1, &format!("{tag}/text_summary"));
        let value = value.message(8, &tensor).message(9, &metadata);
        self.file
            .event(step, SUMMARY, &Message::new().message(1, &value))
    }

    /// Writes the hyperparameters of a run and its final metrics, for TensorBoard's tab HPARAMS, which compares runs. They
    /// form their own run, `<log_dir>/<run_name>`; the name `.` stands for this one.
    ///
    /// PyTorch writes a boolean as a number; here it stays a boolean.
    ///
    /// # Errors
    ///
    /// A metric that occurs twice; a directory or file that cannot be created or written.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::log::SummaryWriter;
    /// use module_nn::prelude::*;
    ///
    /// let runs = std::env::temp_dir().join("doc-hparams");
    /// let mut writer = SummaryWriter::new(&runs)?;
    /// let hparams = [("lr", 0.1.into()), ("optimizer", "SGD".into()), ("nesterov", true.into())];
    /// writer.add_hparams(&hparams, &[("hparam/accuracy", 0.98)], "lr_0.1")?;
    /// # std::fs::remove_dir_all(runs).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_hparams(
        &mut self,
        hparams: &[(&str, HParam)],
        metrics: &[(&str, f64)],
        run_name: &str,
    ) -> Result<()> {
        check_names(metrics)?;
        let mut seen = std::collections::HashSet::new();
        if let Some((name, _)) = hparams.iter().find(|(name, _)| !seen.insert(name)) {
            let problem = "occurs twice; give each hyperparameter once";
            return Err(Error::argument("add_hparams", "hparams", name, problem));
        }
        let mut file = EventFile::create(&self.log_dir.join(run_name))?;
        for summary in hparams::summaries(hparams, metrics) {
            file.event(0, SUMMARY, &summary)?;
        }
        for (tag, value) in metrics {
            let summary = Message::new().message(1, &scalar(tag, *value));
            file.event(0, SUMMARY, &summary)?;
        }
        Ok(())
    }

    /// Syncs everything written to disk. Not needed if a program ends or is killed: nothing is lost then.
    ///
    /// # Errors
    ///
    /// A disk error.
    pub fn flush(&mut self) -> Result<()> {
        self.file.sync()?;
        self.others.values().try_for_each(EventFile::sync)
    }
}

/// Each value is a scalar under its name; those of one call form one record.
impl Logger for SummaryWriter {
    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<()> {
        check_names(values)?;
        let add =
            |summary: Message, (tag, value): &(&str, f64)| summary.message(1, &scalar(tag, *value));
        let summary = values.iter().fold(Message::new(), add);
        self.file.event(step, SUMMARY, &summary)
    }

    fn flush(&mut self) -> Result<()> {
        SummaryWriter::flush(self)
    }
}
