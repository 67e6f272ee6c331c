//! Batches that threads load in advance.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use module_nn::Error;
use module_nn::data::{DataError, DataLoaderConfig};
use module_nn::prelude::*;

use super::{Of, numbers, values};

#[test]
fn data_order_is_the_same_for_every_number_of_workers() {
    // Later samples load faster than earlier ones, and each draws random numbers.
    let augmented = |index: usize| {
        sleep(Duration::from_micros(500 / (index as u64 + 1)));
        Ok((index, Tensor::rand([2], DType::F32)?))
    };
    let epochs = |num_workers| {
        let config = DataLoaderConfig::new().batch_size(3).shuffle(true).seed(5);
        let loader = config
            .num_workers(num_workers)
            .build(Of(20, augmented))
            .unwrap();
        let epoch = || {
            let batches = loader.iter().map(|batch| {
                let (index, noise) = batch.unwrap();
                (
                    index.to_vec::<i64>().unwrap(),
                    noise.to_vec::<f32>().unwrap(),
                )
            });
            batches.collect::<Vec<_>>()
        };
        [epoch(), epoch()]
    };
    let expected = epochs(0);
    assert_eq!(expected[0].len(), 7);
    assert_ne!(expected[0], expected[1]);
    let noise: Vec<&f32> = expected[0].iter().flat_map(|(_, noise)| noise).collect();
    assert!(
        noise
            .iter()
            .enumerate()
            .all(|(i, x)| !noise[..i].contains(x))
    );
    for num_workers in [1, 3, 9] {
        assert_eq!(epochs(num_workers), expected, "{num_workers} workers");
    }
}

/// The count some time after it has reached `least`, which may take long on a busy machine.
fn settled(count: &AtomicUsize, least: usize) -> usize {
    let begun = Instant::now();
    while count.load(Ordering::SeqCst) < least && begun.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(50));
    count.load(Ordering::SeqCst)
}

#[test]
fn data_workers_wait_when_they_are_far_enough_ahead() {
    for (num_workers, prefetch_factor) in [(1, 1), (2, 1), (2, 3)] {
        let loaded = Arc::new(AtomicUsize::new(0));
        let count = loaded.clone();
        let counting = move |index| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(index)
        };
        let config = DataLoaderConfig::new()
            .batch_size(2)
            .num_workers(num_workers);
        let config = config.prefetch_factor(prefetch_factor);
        let loader = config.build(Of(60, counting)).unwrap();
        let mut epoch = loader.iter();
        for given in 0..5 {
            let expected = 2 * (given + num_workers * prefetch_factor);
            let found = settled(&loaded, expected);
            assert_eq!(found, expected, "after {given} batches");
            epoch.next().unwrap().unwrap();
        }
    }
}

#[test]
fn data_errors_take_the_place_of_their_batch() {
    let broken = |index: usize| match index {
        5 => Err(Error::custom("the file is gone")),
        _ => Ok(index),
    };
    for num_workers in [0, 2] {
        let config = DataLoaderConfig::new()
            .batch_size(2)
            .num_workers(num_workers);
        let loader = config.build(Of(8, broken)).unwrap();
        let batches: Vec<_> = loader.iter().collect();
        assert_eq!(batches.len(), 4);
        for (number, batch) in batches.into_iter().enumerate() {
            let error = match batch {
                Ok(_) => {
                    assert_ne!(number, 2);
                    continue;
                }
                Err(error) => error,
            };
            assert_eq!(error.to_string(), "sample 5 (batch 2): the file is gone");
            let cause = error.downcast_ref::<DataError>().unwrap();
            assert!(matches!(
                cause,
                DataError::Load {
                    batch: 2,
                    index: 5,
                    ..
                }
            ));
        }
    }
}

#[test]
fn data_panics_of_workers_are_errors() {
    let broken = |index: usize| match index {
        3 => panic!("on purpose: {index}"),
        _ => Ok(index),
    };
    let config = || DataLoaderConfig::new().batch_size(2).num_workers(2);
    let loader = config().build(Of(8, broken)).unwrap();
    let batches: Vec<_> = loader.iter().collect();
    let failed: Vec<usize> = (0..4).filter(|&number| batches[number].is_err()).collect();
    assert_eq!(failed, [1]);
    let error = batches.into_iter().find_map(Result::err).unwrap();
    assert_eq!(
        error.to_string(),
        "sample 3 (batch 1): loading it panicked: on purpose: 3"
    );

    let collate = |_: Vec<i64>| -> Result<i64> { panic!("on purpose") };
    let loader = config().collate_fn(collate).build(numbers(2)).unwrap();
    let error = loader.iter().next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "batch 0: collating it panicked: on purpose"
    );
}

#[test]
fn data_workers_end_when_the_loop_is_left() {
    let loaded = Arc::new(AtomicUsize::new(0));
    let count = loaded.clone();
    let slow = move |index| {
        sleep(Duration::from_millis(5));
        count.fetch_add(1, Ordering::SeqCst);
        Ok(index)
    };
    let config = DataLoaderConfig::new().batch_size(50).num_workers(3);
    let loader = config.build(Of(1000, slow)).unwrap();
    for given in [0, 1] {
        let mut epoch = loader.iter();
        for _ in 0..given {
            epoch.next().unwrap().unwrap();
        }
        drop(epoch);
        // The threads have ended: nothing more is loaded.
        let now = loaded.load(Ordering::SeqCst);
        assert_eq!(settled(&loaded, now), now);
        assert!(now < 600, "{now}");
    }
}

#[test]
fn data_iterators_may_be_moved_and_outlive_the_loader() {
    let config = DataLoaderConfig::new().batch_size(2).num_workers(2);
    let loader = config.build(numbers(5)).unwrap();
    let epoch = loader.iter();
    drop(loader);
    assert_eq!(epoch.len(), 3);
    let found = std::thread::spawn(move || values(epoch)).join().unwrap();
    assert_eq!(found, [vec![0, 1], vec![2, 3], vec![4]]);
}

#[test]
fn data_is_loaded_by_the_requested_number_of_threads() {
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = names.clone();
    let noting = move |index| {
        let name = std::thread::current().name().map(str::to_owned);
        seen.lock().unwrap().push(name);
        Ok(index)
    };
    let loader = DataLoaderConfig::new()
        .num_workers(3)
        .build(Of(30, noting))
        .unwrap();
    assert_eq!(loader.iter().count(), 30);
    let mut names = names.lock().unwrap().clone();
    names.sort();
    names.dedup();
    let expected = [0, 1, 2].map(|i| Some(format!("data-loader-{i}")));
    assert_eq!(*names, expected);
}
