//! What `DataParallel` promises besides equality.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "data_parallel/compression.rs"]
mod compression;
#[path = "data_parallel/failures.rs"]
mod failures;

use common::equality::compare;
use common::nets::{Net, Perceptron};
use module_dist::{
    AllReduceGradients, Bf16Compression, Comm, DataParallel, DataParallelConfig, F16Compression,
    FailureCause, GradientHook, LocalComm, RankFailure, TopKCompression, check_parameters,
};
use module_nn::prelude::*;

/// The failure that a run ended with, which is the same on all ranks.
fn failure<R>(
    size: usize,
    run: impl Fn(std::sync::Arc<dyn Comm>) -> Result<R> + Sync,
) -> RankFailure
where
    R: Send,
{
    let results = LocalComm::run_with(size, LocalComm::DEADLINE, run).unwrap();
    let failures = results.into_iter().map(|result| match result {
        Ok(_) => panic!("a rank ended without an error"),
        Err(error) => match error.downcast_ref::<RankFailure>() {
            Some(failure) => failure.clone(),
            None => panic!("not the failure of a rank: {error}"),
        },
    });
    let failures: Vec<_> = failures.collect();
    assert!(failures.iter().all(|it| *it == failures[0]), "{failures:?}");
    failures[0].clone()
}

/// Two layers of which a loss may leave one out.
#[derive(Module)]
struct Two {
    first: Linear,
    second: Linear,
}

impl Two {
    fn new() -> Result<Self> {
        fork_rng(0, || {
            Ok(Self {
                first: Linear::new(2, 2)?,
                second: Linear::new(2, 2)?,
            })
        })
    }

    fn loss(&self, uses_second: bool) -> Result<Tensor> {
        let x = self.first.call(Tensor::from([[1.0_f32, 2.0]]))?;
        match uses_second {
            true => self.second.call(x)?.sum(..),
            false => x.sum(..),
        }
    }
}

#[test]
fn another_model_is_named_with_its_rank() {
    let build = |inputs: usize, bias: bool| LinearConfig::new(inputs, 2).bias(bias).build();
    let difference = |different: fn(usize) -> (usize, bool)| {
        let failure = failure(3, |comm| {
            let (inputs, bias) = different(comm.rank());
            DataParallel::new(&build(inputs, bias)?, comm)
        });
        failure.to_string()
    };
    assert_eq!(
        difference(|rank| (if rank == 2 { 5 } else { 3 }, true)),
        "rank 2 in DataParallel: its model is not that of rank 0: `weight` is a parameter of float32 [2, 5], on rank 0 a \
         parameter of float32 [2, 3]; build the same model on all ranks"
    );
    assert!(difference(|rank| (3, rank != 1)).contains(
        "rank 1 in DataParallel: its model is not that of rank 0: it lacks the parameter `bias`"
    ));
    assert!(
        difference(|rank| (3, rank == 1))
            .contains("it has the parameter `bias`, which rank 0 lacks")
    );
}

#[test]
fn every_rank_begins_with_the_values_of_rank_0() -> Result<()> {
    let states = LocalComm::run(3, |comm| {
        let model = Sequential::new()
            .push(Linear::new(2, 2)?)
            .push(BatchNorm1d::new(2)?);
        for buffer in model.buffers() {
            buffer.set(buffer.tensor().add(comm.rank() as i64)?)?;
        }
        let keys: Vec<_> = model.state_dict()?.keys().map(str::to_owned).collect();
        let _parallel = DataParallel::new(&model, comm)?;
        let state = model.state_dict()?;
        assert_eq!(state.keys().collect::<Vec<_>>(), keys);
        state.to_bytes()
    })?;
    assert!(states.iter().all(|state| *state == states[0]));
    Ok(())
}

#[test]
fn unused_parameters_are_named() {
    let expected = "rank 1 in step 0, backward: the loss does not depend on `second.weight`, `second.bias`, so that no \
                    gradient of them can be averaged; use them, freeze them, or allow it with \
                    `DataParallelConfig::find_unused_parameters`";
    let found = failure(2, |comm| {
        let model = Two::new()?;
        let parallel = DataParallel::new(&model, comm.clone())?;
        parallel.backward(&model.loss(comm.rank() == 0)?)
    });
    assert_eq!(found.to_string(), expected);
    // Without `DataParallel::backward` it is noticed in the next pass, in which the gradients of this one are gone.
    let run = |comm: std::sync::Arc<dyn Comm>| {
        let model = Two::new()?;
        let _parallel = DataParallel::new(&model, comm.clone())?;
        model.loss(comm.rank() == 0)?.backward()?;
        model.zero_grad();
        model.loss(true)?.backward()
    };
    for result in LocalComm::run_with(2, LocalComm::DEADLINE, run).unwrap() {
        let text = result.unwrap_err().to_string();
        assert!(
            text.contains("rank 1 in step 0, backward")
                && text.contains("call `DataParallel::backward`"),
            "{text}"
        );
    }
}

#[test]
fn unused_parameters_can_be_allowed() -> Result<()> {
    let grads = LocalComm::run(2, |comm| {
        let model = Two::new()?;
        let config = DataParallelConfig::new().find_unused_parameters(true);
        let parallel = config.build(&model, comm.clone())?;
        parallel.backward(&model.loss(false)?)?;
        let nowhere = model.second.weight().grad().is_none();
        model.zero_grad();
        parallel.backward(&model.loss(comm.rank() == 0)?)?;
        let bias = model
            .named_parameters()
            .find(|(path, _)| path == "second.bias");
        let half = bias.unwrap().1.grad().unwrap().to_vec::<f32>()?;
        Ok((nowhere, half))
    })?;
    assert_eq!(grads, [(true, vec![0.5; 2]), (true, vec![0.5; 2])]);
    Ok(())
}

