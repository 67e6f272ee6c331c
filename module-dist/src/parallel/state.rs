//! State dicts of models whose layers are divided among ranks.

use std::any::Any;
use std::collections::HashMap;

use module_nn::prelude::*;

use super::collectives::own_part;
use super::{ColumnParallelLinear, RowParallelLinear, VocabParallelEmbedding};
use crate::Comm;

/// The state dict of the model in one process: the parts of divided layers are joined, under the same keys, and everything
/// else is this rank's. Every rank gets it; all ranks call it.
///
/// It loads into the same model with whole layers, and by [`load_state_dict`] into one that is divided among any number of
/// ranks.
///
/// # Errors
///
/// Those of [`ModuleExt::state_dict`] and of [`Comm::all_gather`].
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::{self, ColumnParallelLinear};
/// use module_nn::prelude::*;
///
/// manual_seed(0);
/// let whole = Linear::new(3, 4)?;
/// let fresh = Linear::new(3, 4)?;
/// LocalComm::run(2, |comm| {
///     let part = ColumnParallelLinear::from_linear(&whole, comm.clone())?;
///     let joined = parallel::state_dict(&part, &*comm)?;
///     if comm.rank() == 0 {
///         fresh.load_state_dict(&joined)?;
///     }
///     Ok(())
/// })?;
/// assert_eq!(fresh.weight().detach().to_vec::<f32>()?, whole.weight().detach().to_vec::<f32>()?);
/// # Ok::<(), Error>(())
/// ```
pub fn state_dict(model: &dyn Module, comm: &dyn Comm) -> Result<StateDict> {
    let divided = divided_dims(model);
    let mut joined = StateDict::new();
    for (key, part) in &model.state_dict()? {
        let whole = match divided.get(key) {
            Some(&dim) => Tensor::cat(&comm.all_gather(part)?, dim)?,
            None => part.clone(),
        };
        joined.insert(key, whole);
    }
    Ok(joined)
}

/// Loads this rank's part of the state dict of the model in one process, strictly.
///
/// # Errors
///
/// Those of [`ModuleExt::load_state_dict`]; a size that the number of ranks does not divide.
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::{self, RowParallelLinear};
/// use module_nn::prelude::*;
///
/// manual_seed(0);
/// let saved = Linear::new(4, 2)?.state_dict()?;
/// LocalComm::run(2, |comm| {
///     let layer = RowParallelLinear::new(&LinearConfig::new(4, 2), comm.clone())?;
///     parallel::load_state_dict(&layer, &saved, &*comm)?;
///     let joined = parallel::state_dict(&layer, &*comm)?;
///     assert!(joined.diff(&saved)?.is_empty());
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn load_state_dict(
    model: &dyn Module,
    state: &StateDict,
    comm: &dyn Comm,
) -> Result<LoadReport> {
    let divided = divided_dims(model);
    let mut own = StateDict::new();
    for (key, whole) in state {
        let part = match divided.get(key) {
            Some(&dim) => own_part("load_state_dict", "size", whole, dim, comm)?,
            None => whole.clone(),
        };
        own.insert(key, part);
    }
    model.load_state_dict(&own)
}

/// Along which dimension each divided tensor is joined, by its keys.
pub(super) fn divided_dims(model: &dyn Module) -> HashMap<String, isize> {
    let every_path = Walk::new().remove_duplicate(false);
    let mut dims = HashMap::new();
    for (path, module) in model.named_modules_with(every_path) {
        let any: &dyn Any = module;
        let own: &[(&str, isize)] = if any.is::<ColumnParallelLinear>() {
            &[("weight", 0), ("bias", 0)]
        } else if any.is::<RowParallelLinear>() {
            &[("weight", 1)]
        } else if any.is::<VocabParallelEmbedding>() {
            &[("weight", 0)]
        } else {
            continue;
        };
        for (name, dim) in own {
            let key = match path.as_str() {
                "" => (*name).to_owned(),
                path => format!("{path}.{name}"),
            };
            dims.insert(key, *dim);
        }
    }
    dims
}
