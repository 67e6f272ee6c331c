//! Snapshots as bytes, to pass them between processes.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::Snapshot;
use crate::{Error, Result, StateDict};

/// The number of bytes of the length of the values.
const LENGTH: usize = 8;

impl Snapshot {
    /// The state as bytes, which [`from_bytes`](Self::from_bytes) reads: the length of its values in 8 bytes, little-endian;
    /// the values as JSON; and its tensors in the format of safetensors.
    ///
    /// # Errors
    ///
    /// Those of [`StateDict::to_bytes`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Snapshot;
    ///
    /// let state = Snapshot::default().with("step", &7)?;
    /// let again = Snapshot::from_bytes(&state.to_bytes()?)?;
    /// assert_eq!(again.get::<u64>("step")?, 7);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let values = serde_json::to_vec(&self.sorted_values()).map_err(Error::custom)?;
        let mut bytes = (values.len() as u64).to_le_bytes().to_vec();
        bytes.extend(values);
        bytes.extend(self.tensors.to_bytes()?);
        Ok(bytes)
    }

    /// The state that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    ///
    /// Bytes that are something else, or were cut off.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let read = || {
            let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
        };
        let Some((values, tensors)) = read() else {
            let problem = "the state is cut off, or is something else";
            return Err(Error::argument(
                "Snapshot::from_bytes",
                "length",
                bytes.len(),
                problem,
            ));
        };
        let values: BTreeMap<String, Box<RawValue>> =
            serde_json::from_slice(values).map_err(Error::custom)?;
        Ok(Self {
            tensors: StateDict::from_bytes(tensors.to_vec())?,
            values: values.into_iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Result, Snapshot, StateDict, Tensor};

    #[test]
    fn a_snapshot_is_the_same_after_both_ways() -> Result<()> {
        let mut tensors = StateDict::new();
        tensors.insert("a.b", Tensor::from([1.0_f32, -0.0]));
        let snapshot = Snapshot::new(tensors)
            .with("rate", &0.1_f64)?
            .with("names", &["x", "y"])?;
        let bytes = snapshot.to_bytes()?;
        let again = Snapshot::from_bytes(&bytes)?;
        assert_eq!(again.get::<f64>("rate")?, 0.1);
        assert_eq!(again.get::<Vec<String>>("names")?, ["x", "y"]);
        let tensor = again.tensors().get("a.b").map(Tensor::to_vec::<f32>);
        assert_eq!(tensor.transpose()?, Some(vec![1.0, -0.0]));
        assert_eq!(again.to_bytes()?, bytes);
        for length in [0, 2, 8, 20, bytes.len() - 1] {
            assert!(Snapshot::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
        Ok(())
    }
}
