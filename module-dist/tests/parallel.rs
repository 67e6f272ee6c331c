//! Divided layers and pipelines compute what one process computes.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::Arc;

use common::equality::compare;
use common::sharding::same_bits;
use module_dist::parallel::{
    self, ColumnParallelLinear, ParallelError, Pipeline, RowParallelLinear,
    VocabParallelCrossEntropyLoss, VocabParallelEmbedding, copy_to_ranks, gather_from_ranks,
    reduce_from_ranks, scatter_to_ranks,
};
use module_dist::{Comm, LocalComm};
use module_nn::autograd::{gradcheck, gradgradcheck};
use module_nn::prelude::*;
use module_nn::{Reduction, with_default_dtype};

const STEPS: usize = 50;

fn each(check: impl Fn(&Arc<dyn Comm>, DType, f64) -> Result<()> + Sync) -> Result<()> {
    for size in [1, 2, 4] {
        for (dtype, tolerance) in [(DType::F32, 1e-6), (DType::F64, 1e-12)] {
            LocalComm::run(size, |comm| check(&comm, dtype, tolerance))?;
        }
    }
    Ok(())
}

#[test]
fn divided_layers_with_tied_weights() -> Result<()> {
    each(|comm, dtype, tolerance| common::parallel::layers(comm, dtype, STEPS, tolerance))
}

#[test]
fn pipelines() -> Result<()> {
    each(|comm, dtype, tolerance| common::parallel::pipeline(comm, dtype, STEPS, tolerance))
}

/// The gradient of each collective, numerically: the input is the same on all ranks, so that a rank's gradient is that of
/// a function of one tensor.
#[test]
fn gradients_of_first_and_second_order() -> Result<()> {
    for size in [1, 2, 4] {
        LocalComm::run(size, |comm| {
            let x = fork_rng(0, || Tensor::randn([3, 4], DType::F64))?;
            // Each rank uses its part, and the parts are added.
            let divided = |x: &[Tensor]| {
                let part = scatter_to_ranks(&x[0], -1, &comm)?;
                reduce_from_ranks(&part.mul(&part)?.mul(&part)?.sum(-1)?, &comm)
            };
            gradcheck(divided, std::slice::from_ref(&x))?;
            gradgradcheck(divided, std::slice::from_ref(&x))?;
            // Each rank has another function of the whole, and the results are joined.
            let factor = 1.0 + comm.rank() as f64;
            let copied = |x: &[Tensor]| {
                let x = copy_to_ranks(&x[0], &comm)?;
                gather_from_ranks(&x.mul(factor)?.sin()?, 0, &comm)
            };
            gradcheck(copied, std::slice::from_ref(&x))?;
            gradgradcheck(copied, &[x])
        })?;
    }
    Ok(())
}

#[test]
fn the_options_of_the_loss() -> Result<()> {
    let logits = fork_rng(0, || Tensor::randn([3, 5, 8], DType::F64))?.mul(9.0)?;
    let target = Tensor::from([[0_i64, 7, 2, -1, 3], [4, 4, 5, 6, 1], [-1, 0, 1, 2, 7]]);
    for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
        for smoothing in [0.0, 0.1, 1.0] {
            let x = logits.with_grad()?;
            let config = CrossEntropyLossConfig::new()
                .ignore_index(-1)
                .label_smoothing(smoothing);
            let loss = config.reduction(reduction).build()?;
            // Classes are the second dimension there.
            let expected = loss.call((x.transpose(1, 2)?, target.clone()))?;
            expected.mul(&expected)?.sum(..)?.backward()?;
            LocalComm::run(4, |comm| {
                let own = scatter_to_ranks(&logits, -1, &comm)?.with_grad()?;
                let loss = VocabParallelCrossEntropyLoss::new(comm.clone()).ignore_index(-1);
                let loss = loss.label_smoothing(smoothing).reduction(reduction);
                let found = loss.call((own.clone(), target.clone()))?;
                compare("the loss", &found.detach(), &expected.detach(), 1e-12)?;
                found.mul(&found)?.sum(..)?.backward()?;
                let grad = scatter_to_ranks(&x.grad().unwrap(), -1, &comm)?;
                compare("the gradient", &own.grad().unwrap(), &grad, 1e-12)
            })?;
        }
    }
    Ok(())
}

