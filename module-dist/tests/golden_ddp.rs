//! PyTorch's DistributedDataParallel, recorded by `golden/ddp.py`, against ours on the same batches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use module_dist::{DataParallel, LocalComm};
use module_examples::Digits;
use module_nn::prelude::*;

const RANKS: usize = 2;
const STEPS: usize = 40;
const BATCH: usize = 16;

#[derive(Module)]
struct Net {
    #[module(flatten)]
    layers: Sequential,
}

fn recorded() -> Result<StateDict> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/ddp.safetensors");
    StateDict::load(path)
}

/// The recorded tensors whose keys start with `prefix`, without it.
fn part(all: &StateDict, prefix: &str) -> StateDict {
    let part = all
        .iter()
        .filter_map(|(key, tensor)| Some((key.strip_prefix(prefix)?.to_owned(), tensor.clone())));
    part.collect()
}

fn largest_difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    found
        .iter()
        .zip(expected)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

fn follows(name: &str, build: fn() -> Result<Sequential>) -> Result<()> {
    let all = recorded()?;
    let digits = Digits::read()?;
    let results = LocalComm::run(RANKS, |comm| {
        let model = Net { layers: build()? };
        let _all = model.load_state_dict(&part(&all, &format!("{name}.before.")))?;
        let parallel = DataParallel::new(&model, comm.clone())?;
        let mut optimizer = SGDConfig::new(0.2).momentum(0.9).build(&model)?;
        let mut losses = Vec::new();
        for step in 0..STEPS {
            let first = (step * RANKS + comm.rank()) * BATCH;
            let at = (0..BATCH).map(|i| ((first + i) % digits.len()) as i64);
            let batch = digits.select(&Tensor::from(at.collect::<Vec<_>>()))?;
            model.zero_grad();
            let logits = model.layers.call(batch.images.flatten(1, -1)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &batch.labels)?;
            parallel.backward(&loss)?;
            optimizer.step(&model)?;
            losses.push(loss.item::<f32>()?);
        }
        Ok((losses, model.state_dict()?))
    })?;
    let Some(expected) = all.get(&format!("{name}.losses")) else {
        panic!("no losses are recorded for {name}");
    };
    for (rank, (losses, _)) in results.iter().enumerate() {
        let expected = expected.select(1, rank as isize)?.to_vec::<f32>()?;
        let apart = largest_difference(losses, &expected);
        assert!(
            apart <= 1e-5,
            "{name}, rank {rank}: losses are {apart} apart"
        );
    }
    // What the runs end with, the statistics of process 0 included.
    let expected = part(&all, &format!("{name}.after."));
    assert!(!expected.is_empty());
    for (key, expected) in &expected {
        let Some(found) = results[0].1.get(key) else {
            panic!("{name}: no `{key}`");
        };
        let found = found.to_dtype(DType::F32)?.to_vec::<f32>()?;
        let apart = largest_difference(&found, &expected.to_dtype(DType::F32)?.to_vec::<f32>()?);
        assert!(apart <= 1e-4, "{name}: `{key}` is {apart} apart");
    }
    Ok(())
}

#[test]
fn a_perceptron_follows_ddp() -> Result<()> {
    follows("plain", || {
        let layers = Sequential::new().push(Linear::new(64, 24)?);
        Ok(layers.push(Tanh::new()).push(Linear::new(24, 10)?))
    })
}

#[test]
fn statistics_of_rank_0_follow_ddp() -> Result<()> {
    follows("normed", || {
        let layers = Sequential::new()
            .push(Linear::new(64, 16)?)
            .push(BatchNorm1d::new(16)?);
        Ok(layers.push(ReLU::new()).push(Linear::new(16, 10)?))
    })
}
