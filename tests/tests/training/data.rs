//! Data sets, samplers and the loader.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod golden;
mod readers;
mod resuming;
mod transforms;
mod workers;

use module_nn::data::{
    ConcatDataset, DataError, DataLoaderConfig, Dataset, DatasetExt, Sample, TensorDataset,
};
use module_nn::prelude::*;
use module_nn::rng::default_generator;

/// The indices as samples.
fn numbers(len: i64) -> Vec<i64> {
    (0..len).collect()
}

/// A data set defined by a function of the index.
struct Of<F>(usize, F);

impl<T: Send, F: Fn(usize) -> Result<T> + Send + Sync> Dataset for Of<F> {
    type Item = T;

    fn len(&self) -> usize {
        self.0
    }

    fn get(&self, index: usize) -> Result<T> {
        (self.1)(index)
    }
}

/// The samples of each batch of an epoch.
fn values(epoch: impl IntoIterator<Item = Result<Tensor>>) -> Vec<Vec<i64>> {
    let batches = epoch.into_iter();
    batches
        .map(|batch| batch.unwrap().to_vec().unwrap())
        .collect()
}

#[test]
fn data_sets_refuse_parts_that_do_not_fit() {
    let (three, two) = (Tensor::from([1.0_f32; 3]), Tensor::from([0_i64, 1]));
    let error = TensorDataset::new((three.clone(), two)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tensor_dataset: tensor 1 has 2 rows, and tensor 0 has 3; the first dimensions must be equal"
    );
    assert!(TensorDataset::new(Tensor::from(1.0_f32)).is_err());
    assert!(TensorDataset::new(Vec::<Tensor>::new()).is_err());
    let rows = TensorDataset::new(three).unwrap();
    let error = rows.get(3).unwrap_err();
    let error = error.downcast_ref::<DataError>().unwrap();
    assert!(matches!(error, DataError::Index { index: 3, len: 3 }));
    assert!(numbers(3).subset([0, 3]).is_err());
    assert!(ConcatDataset::new(Vec::<Vec<i64>>::new()).is_err());
    let joined = numbers(2).concat(numbers(3)).unwrap();
    assert!(joined.get(5).is_err());
}

#[test]
fn samples_that_differ_are_named() {
    let (one, two) = (Tensor::from([1.0_f32]), Tensor::from([1.0_f32, 2.0]));
    let pairs = vec![(0_i64, one.clone()), (1, one.clone()), (2, two.clone())];
    let error = Sample::collate(pairs).unwrap_err();
    let DataError::Sample { sample, what, .. } = error.downcast_ref().unwrap() else {
        panic!("{error}");
    };
    assert_eq!((*sample, *what), (2, "shape"));
    let other = one.to_dtype(DType::F64).unwrap();
    let error = Sample::collate(vec![one.clone(), other]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("sample 1 of the batch has dtype"),
        "{error}"
    );
    let error = Sample::collate(vec![vec![1_i64], vec![]]).unwrap_err();
    assert!(error.to_string().contains("has length 0"), "{error}");
    assert!(<Vec<f32>>::collate(Vec::new()).is_err());

    // The loader reports the samples' indices in the data set.
    let samples = vec![one.clone(), one.clone(), one, two];
    let loader = DataLoaderConfig::new()
        .batch_size(2)
        .build(samples)
        .unwrap();
    let error = loader.iter().find_map(Result::err).unwrap();
    let DataError::Collate { batch, indices, .. } = error.downcast_ref().unwrap() else {
        panic!("{error}");
    };
    assert_eq!((*batch, indices.as_slice()), (1, &[2, 3][..]));
    let text = error.to_string();
    assert!(
        text.starts_with("batch 1 of samples [2, 3]: collate: sample 1"),
        "{text}"
    );
}

#[test]
fn arguments_that_exclude_each_other_are_refused() {
    let config = DataLoaderConfig::new;
    let refused = |config: DataLoaderConfig| config.build(numbers(4)).unwrap_err().to_string();
    let order = || module_nn::data::SequentialSampler::new(4);
    let batches = || module_nn::data::BatchSampler::new(order(), 2).unwrap();
    let texts = [
        (
            config().batch_size(0),
            "batch_sampler: batch_size = 0: must be at least 1",
        ),
        (
            config().sampler(order()).shuffle(true),
            "data_loader: shuffle = true",
        ),
        (
            config().prefetch_factor(2),
            "data_loader: prefetch_factor = 2",
        ),
        (
            config().num_workers(1).prefetch_factor(0),
            "data_loader: prefetch_factor = 0",
        ),
        (
            config().batch_sampler(batches()).batch_size(1),
            "data_loader: batch_sampler = with batch_size",
        ),
        (
            config().batch_sampler(batches()).drop_last(true),
            "data_loader: batch_sampler = with drop_last",
        ),
        (
            config().batch_sampler(batches()).sampler(order()),
            "data_loader: batch_sampler = with sampler",
        ),
    ];
    for (config, text) in texts {
        let error = refused(config);
        assert!(error.starts_with(text), "{error}");
    }
    let loader = config().batch_sampler(batches()).build(numbers(4)).unwrap();
    assert_eq!(values(&loader), [[0, 1], [2, 3]]);
}

#[test]
fn loading_leaves_the_default_generator_where_the_order_left_it() {
    let draw = |_| Tensor::rand((), DType::F32)?.item::<f32>();
    let state = |num_workers| {
        fork_rng(3, || {
            let config = DataLoaderConfig::new()
                .batch_size(4)
                .num_workers(num_workers);
            let loader = config.build(Of(10, draw)).unwrap();
            assert_eq!(loader.iter().filter(Result::is_ok).count(), 3);
            default_generator().get_state()
        })
    };
    assert!(state(0) == state(2));
}
