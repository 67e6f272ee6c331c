use std::path::Path;

use module_core::{Error, Result};

use super::Logger;
use super::append::{Append, read};
use super::logger::{STEP, check_names};

/// A file with a JSON object on each line: `{"step":1,"loss":0.5}`.
///
/// Numbers read back bit for bit. JSON has only finite numbers; others are the strings `"NaN"`, `"Infinity"` and
/// `"-Infinity"`. An existing file is continued after its lines; a truncated last line is removed.
///
/// # Example
///
/// ```
/// use module_nn::log::{JSONLinesLogger, Logger};
/// use module_nn::prelude::*;
///
/// let path = std::env::temp_dir().join("doc-lines.jsonl");
/// # let _ = std::fs::remove_file(&path);
/// JSONLinesLogger::new(&path)?.log(1, &[("loss", f64::NAN)])?;
/// JSONLinesLogger::new(&path)?.log(2, &[("loss", 2.0)])?;
/// let lines = std::fs::read_to_string(path).unwrap();
/// assert_eq!(lines, "{\"step\":1,\"loss\":\"NaN\"}\n{\"step\":2,\"loss\":2.0}\n");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct JSONLinesLogger {
    file: Append,
}

impl JSONLinesLogger {
    /// Opens or creates a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or written.
    pub fn new(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let content = read(path)?;
        let whole = content.iter().rposition(|&byte| byte == b'\n');
        let len = whole.map_or(0, |last| last + 1);
        let file = Append::open(path, len as u64)?;
        Ok(Self { file })
    }
}

impl Logger for JSONLinesLogger {
    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<()> {
        check_names(values)?;
        let mut line = format!("{{\"{STEP}\":{step}");
        for (name, value) in values {
            let error =
                |error: serde_json::Error| Error::argument("log", "name", name, error.to_string());
            let name = serde_json::to_string(name).map_err(error)?;
            let value = match value {
                value if value.is_nan() => "\"NaN\"".to_owned(),
                value if *value == f64::INFINITY => "\"Infinity\"".to_owned(),
                value if *value == f64::NEG_INFINITY => "\"-Infinity\"".to_owned(),
                value => format!("{value:?}"),
            };
            line.push_str(&format!(",{name}:{value}"));
        }
        line.push_str("}\n");
        self.file.append(line.as_bytes())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.sync()
    }
}
