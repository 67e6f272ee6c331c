use std::fmt;

use serde_json::Value;

use super::Snapshot;
use module_tensor::error::quote;

/// The hyperparameters that a restore has changed.
///
/// # Example
///
/// ```
/// use module_core::{Result, Snapshot, Stateful, TrainingCheckpoint};
///
/// struct Warmup {
///     length: u64,
///     step: u64,
/// }
///
/// impl Stateful for Warmup {
///     fn state(&self) -> Result<Snapshot> {
///         self.hyperparameters()?.with("step", &self.step)
///     }
///
///     fn load_state(&mut self, state: &Snapshot) -> Result<()> {
///         (self.length, self.step) = (state.get("length")?, state.get("step")?);
///         Ok(())
///     }
///
///     fn hyperparameters(&self) -> Result<Snapshot> {
///         Snapshot::default().with("length", &self.length)
///     }
/// }
///
/// let checkpoint = TrainingCheckpoint::new(0, 7).with("warmup", &Warmup { length: 100, step: 7 })?;
/// let mut longer = Warmup { length: 500, step: 0 };
/// let report = checkpoint.restore("warmup", &mut longer)?;
/// assert_eq!((longer.length, longer.step), (100, 7));
/// assert_eq!(report.to_string(), "restored; length was 500 and is 100");
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// The hyperparameters that changed.
    pub changed: Vec<ChangedSetting>,
}

/// A hyperparameter that a restore has changed.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::{ChangedSetting, RestoreReport};
/// use module_core::Snapshot;
///
/// let before = Snapshot::default().with("lr", &0.1)?.with("momentum", &0.9)?;
/// let restored = Snapshot::default().with("lr", &0.01)?.with("momentum", &0.9)?;
/// let report = RestoreReport::new(&before, &restored);
/// let lr = ChangedSetting { name: "lr".into(), before: "0.1".into(), after: "0.01".into() };
/// assert_eq!(report.changed, [lr]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSetting {
    /// Its name.
    pub name: String,
    /// The old value, as JSON.
    pub before: String,
    /// The new value, as JSON.
    pub after: String,
}

impl RestoreReport {
    /// Compares the [configuration](crate::Stateful::hyperparameters) before a restore with the restored state.
    pub fn new(before: &Snapshot, state: &Snapshot) -> Self {
        let mut changed = Vec::new();
        for (name, before) in &before.values {
            let after = state.values.get(name);
            let (before, after) = (
                parse(before.get()),
                after.map_or(Value::Null, |after| parse(after.get())),
            );
            match (before, after) {
                (Value::Object(before), Value::Object(after)) => {
                    for (name, before) in &before {
                        compare(
                            &mut changed,
                            name,
                            before,
                            after.get(name).unwrap_or(&Value::Null),
                        );
                    }
                }
                (before, after) => compare(&mut changed, name, &before, &after),
            }
        }
        Self { changed }
    }
}

fn parse(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_default()
}

fn compare(changed: &mut Vec<ChangedSetting>, name: &str, before: &Value, after: &Value) {
    if before != after {
        changed.push(ChangedSetting {
            name: name.to_owned(),
            before: before.to_string(),
            after: after.to_string(),
        });
    }
}

impl fmt::Display for RestoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("restored")?;
        for (i, setting) in self.changed.iter().enumerate() {
            let ChangedSetting {
                name,
                before,
                after,
            } = setting;
            let (name, before, after) = (quote(name), quote(before), quote(after));
            let separator = if i == 0 { "; " } else { ", " };
            write!(f, "{separator}{name} was {before} and is {after}")?;
        }
        Ok(())
    }
}
