//! A loader that resumes where another one stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use module_nn::Generator;
use module_nn::Stateful;
use module_nn::data::{
    DataLoader, DataLoaderConfig, Dataset, DistributedSampler, RandomSampler, Sampler,
    WeightedRandomSampler,
};
use module_nn::prelude::*;
use module_nn::rng::default_generator;

use super::{Of, numbers, values};

/// The index of a sample, and a number drawn while it is loaded.
fn augmented(index: usize) -> Result<(usize, f64)> {
    Ok((index, Tensor::rand((), DType::F64)?.item::<f64>()?))
}

type Batch = (Vec<i64>, Vec<f64>);

fn rest(epoch: impl Iterator<Item = Result<(Tensor, Tensor)>>) -> Vec<Batch> {
    let batches = epoch.map(|batch| {
        let (index, noise) = batch?;
        Ok((index.to_vec()?, noise.to_vec()?))
    });
    batches.collect::<Result<_>>().unwrap()
}

/// For every position in the second of three epochs, compares the rest of a loader with that of another one that resumes
/// from its state. The default generator is saved with it, as checkpoints do.
fn check<D: Dataset<Item = (usize, f64)> + 'static>(what: &str, build: impl Fn() -> DataLoader<D>) {
    fork_rng(11, || {
        let batches = build().len();
        for given in 0..=batches {
            let mut loader = build();
            assert_eq!(loader.iter().count(), batches);
            let mut epoch = loader.iter();
            epoch
                .by_ref()
                .take(given)
                .for_each(|batch| drop(batch.unwrap()));
            // Within the loop.
            let (saved, default) = (loader.state().unwrap(), default_generator().get_state());
            let expected = [rest(epoch), rest(loader.iter()), rest(loader.iter())];

            manual_seed(99);
            let mut fresh = build();
            fresh.load_state(&saved).unwrap();
            let again = fresh.state().unwrap();
            assert_eq!(format!("{again:?}"), format!("{saved:?}"), "{what}");
            default_generator().set_state(&default).unwrap();
            let found = [rest(fresh.iter()), rest(fresh.iter()), rest(fresh.iter())];
            assert_eq!(found, expected, "{what} after {given} batches");

            // The loader itself goes back too.
            loader.load_state(&saved).unwrap();
            default_generator().set_state(&default).unwrap();
            assert_eq!(
                [rest(loader.iter()), rest(loader.iter())],
                expected[..2],
                "{what}"
            );
        }
    });
}

#[test]
fn data_loaders_resume_at_every_position() {
    let config = || DataLoaderConfig::new().batch_size(3);
    let dataset = || Of(10, augmented);
    check("shuffle", || {
        config().shuffle(true).build(dataset()).unwrap()
    });
    check("seed", || {
        config().shuffle(true).seed(4).build(dataset()).unwrap()
    });
    check("workers", || {
        let config = config().shuffle(true).seed(4).num_workers(2);
        config.build(dataset()).unwrap()
    });
    check("sequential", || {
        config().drop_last(true).build(dataset()).unwrap()
    });
    check("sampler", || {
        let sampler = RandomSampler::new(10).unwrap().replacement(true);
        let sampler = sampler.generator(Generator::new(5));
        config().sampler(sampler).build(dataset()).unwrap()
    });
    check("weights", || {
        let sampler = WeightedRandomSampler::new([1.0; 10], 9).unwrap();
        config().sampler(sampler).seed(6).build(dataset()).unwrap()
    });
    check("distributed", || {
        let sampler = DistributedSampler::new(10, 2, 1).unwrap();
        config().sampler(sampler).build(dataset()).unwrap()
    });
}

#[test]
fn data_that_was_given_out_is_not_loaded_again() {
    let loaded = Arc::new(AtomicUsize::new(0));
    let count = loaded.clone();
    let counting = move |index| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(index)
    };
    let mut loader = DataLoaderConfig::new().build(Of(10, counting)).unwrap();
    let mut epoch = loader.iter();
    epoch.nth(6).unwrap().unwrap();
    let saved = loader.state().unwrap();
    loaded.store(0, Ordering::SeqCst);
    loader.load_state(&saved).unwrap();
    assert_eq!(loader.iter().len(), 3);
    loader.load_state(&saved).unwrap();
    assert_eq!(values(&loader), [[7], [8], [9]]);
    assert_eq!(loaded.load(Ordering::SeqCst), 3);
}

#[test]
fn data_states_go_through_a_checkpoint() {
    let config = || DataLoaderConfig::new().batch_size(2).shuffle(true).seed(1);
    let loader = config().build(numbers(9)).unwrap();
    let mut epoch = loader.iter();
    epoch.next().unwrap().unwrap();
    let checkpoint = TrainingCheckpoint::new(0, 1).with("data", &loader).unwrap();
    let path = std::env::temp_dir().join(format!("data_states_{}", std::process::id()));
    checkpoint.save(&path).unwrap();
    let mut fresh = config().build(numbers(9)).unwrap();
    let checkpoint = TrainingCheckpoint::load(&path).unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    checkpoint.restore("data", &mut fresh).unwrap();
    assert_eq!(values(&fresh), values(epoch));
    assert_eq!(values(&fresh), values(&loader));
}

#[test]
fn data_states_of_other_loaders_are_refused() {
    let build = |len, size| {
        let config = DataLoaderConfig::new()
            .batch_size(size)
            .shuffle(true)
            .seed(0);
        config.build(numbers(len)).unwrap()
    };
    let loader = build(10, 2);
    loader.iter().next().unwrap().unwrap();
    let saved = loader.state().unwrap();
    for mut other in [build(11, 2), build(10, 3)] {
        let expected = other.state().unwrap();
        assert!(other.load_state(&saved).is_err());
        assert_eq!(
            format!("{expected:?}"),
            format!("{:?}", other.state().unwrap())
        );
        assert_eq!(other.iter().count(), other.len());
    }
    let mut unseeded = DataLoaderConfig::new()
        .batch_size(2)
        .build(numbers(10))
        .unwrap();
    assert!(unseeded.load_state(&saved).is_err());

    let sampler = DistributedSampler::new(4, 2, 0).unwrap();
    assert!(sampler.set_state(&[1, 2, 3]).is_err());
    // The epoch is part of the state.
    sampler.set_epoch(3);
    let other = DistributedSampler::new(4, 2, 0).unwrap();
    other.set_state(&sampler.get_state()).unwrap();
    assert_eq!(other.indices().unwrap(), sampler.indices().unwrap());
}
