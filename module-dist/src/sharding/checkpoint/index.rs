//! The index that rank 0 writes, which describes the parts of all ranks.

use module_nn::Snapshot;
use module_nn::prelude::*;
use serde::{Deserialize, Serialize};

use super::files::PartFiles;
use crate::sharding::member::Member;
use crate::sharding::sharded::members;
use crate::sharding::{Sharded, ShardingError};

/// The names of the nested states.
pub(super) const MODEL: &str = "model";
pub(super) const OPTIMIZER: &str = "optimizer";
const LAYOUT: &str = "layout";

/// The key of a parameter in the files of the ranks.
pub(super) fn model_key(path: &str) -> String {
    format!("{MODEL}.{path}")
}

/// The key of a tensor of the optimizer's state in the files of the ranks.
pub(super) fn optimizer_key(key: &str) -> String {
    format!("{OPTIMIZER}.{key}")
}

/// How the checkpoint is divided.
#[derive(Serialize, Deserialize)]
pub(super) struct Index {
    pub(super) ranks: usize,
    /// Which files belong to the checkpoint.
    pub(super) generation: u64,
    parameters: Vec<Saved>,
    /// The keys of the optimizer's state whose tensors are divided.
    pub(super) divided: Vec<String>,
}

/// A parameter.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Saved {
    path: String,
    dtype: String,
    shape: Vec<usize>,
}

impl Saved {
    fn of(member: &Member) -> Self {
        let division = &member.division;
        Self {
            path: member.path.clone(),
            dtype: division.dtype.to_string(),
            shape: division.shape.to_vec(),
        }
    }
}

impl Index {
    pub(super) fn of(sharded: &Sharded<'_>, files: &PartFiles, divided: Vec<String>) -> Self {
        Self {
            ranks: files.ranks,
            generation: files.generation,
            parameters: members(&sharded.core).map(Saved::of).collect(),
            divided,
        }
    }

    pub(super) fn to_snapshot(&self, buffers: &Snapshot, optimizer: &Snapshot) -> Result<Snapshot> {
        let layout = Snapshot::default().with(LAYOUT, self)?;
        let layout = layout.with_nested(MODEL, buffers)?;
        layout.with_nested(OPTIMIZER, optimizer)
    }

    pub(super) fn of_snapshot(saved: &Snapshot) -> Result<Self> {
        saved.get(LAYOUT)
    }

    /// Refuses the checkpoint of another model.
    pub(super) fn check(&self, sharded: &Sharded<'_>) -> Result<()> {
        let rank = sharded.core.comm.rank();
        let fail = |problem: String| Err(ShardingError::Checkpoint { rank, problem }.into());
        if self.ranks == 0 {
            return fail("it was written by 0 ranks; it is damaged".to_owned());
        }
        let own: Vec<Saved> = members(&sharded.core).map(Saved::of).collect();
        let show = |it: &Saved| format!("{} {:?}", it.dtype, it.shape);
        for own in &own {
            let path = &own.path;
            match self.parameters.iter().find(|saved| saved.path == *path) {
                None => {
                    return fail(format!(
                        "it lacks the parameter `{path}`; load it into the model that it was made of"
                    ));
                }
                Some(saved) if saved != own => {
                    let (saved, own) = (show(saved), show(own));
                    return fail(format!(
                        "its parameter `{path}` is {saved}, the model's {own}"
                    ));
                }
                Some(_) => {}
            }
        }
        let is_unknown = |saved: &&Saved| !own.iter().any(|own| own.path == saved.path);
        match self.parameters.iter().find(is_unknown) {
            None => Ok(()),
            Some(saved) => fail(format!(
                "it has the parameter `{}`, which the model lacks",
                saved.path
            )),
        }
    }

    /// Refuses buffers and extra states of another model.
    pub(super) fn check_buffers(&self, sharded: &Sharded<'_>, buffers: &Snapshot) -> Result<()> {
        let own = sharded.state_without_parameters()?;
        let lacks = |some: &StateDict, other: &StateDict| {
            let mut keys = some.keys();
            keys.find(|key| !other.contains_key(key)).map(str::to_owned)
        };
        let rank = sharded.core.comm.rank();
        let fail = |problem: String| Err(ShardingError::Checkpoint { rank, problem }.into());
        if let Some(key) = lacks(&own, buffers.tensors()) {
            return fail(format!("it lacks the buffer `{key}`"));
        }
        match lacks(buffers.tensors(), &own) {
            Some(key) => fail(format!("it has the buffer `{key}`, which the model lacks")),
            None => Ok(()),
        }
    }

    /// The parameter whose optimizer state has a key.
    pub(super) fn member_of<'a>(&self, sharded: &'a Sharded<'_>, key: &str) -> Result<&'a Member> {
        sharded.member_of(key).ok_or_else(|| {
            let rank = sharded.core.comm.rank();
            let problem = format!("its optimizer state `{key}` is that of no parameter");
            ShardingError::Checkpoint { rank, problem }.into()
        })
    }
}
