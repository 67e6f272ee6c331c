use module_core::{Error, Result, Snapshot};
use serde::de::DeserializeOwned;

/// The configuration in a snapshot; an error if it is from another optimizer, or not from an optimizer.
pub(super) fn config_of<C: DeserializeOwned>(
    optimizer: &'static str,
    snapshot: &Snapshot,
) -> Result<C> {
    let fail =
        |value: &str, problem: String| Err(Error::argument("load_state", "state", value, problem));
    if snapshot.get::<Vec<String>>("parameters").is_err() {
        let problem = format!("it is the state of no optimizer, and this is {optimizer}");
        return fail("without `parameters`", problem);
    }
    // Checkpoints from before the name was saved have none.
    match snapshot.get::<String>("optimizer") {
        Ok(other) if other != optimizer => {
            let problem = format!(
                "it is the state of {other}, and this is {optimizer}; build the optimizer that was \
                 saved, or start this one without a state"
            );
            return fail(&other, problem);
        }
        _ => {}
    }
    snapshot.get("config").or_else(|error| {
        let problem = format!("its configuration is not one of {optimizer}: {error}");
        fail("config", problem)
    })
}
