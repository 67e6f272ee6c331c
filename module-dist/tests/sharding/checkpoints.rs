//! Checkpoints pass between stages and numbers of ranks with the same bits.

use std::path::PathBuf;
use std::sync::Arc;

use module_dist::sharding::{Sharded, ShardingStage};
use module_dist::{Comm, LocalComm};
use module_nn::prelude::*;

use crate::common::nets::{Language, Net, Residual};
use crate::common::sharding::{STAGES, same_bits, train};

fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("module-dist-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

type States = (StateDict, StateDict);

/// Continues from a checkpoint in another stage and with another number of ranks, and returns the states there.
fn resumed(
    comm: &Arc<dyn Comm>,
    stage: ShardingStage,
    load: impl Fn(&Sharded<'_>, &mut dyn Optimizer) -> Result<()>,
) -> Result<States> {
    let model = fork_rng(comm.rank() as u64, Residual::build)?;
    let sharded = Sharded::new(&model, comm.clone(), stage)?;
    let mut optimizer = AdamW::new(sharded.shards(), 0.5)?;
    load(&sharded, &mut optimizer)?;
    assert_eq!(optimizer.lr(), 1e-3);
    let states = sharded.optimizer_state(&optimizer)?;
    Ok((sharded.state_dict()?, states.tensors().clone()))
}

#[test]
fn checkpoints_pass_between_stages_and_numbers_of_ranks() -> Result<()> {
    for (stage, size) in [
        (ShardingStage::Parameters, 4),
        (ShardingStage::Gradients, 3),
        (ShardingStage::OptimizerState, 1),
    ] {
        let directory = directory(&format!("stages-{size}"));
        let saved = LocalComm::run(size, |comm| {
            let model = Residual::build()?;
            let sharded = Sharded::new(&model, comm.clone(), stage)?;
            let mut optimizer = AdamW::new(sharded.shards(), 1e-3)?;
            train::<Residual>(&sharded, &model, &mut optimizer, &*comm, 0..2)?;
            let checkpoint = TrainingCheckpoint::new(1, 2);
            // Twice, because the second must not depend on the files of the first.
            sharded.save(&directory, &checkpoint, &optimizer)?;
            train::<Residual>(&sharded, &model, &mut optimizer, &*comm, 2..4)?;
            sharded.save(&directory, &TrainingCheckpoint::new(1, 4), &optimizer)?;
            let whole = sharded.optimizer_state(&optimizer)?;
            Ok((sharded.state_dict()?, whole))
        })?;
        let (model, optimizer) = &saved[0];
        let files = std::fs::read_dir(&directory)
            .map_err(Error::custom)?
            .count();
        assert_eq!(
            files,
            size + 2,
            "a file of each rank, that of rank 0 and the index"
        );
        for to in STAGES {
            for ranks in [1, 2, 4] {
                let parts = LocalComm::run(ranks, |comm| {
                    resumed(&comm, to, |sharded, optimizer| {
                        assert_eq!(sharded.load(&directory, optimizer)?.step(), 4);
                        Ok(())
                    })
                })?;
                let wholes = LocalComm::run(ranks, |comm| {
                    resumed(&comm, to, |sharded, state| {
                        let _all = sharded.load_state_dict(model)?;
                        sharded.load_optimizer_state(state, optimizer)
                    })
                })?;
                for (of_model, of_optimizer) in parts.iter().chain(&wholes) {
                    same_bits("the model", of_model, model)?;
                    same_bits("the optimizer", of_optimizer, optimizer.tensors())?;
                }
            }
        }
        // And into one process that knows nothing of ranks.
        let alone = Residual::build()?;
        let _all = alone.load_state_dict(model)?;
        let mut single = AdamW::new(&alone, 0.5)?;
        single.load_state(optimizer)?;
        same_bits(
            "the optimizer",
            single.state()?.tensors(),
            optimizer.tensors(),
        )?;
        std::fs::remove_dir_all(directory).map_err(Error::custom)?;
    }
    Ok(())
}

#[test]
fn a_checkpoint_of_another_model_is_refused_and_changes_nothing() -> Result<()> {
    let directory = directory("other");
    LocalComm::run(2, |comm| {
        let model = Linear::new(2, 3)?;
        let sharded = Sharded::new(&model, comm, ShardingStage::Parameters)?;
        let optimizer = AdamW::new(sharded.shards(), 1e-3)?;
        sharded.save(&directory, &TrainingCheckpoint::new(0, 0), &optimizer)
    })?;
    LocalComm::run(2, |comm| {
        let rank = comm.rank();
        let model = Linear::new(2, 4)?;
        let sharded = Sharded::new(&model, comm, ShardingStage::Parameters)?;
        let mut optimizer = AdamW::new(sharded.shards(), 1e-3)?;
        let before = sharded.state_dict()?;
        let error = sharded.load(&directory, &mut optimizer).unwrap_err();
        let problem = "its parameter `weight` is float32 [3, 2], the model's float32 [4, 2]";
        assert_eq!(
            error.to_string(),
            format!("rank {rank}: sharded checkpoint: {problem}")
        );
        same_bits("the model", &sharded.state_dict()?, &before)
    })?;
    std::fs::remove_dir_all(directory).map_err(Error::custom)
}

#[test]
fn a_deferred_model_gets_its_values_from_a_checkpoint() -> Result<()> {
    let directory = directory("deferred");
    let saved = LocalComm::run(2, |comm| {
        let model = Language::build()?;
        let sharded = Sharded::new(&model, comm.clone(), ShardingStage::Gradients)?;
        let mut optimizer = AdamW::new(sharded.shards(), 1e-3)?;
        train::<Language>(&sharded, &model, &mut optimizer, &*comm, 0..2)?;
        sharded.save(&directory, &TrainingCheckpoint::new(0, 2), &optimizer)?;
        train::<Language>(&sharded, &model, &mut optimizer, &*comm, 2..4)?;
        sharded.state_dict()
    })?;
    for stage in STAGES {
        LocalComm::run(2, |comm| {
            let model = deferred(Language::build)?;
            let sharded = Sharded::new(&model, comm.clone(), stage)?;
            let mut optimizer = AdamW::new(sharded.shards(), 1e-3)?;
            assert!(train::<Language>(&sharded, &model, &mut optimizer, &*comm, 0..0).is_ok());
            sharded.load(&directory, &mut optimizer)?;
            train::<Language>(&sharded, &model, &mut optimizer, &*comm, 2..4)?;
            same_bits("the resumed run", &sharded.state_dict()?, &saved[0])
        })?;
    }
    std::fs::remove_dir_all(directory).map_err(Error::custom)
}
