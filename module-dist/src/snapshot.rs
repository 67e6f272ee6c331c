//! Snapshots as bytes.

use std::collections::BTreeMap;

use module_nn::{Error, Result, Snapshot, StateDict};
use serde_json::value::RawValue;

type Values = BTreeMap<String, Box<RawValue>>;

/// The name under which the values of a snapshot are read.
const ALL: &str = "all";

pub(crate) fn to_bytes(snapshot: &Snapshot) -> Result<Vec<u8>> {
    // A nested snapshot's values are one value, which can be read without knowing their names.
    let values: Values = Snapshot::default().with_nested(ALL, snapshot)?.get(ALL)?;
    let values = serde_json::to_vec(&values).map_err(Error::custom)?;
    let mut bytes = (values.len() as u64).to_le_bytes().to_vec();
    bytes.extend(values);
    bytes.extend(snapshot.tensors().to_bytes()?);
    Ok(bytes)
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Snapshot> {
    let read = || {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
    };
    let Some((values, tensors)) = read() else {
        return Err(Error::custom(format!(
            "a state of {} bytes is incomplete; run the same version of the program on all ranks",
            bytes.len()
        )));
    };
    let values: Values = serde_json::from_slice(values).map_err(Error::custom)?;
    let mut snapshot = Snapshot::new(StateDict::from_bytes(tensors.to_vec())?);
    for (name, value) in &values {
        snapshot = snapshot.with(name, value)?;
    }
    Ok(snapshot)
}

#[cfg(test)]
mod tests {
    use module_nn::Tensor;

    use super::*;

    #[test]
    fn a_snapshot_is_the_same_after_both_ways() -> Result<()> {
        let mut tensors = StateDict::new();
        tensors.insert("a.b", Tensor::from([1.0_f32, -0.0]));
        let snapshot = Snapshot::new(tensors)
            .with("rate", &0.1_f64)?
            .with("names", &["x", "y"])?;
        let again = from_bytes(&to_bytes(&snapshot)?)?;
        assert_eq!(again.get::<f64>("rate")?, 0.1);
        assert_eq!(again.get::<Vec<String>>("names")?, ["x", "y"]);
        let tensor = again.tensors().get("a.b").unwrap();
        assert_eq!(tensor.to_vec::<f32>()?, [1.0, -0.0]);
        assert!(from_bytes(&[1, 2]).is_err());
        Ok(())
    }
}
