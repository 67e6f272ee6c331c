//! Limits and sizes of the service, by the names of the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use module_nn::{Error, Result};

use crate::batcher::BatchOptions;

/// What the command line may say; the fields have its names.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address; with port 0 the system chooses one.
    pub listen: String,
    /// The directory of the model; without one that which there is.
    pub model: Option<PathBuf>,
    /// `max-batch`, `max-wait-ms`, `max-queue` and `workers`.
    pub batch: BatchOptions,
    /// The most texts of a request.
    pub max_texts: usize,
    /// The most bytes of a text, so that no time is spent on the tokens of one that is too long anyway.
    pub max_text_bytes: usize,
    /// The most bytes of a body.
    pub max_body_bytes: usize,
    /// The most connections; others wait to be accepted.
    pub max_connections: usize,
    /// How long a request may take, from its head to its answer.
    pub timeout: Duration,
    /// How long a head may take to arrive.
    pub header_timeout: Duration,
    /// How long a stop waits for requests that were accepted.
    pub drain_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".to_owned(),
            model: None,
            batch: BatchOptions {
                max_batch: 32,
                max_wait: Duration::from_millis(2),
                max_queue: 512,
                workers: 1,
            },
            max_texts: 32,
            max_text_bytes: 8 * 1024,
            max_body_bytes: 1024 * 1024,
            max_connections: 1024,
            timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// Reads pairs of a name and a value: `--max-batch 64 --listen 0.0.0.0:80`.
    ///
    /// # Errors
    ///
    /// An unknown name, an invalid value, sizes that do not go together.
    pub fn from_args(args: impl IntoIterator<Item = String>) -> Result<Self> {
        let (mut options, mut args) = (Self::default(), args.into_iter());
        while let Some(name) = args.next() {
            let Some(value) = args.next() else {
                return Err(Error::custom(format!("{name}: there is no value")));
            };
            let milliseconds = || Ok::<_, Error>(Duration::from_millis(parse(&name, &value)?));
            match name.as_str() {
                "--listen" => options.listen = value,
                "--model" => options.model = Some(value.into()),
                "--workers" => options.batch.workers = parse(&name, &value)?,
                "--max-batch" => options.batch.max_batch = parse(&name, &value)?,
                "--max-wait-ms" => options.batch.max_wait = milliseconds()?,
                "--max-queue" => options.batch.max_queue = parse(&name, &value)?,
                "--max-texts" => options.max_texts = parse(&name, &value)?,
                "--max-text-bytes" => options.max_text_bytes = parse(&name, &value)?,
                "--max-body-bytes" => options.max_body_bytes = parse(&name, &value)?,
                "--max-connections" => options.max_connections = parse(&name, &value)?,
                "--timeout-ms" => options.timeout = milliseconds()?,
                "--header-timeout-ms" => options.header_timeout = milliseconds()?,
                "--drain-timeout-ms" => options.drain_timeout = milliseconds()?,
                _ => {
                    return Err(Error::custom(format!(
                        "{name}: there is no such option; the documentation of examples/serve.rs has them"
                    )));
                }
            }
        }
        options.check()?;
        Ok(options)
    }

    /// Refuses sizes of 0, and those with which a request could never be embedded.
    ///
    /// # Errors
    ///
    /// The first of them.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("--workers", self.batch.workers),
            ("--max-texts", self.max_texts),
            ("--max-connections", self.max_connections),
        ] {
            if value == 0 {
                return Err(Error::custom(format!("{name} must be at least 1")));
            }
        }
        let BatchOptions {
            max_batch,
            max_queue,
            ..
        } = self.batch;
        if self.max_texts <= max_batch && max_batch <= max_queue {
            return Ok(());
        }
        Err(Error::custom(format!(
            "--max-texts {} must be at most --max-batch {max_batch}, and that at most --max-queue {max_queue}",
            self.max_texts
        )))
    }
}

fn parse<T: FromStr>(name: &str, value: &str) -> Result<T> {
    let problem = |_| Error::custom(format!("{name} {value}: not a whole number in range"));
    value.parse().map_err(problem)
}
