//! What `DataParallel` promises besides equality.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

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

/// The gradients that a hook averages, on both ranks, and those of the whole batch.
fn with_hook(build: fn() -> Result<Box<dyn GradientHook>>, tolerance: f64) -> Result<()> {
    let states = LocalComm::run(2, |comm| {
        let (model, reference) = (Perceptron::build()?, Perceptron::build()?);
        let config = DataParallelConfig::new()
            .first_bucket_bytes(1 << 10)
            .hook(build()?);
        let parallel = config.build(&model, comm.clone())?;
        let (inputs, targets) = Perceptron::batch(0)?;
        let rows = comm.rank() * 8..comm.rank() * 8 + 8;
        parallel
            .backward(&model.loss(&inputs.narrow(0, rows.clone())?, &targets.narrow(0, rows)?)?)?;
        reference.loss(&inputs, &targets)?.backward()?;
        let mut bytes = Vec::new();
        for (found, expected) in model.parameters().zip(reference.parameters()) {
            let found = found.grad().unwrap();
            compare("a gradient", &found, &expected.grad().unwrap(), tolerance)?;
            bytes.extend(found.to_host()?.to_le_bytes());
        }
        Ok(bytes)
    })?;
    assert_eq!(states[0], states[1]);
    Ok(())
}

#[test]
fn compressed_gradients_are_near_the_averages() -> Result<()> {
    with_hook(|| Ok(Box::new(AllReduceGradients)), 1e-6)?;
    with_hook(|| Ok(Box::new(F16Compression)), 5e-4)?;
    with_hook(|| Ok(Box::new(Bf16Compression)), 4e-3)?;
    with_hook(|| Ok(Box::new(TopKCompression::new(1.0)?)), 1e-6)?;
    // Compression loses something: that it is used at all.
    assert!(with_hook(|| Ok(Box::new(F16Compression)), 1e-7).is_err());
    assert!(with_hook(|| Ok(Box::new(TopKCompression::new(0.1)?)), 1e-4).is_err());
    Ok(())
}

#[test]
fn what_top_k_leaves_is_sent_later() -> Result<()> {
    // Of three gradients, 3, 2 and 1 in every step, one is sent; over six steps all have been.
    let sent = LocalComm::run(2, |comm| {
        let weight = Parameter::new(Tensor::zeros(3, DType::F32)?)?;
        let model = Holder { weight };
        let config = DataParallelConfig::new().hook(TopKCompression::new(0.1)?);
        let parallel = config.build(&model, comm)?;
        let mut total = Tensor::zeros(3, DType::F32)?;
        let mut nonzero = Vec::new();
        for _ in 0..6 {
            model.weight.zero_grad();
            let slopes = Tensor::from([3.0_f32, 2.0, 1.0]);
            parallel.backward(&model.weight.tensor().mul(&slopes)?.sum(..)?)?;
            let grad = model.weight.grad().unwrap();
            nonzero.push(grad.to_vec::<f32>()?.iter().filter(|x| **x != 0.0).count());
            total = total.add(&grad)?;
        }
        assert_eq!(nonzero, [1; 6]);
        total.to_vec::<f32>()
    })?;
    // 3 | 4 | 3+3 | 4 … : what is left is less than was sent.
    assert_eq!(sent[0], sent[1]);
    let left: Vec<f32> = sent[0]
        .iter()
        .zip([18.0, 12.0, 6.0])
        .map(|(sent, all)| all - sent)
        .collect();
    assert!(
        left.iter().all(|left| (0.0..=6.0).contains(left)),
        "{left:?}"
    );
    assert!(left.iter().sum::<f32>() < 18.0);
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
fn a_gradient_that_is_not_finite_is_named() {
    let found = failure(3, |comm| {
        let model = Two::new()?;
        let parallel = DataParallel::new(&model, comm.clone())?;
        let scale = if comm.rank() == 2 { f64::NAN } else { 1.0 };
        parallel.backward(&model.loss(true)?.mul(scale)?)
    });
    assert_eq!(found.rank, 2);
    assert!(
        matches!(found.cause, FailureCause::NonFinite { .. }),
        "{found}"
    );
    assert!(
        found
            .to_string()
            .starts_with("rank 2 in step 0, backward: the gradient of `second."),
        "{found}"
    );
    // The sum overflows, although no part does.
    let found = failure(2, |comm| {
        let weight = Parameter::new(Tensor::zeros(1, DType::F32)?)?;
        let model = Holder { weight };
        let parallel = DataParallel::new(&model, comm)?;
        parallel.backward(&model.weight.tensor().mul(3e38)?.sum(..)?)
    });
    let text = found.to_string();
    assert!(
        text.contains("the sum over all ranks of the gradient of `weight`"),
        "{text}"
    );
}

#[test]
fn infinite_gradients_can_be_left_to_a_scaler() -> Result<()> {
    LocalComm::run(2, |comm| {
        let model = Two::new()?;
        let parallel = DataParallelConfig::new()
            .check_finite(false)
            .build(&model, comm.clone())?;
        let scale = if comm.rank() == 1 { f64::INFINITY } else { 1.0 };
        parallel.backward(&model.loss(true)?.mul(scale)?)?;
        assert!(
            !model
                .first
                .weight()
                .grad()
                .unwrap()
                .isfinite()?
                .all(..)?
                .item::<bool>()?
        );
        Ok(())
    })?;
    Ok(())
}

#[test]
fn a_rank_whose_parameters_drift_is_named() {
    let found = failure(4, |comm| {
        let model = Two::new()?;
        let parallel = DataParallelConfig::new()
            .check_every(3)
            .build(&model, comm.clone())?;
        let mut optimizer = SGDConfig::new(0.1).build(&model)?;
        for step in 0..6 {
            model.zero_grad();
            parallel.backward(&model.loss(true)?)?;
            optimizer.step(&model)?;
            if step == 1 && comm.rank() == 1 {
                // One bit.
                let weight = model.second.weight();
                let mut values = weight.detach().to_vec::<f32>()?;
                values[3] = f32::from_bits(values[3].to_bits() ^ 1);
                weight.set(Tensor::from_vec(values, [2, 2])?)?;
            }
        }
        Ok(())
    });
    assert_eq!(found.rank, 1);
    assert_eq!(
        found.cause,
        FailureCause::Diverged {
            parameter: "second.weight".into()
        }
    );
    // Of several ranks, the odd one out is at fault, even if it is rank 0.
    let found = failure(3, |comm| {
        let model = Two::new()?;
        if comm.rank() == 0 {
            model
                .first
                .weight()
                .set(Tensor::zeros([2, 2], DType::F32)?)?;
        }
        check_parameters(&model, &*comm)
    });
    assert_eq!(
        (found.rank, found.cause),
        (
            0,
            FailureCause::Diverged {
                parameter: "first.weight".into()
            }
        )
    );
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