#[test]
fn extreme_logits_do_not_overflow() -> Result<()> {
    let logits = Tensor::from([[1000.0_f32, -1000.0, 999.0, 0.0]]);
    let target = Tensor::from([2_i64]);
    let expected = CrossEntropyLoss::new().call((logits.clone(), target.clone()))?;
    LocalComm::run(2, |comm| {
        let own = scatter_to_ranks(&logits, -1, &comm)?;
        let found = VocabParallelCrossEntropyLoss::new(comm).call((own, target.clone()))?;
        compare("the loss", &found, &expected, 1e-6)
    })?;
    Ok(())
}

#[test]
fn a_padding_row_gets_no_gradient() -> Result<()> {
    let config = EmbeddingConfig::new(6, 2).padding_idx(-2);
    let whole = config.build()?;
    let tokens = Tensor::from([[4_i64, 0], [3, 4]]);
    whole.call(tokens.clone())?.sum(..)?.backward()?;
    let expected = whole.weight().grad().unwrap();
    LocalComm::run(3, |comm| {
        let table = VocabParallelEmbedding::from_embedding(&whole, comm.clone())?;
        table.call(tokens.clone())?.sum(..)?.backward()?;
        let own = table.weight().grad().unwrap();
        compare(
            "the gradient",
            &own,
            &expected.narrow(0, table.rows())?,
            1e-6,
        )
    })?;
    Ok(())
}

#[test]
fn joined_outputs_and_divided_inputs() -> Result<()> {
    let whole = fork_rng(0, || Linear::new(4, 8))?;
    let x = Tensor::ones([2, 4], DType::F32)?;
    let expected = whole.call(x.clone())?;
    LocalComm::run(4, |comm| {
        let columns = ColumnParallelLinear::from_linear(&whole, comm.clone())?.gather_output(true);
        let rows = RowParallelLinear::from_linear(&whole, comm)?.scatter_input(true);
        compare(
            "columns",
            &columns.call(x.clone())?.detach(),
            &expected.detach(),
            1e-6,
        )?;
        compare(
            "rows",
            &rows.call(x.clone())?.detach(),
            &expected.detach(),
            1e-6,
        )
    })?;
    Ok(())
}

#[test]
fn layers_have_the_values_of_rank_0() -> Result<()> {
    let states = LocalComm::run(2, |comm| {
        manual_seed(comm.rank() as u64);
        let layer = RowParallelLinear::new(&LinearConfig::new(4, 2), comm.clone())?;
        parallel::state_dict(&layer, &*comm)
    })?;
    manual_seed(0);
    let expected = Linear::new(4, 2)?.state_dict()?;
    same_bits("rank 0", &states[0], &expected)?;
    same_bits("rank 1", &states[1], &expected)
}

#[test]
fn checkpoints_do_not_depend_on_the_number_of_ranks() -> Result<()> {
    let config = LinearConfig::new(4, 8);
    let build = |comm: Arc<dyn Comm>| -> Result<Vec<ColumnParallelLinear>> {
        (0..2)
            .map(|_| ColumnParallelLinear::new(&config, comm.clone()))
            .collect()
    };
    let saved = LocalComm::run(2, |comm| {
        parallel::state_dict(&build(comm.clone())?, &*comm)
    })?;
    let again = LocalComm::run(4, |comm| {
        let layers = build(comm.clone())?;
        let _all = parallel::load_state_dict(&layers, &saved[0], &*comm)?;
        parallel::state_dict(&layers, &*comm)
    })?;
    same_bits("4 ranks", &again[3], &saved[0])?;

    let layers = || {
        (0..6)
            .map(|_| Linear::new(2, 2))
            .collect::<Result<Vec<_>>>()
    };
    let pipeline = |comm| Pipeline::new(layers()?.into_iter().collect(), comm, 1);
    let saved = LocalComm::run(2, |comm| pipeline(comm)?.state_dict())?;
    let again = LocalComm::run(3, |comm| {
        let pipeline = pipeline(comm)?;
        let _all = pipeline.load_state_dict(&saved[1])?;
        let mut wrong = saved[1].clone();
        wrong.insert("6.weight", Tensor::zeros([2, 2], DType::F32)?);
        assert!(pipeline.load_state_dict(&wrong).is_err());
        pipeline.state_dict()
    })?;
    same_bits("3 ranks", &again[2], &saved[0])
}