#[test]
fn gradients_are_views_of_buckets() -> Result<()> {
    LocalComm::run(2, |comm| {
        let model = Two::new()?;
        let parallel = DataParallel::new(&model, comm)?;
        parallel.backward(&model.loss(true)?)?;
        let grads: Vec<_> = model.parameters().filter_map(|it| it.grad()).collect();
        assert_eq!(grads.len(), 4);
        assert!(grads.iter().all(|grad| grad.shares_memory_with(&grads[0])));
        Ok(())
    })?;
    Ok(())
}

#[test]
fn gradients_accumulated_without_sync_are_averaged_once() -> Result<()> {
    LocalComm::run(2, |comm| {
        let (model, reference) = (Perceptron::build()?, Perceptron::build()?);
        let parallel = DataParallel::new(&model, comm.clone())?;
        let part = |step: usize, rank: usize| {
            let (inputs, targets) = Perceptron::batch(step)?;
            let rows = rank * 8..rank * 8 + 8;
            Ok::<_, Error>((inputs.narrow(0, rows.clone())?, targets.narrow(0, rows)?))
        };
        let mine = |step| part(step, comm.rank());
        let ((a, b), (c, d)) = (mine(0)?, mine(1)?);
        parallel.no_sync(|| parallel.backward(&model.loss(&a, &b)?))?;
        parallel.backward(&model.loss(&c, &d)?)?;
        for step in 0..2 {
            let (inputs, targets) = Perceptron::batch(step)?;
            reference.loss(&inputs, &targets)?.backward()?;
        }
        for (found, expected) in model.parameters().zip(reference.parameters()) {
            compare(
                "a gradient",
                &found.grad().unwrap(),
                &expected.grad().unwrap(),
                1e-6,
            )?;
        }
        assert_eq!(parallel.steps(), 1);
        Ok(())
    })?;
    Ok(())
}

#[derive(Module)]
struct Holder {
    weight: Parameter,
}

#[test]
fn ranks_may_have_different_numbers_of_batches() -> Result<()> {
    for divide_by_active_ranks in [false, true] {
        let ends = LocalComm::run(3, |comm| {
            let model = Holder {
                weight: Parameter::new(Tensor::from([0.0_f64]))?,
            };
            let config = DataParallelConfig::new().divide_by_active_ranks(divide_by_active_ranks);
            let parallel = config.build(&model, comm.clone())?;
            let mut optimizer = SGDConfig::new(1.0).momentum(0.5).build(&model)?;
            // One, two and three batches, with the gradients 1, 2 and 3.
            let slope = -(comm.rank() as f64 + 1.0);
            let mut values = Vec::new();
            parallel.join(0..=comm.rank(), |batch| {
                if batch.is_some() {
                    model.zero_grad();
                    parallel.backward(&model.weight.tensor().mul(slope)?.sum(..)?)?;
                }
                optimizer.step(&model)?;
                values.push(model.weight.detach().item::<f64>()?);
                Ok(())
            })?;
            Ok(values)
        })?;
        let averages = match divide_by_active_ranks {
            false => [6.0 / 3.0, 5.0 / 3.0, 3.0 / 3.0],
            true => [6.0 / 3.0, 5.0 / 2.0, 3.0],
        };
        let (mut velocity, mut value, mut expected) = (0.0, 0.0, Vec::new());
        for average in averages {
            velocity = 0.5 * velocity + average;
            value += velocity;
            expected.push(value);
        }
        for values in &ends {
            assert_eq!(values.len(), 3);
            let apart = values
                .iter()
                .zip(&expected)
                .map(|(a, b): (&f64, &f64)| (a - b).abs());
            assert!(
                apart.fold(0.0, f64::max) < 1e-12,
                "{values:?} instead of {expected:?}"
            );
        }
        assert!(ends.iter().all(|values| *values == ends[0]));
    }
    Ok(())
}

#[test]
fn a_model_without_trained_parameters_is_refused() {
    let results = LocalComm::run(2, |comm| {
        let model = Two::new()?;
        model
            .parameters()
            .for_each(|it| it.set_requires_grad(false));
        DataParallel::new(&model, comm).map(drop)
    });
    assert!(
        results
            .unwrap_err()
            .to_string()
            .contains("no parameter of the model is trained")
    );
}

#[test]
fn buffers_follow_rank_0_unless_they_are_left_alone() -> Result<()> {
    for broadcasts in [true, false] {
        let means = LocalComm::run(2, |comm| {
            let norm = BatchNorm1d::new(1)?;
            let config = DataParallelConfig::new().broadcast_buffers(broadcasts);
            let parallel = config.build(&norm, comm.clone())?;
            let first = 10.0 * comm.rank() as f32;
            let output = norm.call(Tensor::from([[first], [first + 2.0]]))?;
            parallel.backward(&output.sum(..)?)?;
            let mean = norm
                .named_buffers()
                .find(|(path, _)| path == "running_mean");
            mean.unwrap().1.tensor().item::<f32>()
        })?;
        // A tenth of the means of the batches, 1 and 11.
        let expected = if broadcasts { [0.1, 0.1] } else { [0.1, 1.1] };
        assert_eq!(means, expected);
    }
    Ok(())
}
