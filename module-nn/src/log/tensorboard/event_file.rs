//! Event files: TFRecord framing around messages.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, process};

use module_core::{Error, Result};

use super::crc::crc32c;
use super::proto::Message;
use crate::log::append::{Append, file_error};

/// One event file.
#[derive(Debug)]
pub(super) struct EventFile(Append);

/// Distinguishes the files of one process.
static FILES: AtomicUsize = AtomicUsize::new(0);

impl EventFile {
    /// A new file in a directory, which is created if necessary.
    pub(super) fn create(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory).map_err(|error| file_error(directory, error))?;
        let (seconds, host, process) = (now() as u64, host(), process::id());
        loop {
            let number = FILES.fetch_add(1, Ordering::Relaxed);
            let name = format!("events.out.tfevents.{seconds:010}.{host}.{process}.{number}");
            if let Some(file) = Append::create_new(&directory.join(name))? {
                let mut file = Self(file);
                let writer =
                    Message::new().text(1, concat!("module-nn ", env!("CARGO_PKG_VERSION")));
                let first = Message::new().double(1, now()).text(3, "brain.Event:2");
                file.write(&first.message(10, &writer))?;
                return Ok(file);
            }
        }
    }

    /// An event with the current time, whose content is the field `field`.
    pub(super) fn event(&mut self, step: u64, field: u64, content: &Message) -> Result<()> {
        if i64::try_from(step).is_err() {
            let problem = format!("must be at most {}", i64::MAX);
            return Err(Error::argument("SummaryWriter", "step", step, problem));
        }
        let event = Message::new().double(1, now()).varint(2, step);
        self.write(&event.message(field, content))
    }

    fn write(&mut self, event: &Message) -> Result<()> {
        let event = event.as_bytes();
        let len = (event.len() as u64).to_le_bytes();
        let mut record = Vec::with_capacity(event.len() + 16);
        record.extend(len);
        record.extend(masked(&len));
        record.extend(event);
        record.extend(masked(event));
        self.0.append(&record)
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.0.sync()
    }
}

/// TFRecord's masked checksum: rotated, plus a constant.
fn masked(bytes: &[u8]) -> [u8; 4] {
    let crc = crc32c(bytes).rotate_right(15);
    crc.wrapping_add(0xa282_ead8).to_le_bytes()
}

/// Seconds since 1970.
pub(super) fn now() -> f64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0.0, |passed| passed.as_secs_f64())
}

/// The host name, for file names.
fn host() -> String {
    let named = env::var("HOSTNAME").ok();
    let named = named.or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let letters = |name: String| {
        let fits = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        name.trim().chars().filter(fits).collect::<String>()
    };
    let named = named.map(letters).filter(|name| !name.is_empty());
    named.unwrap_or_else(|| "localhost".to_owned())
}
