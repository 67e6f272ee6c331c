use module_nn::{Error, Module, ModuleExt, Result, Tensor};
use serde::{Deserialize, Serialize};

use crate::comm::gather_bytes;
use crate::{Comm, FailureCause, RankFailure};

/// A tensor of a model, as far as all ranks must agree on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Described {
    kind: String,
    path: String,
    dtype: String,
    shape: Vec<usize>,
}

fn describe(model: &dyn Module) -> Vec<Described> {
    let of = |kind: &str, path: String, tensor: &Tensor| Described {
        kind: kind.to_owned(),
        path,
        dtype: tensor.dtype().to_string(),
        shape: tensor.shape().to_vec(),
    };
    let parameters = model.named_parameters();
    let parameters = parameters.map(|(path, it)| of("parameter", path, &it.detach()));
    let buffers = model.named_buffers();
    let buffers = buffers.map(|(path, it)| of("buffer", path, &it.tensor()));
    parameters.chain(buffers).collect()
}

/// Checks that all ranks have the model of rank 0; a failure names `place`.
pub(crate) fn check_same(model: &dyn Module, comm: &dyn Comm, place: &str) -> Result<()> {
    let mine = serde_json::to_vec(&describe(model)).map_err(Error::custom)?;
    let all = gather_bytes(comm, &mine)?;
    let Some((first, others)) = all.split_first() else {
        return Ok(());
    };
    for (rank, theirs) in (1..).zip(others) {
        if theirs == first {
            continue;
        }
        let read = |bytes: &[u8]| serde_json::from_slice::<Vec<_>>(bytes).map_err(Error::custom);
        let cause = FailureCause::DifferentModel {
            difference: difference(&read(first)?, &read(theirs)?),
        };
        let failure = RankFailure::new(rank, place, cause);
        comm.fail(failure.clone());
        return Err(failure.into());
    }
    Ok(())
}

/// The first difference of a model from rank 0's.
fn difference(first: &[Described], theirs: &[Described]) -> String {
    for expected in first {
        let Some(found) = theirs.iter().find(|found| found.path == expected.path) else {
            return format!("it lacks the {} `{}`", expected.kind, expected.path);
        };
        if found != expected {
            let show = |it: &Described| format!("a {} of {} {:?}", it.kind, it.dtype, it.shape);
            let (path, found, expected) = (&expected.path, show(found), show(expected));
            return format!("`{path}` is {found}, on rank 0 {expected}");
        }
    }
    let unknown = |found: &&Described| first.iter().all(|it| it.path != found.path);
    match theirs.iter().find(unknown) {
        Some(found) => format!(
            "it has the {} `{}`, which rank 0 lacks",
            found.kind, found.path
        ),
        None => "its parameters and buffers have another order".to_owned(),
    }
}

/// Gives every rank the parameters and buffers of rank `root`.
pub(crate) fn broadcast(model: &dyn Module, comm: &dyn Comm, root: usize) -> Result<()> {
    let parameters: Vec<_> = model.parameters().collect();
    let start = |tensor: Tensor| comm.start_broadcast(&tensor, root);
    let works = parameters.iter().map(|parameter| start(parameter.detach()));
    for (parameter, work) in parameters.iter().zip(works.collect::<Result<Vec<_>>>()?) {
        parameter.set(work.wait()?)?;
    }
    let buffers: Vec<_> = model.buffers().collect();
    let works = buffers.iter().map(|buffer| start(buffer.tensor()));
    for (buffer, work) in buffers.iter().zip(works.collect::<Result<Vec<_>>>()?) {
        buffer.set(work.wait()?)?;
    }
    Ok(())
}