#[test]
fn gradients_of_tied_stages_accumulate() -> Result<()> {
    with_default_dtype(DType::F64, || {
        LocalComm::run(2, |comm| {
            with_default_dtype(DType::F64, || {
                let build = || {
                    let first = fork_rng(0, || LinearConfig::new(3, 3).bias(false).build())?;
                    let mut last = LinearConfig::new(3, 3).bias(false).build()?;
                    last.tie_weight(first.weight())?;
                    Ok::<_, Error>(Sequential::new().push(first).push(Tanh::new()).push(last))
                };
                let (whole, pipeline) = (build()?, Pipeline::new(build()?, comm.clone(), 2)?);
                let loss = |x: Tensor, target: Tensor| x.sub(&target)?.square()?.mean(..);
                for seed in 0..3 {
                    let x = fork_rng(seed, || Tensor::randn([4, 3], DType::F64))?;
                    loss(whole.call(x.clone())?, x.clone())?.backward()?;
                    pipeline.forward_backward(&x, &x, loss)?;
                }
                let found = pipeline
                    .layers()
                    .parameters()
                    .next()
                    .unwrap()
                    .grad()
                    .unwrap();
                let expected = whole.parameters().next().unwrap().grad().unwrap();
                compare("the gradient", &found, &expected, 1e-12)
            })
        })
    })?;
    Ok(())
}

/// The error of each of two ranks.
fn errors(program: impl Fn(Arc<dyn Comm>) -> Result<()> + Sync) -> Result<Vec<Error>> {
    let results = LocalComm::run_with(2, LocalComm::DEADLINE, program)?;
    Ok(results.into_iter().map(Result::unwrap_err).collect())
}

#[test]
fn what_cannot_be_divided_is_refused() -> Result<()> {
    let of = |error: &Error| error.downcast_ref::<ParallelError>().cloned();
    let found = errors(|comm| RowParallelLinear::new(&LinearConfig::new(5, 2), comm).map(drop))?;
    let (what, parts, op) = ("in_features", 2, "RowParallelLinear");
    for (rank, error) in found.iter().enumerate() {
        let size = 5;
        assert_eq!(
            of(error),
            Some(ParallelError::NotDivisible {
                rank,
                op,
                what,
                size,
                parts
            })
        );
    }
    let found =
        errors(|comm| VocabParallelEmbedding::new(&EmbeddingConfig::new(7, 2), comm).map(drop))?;
    assert!(
        found[1]
            .to_string()
            .contains("num_embeddings = 7 cannot be divided among 2 ranks")
    );
    let config = EmbeddingConfig::new(8, 2).max_norm(1.0);
    let found = errors(|comm| VocabParallelEmbedding::new(&config, comm).map(drop))?;
    assert!(
        found[0]
            .to_string()
            .starts_with("rank 0: VocabParallelEmbedding: `max_norm` is not supported")
    );

    let linears = |count: usize| {
        (0..count)
            .map(|_| Linear::new(2, 2))
            .collect::<Result<Vec<_>>>()
    };
    let layers = |count| Ok::<Sequential, Error>(linears(count)?.into_iter().collect());
    let found = errors(|comm| Pipeline::new(layers(1)?, comm, 1).map(drop))?;
    let (rank, counts, ranks) = (1, vec![1, 0], 2);
    assert_eq!(
        of(&found[1]),
        Some(ParallelError::Stages {
            rank,
            counts,
            layers: 1,
            ranks
        })
    );
    let found = errors(|comm| Pipeline::with_stages(layers(3)?, &[1, 1], comm, 1).map(drop))?;
    assert!(
        found[0]
            .to_string()
            .contains("stages of [1, 1] layers do not divide 3 layers among 2 ranks")
    );
    let x = Tensor::ones([3, 2], DType::F32)?;
    let found = errors(|comm| {
        let pipeline = Pipeline::new(layers(2)?, comm, 2)?;
        pipeline
            .forward_backward(&x, &x, |y, _| y.sum(..))
            .map(drop)
    })?;
    assert!(
        found[0]
            .to_string()
            .contains("batch = 3 cannot be divided among 2 micro-batches")
    );
    Ok(())
}

#[test]
fn indices_of_no_row_are_refused() -> Result<()> {
    for (index, low) in [(-1_i64, true), (6, false)] {
        let found = errors(|comm| {
            let table = VocabParallelEmbedding::new(&EmbeddingConfig::new(6, 2), comm)?;
            table.call(Tensor::from([0, index])).map(drop)
        })?;
        let expected = format!("index = {index}: must be from 0 to num_embeddings - 1 = 5");
        assert!(
            found[0].to_string().contains(&expected),
            "{} {low}",
            found[0]
        );
        let found = errors(|comm| {
            let loss = VocabParallelCrossEntropyLoss::new(comm);
            let logits = Tensor::zeros([1, 3], DType::F32)?;
            loss.call((logits, Tensor::from([index]))).map(drop)
        })?;
        assert!(
            found[0].to_string().contains("must be from 0 to 5"),
            "{}",
            found[0]
        );
    }
    Ok(())
}
