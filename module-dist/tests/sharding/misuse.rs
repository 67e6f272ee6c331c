//! Errors name the rank and what is wrong.

use std::sync::Arc;

use module_dist::sharding::{Sharded, ShardingError, ShardingStage};
use module_dist::{Comm, FailureCause, LocalComm, RankFailure};
use module_nn::prelude::*;

/// The results of two ranks, of which the last must fail, as messages.
fn messages(program: impl Fn(Arc<dyn Comm>) -> Result<()> + Sync) -> Result<Vec<Error>> {
    let results = LocalComm::run_with(2, LocalComm::DEADLINE, program)?;
    Ok(results.into_iter().map(Result::unwrap_err).collect())
}

#[test]
fn misuse_is_reported() -> Result<()> {
    let stage = ShardingStage::Parameters;
    let x = || Tensor::ones([1, 2], DType::F32);
    let of = |error: &Error| error.downcast_ref::<ShardingError>().cloned();

    let errors = messages(|comm| {
        let model = Linear::new(2, 2)?;
        let sharded = Sharded::new(&model, comm, stage)?;
        model.weight().set(Tensor::zeros([2, 2], DType::F32)?)?;
        model.call(x()?)?;
        drop(sharded);
        Ok(())
    })?;
    let parameter = "weight".to_owned();
    let expected = |rank: usize| ShardingError::Replaced {
        rank,
        parameter: parameter.clone(),
    };
    assert!(
        (0..2).any(|rank| of(&errors[rank]) == Some(expected(rank))),
        "{errors:?}"
    );

    let errors = messages(|comm| {
        let model = Linear::new(2, 2)?;
        let sharded = Sharded::new(&model, comm, stage)?;
        let mut optimizer = Adafactor::new(sharded.shards(), 1e-2)?;
        sharded.backward(&model.call(x()?)?.sum(..)?)?;
        sharded.step(&mut optimizer)
    })?;
    // The other rank may be told first.
    let expected = |rank: usize| Some(ShardingError::NotElementwise { rank });
    assert!(
        (0..2).any(|rank| of(&errors[rank]) == expected(rank)),
        "{errors:?}"
    );

    let errors = messages(|comm| {
        let model = Linear::new(2, 2)?;
        let sharded = Sharded::new(&model, comm, ShardingStage::Gradients)?;
        let mut optimizer = AdamW::new(sharded.shards(), 1e-2)?;
        sharded.backward(&model.call(x()?)?.sum(..)?)?;
        model.double()?;
        sharded.step(&mut optimizer)
    })?;
    let message = errors[0].to_string();
    assert!(
        message.contains("is float64 [2, 2] on cpu, and was float32 [2, 2] on cpu"),
        "{message}"
    );

    let errors = messages(|comm| {
        let model = Linear::new(2, 2 + comm.rank())?;
        Sharded::new(&model, comm, stage).map(drop)
    })?;
    for error in &errors {
        let failure = error.downcast_ref::<RankFailure>().unwrap();
        assert_eq!(failure.rank, 1);
        assert!(
            matches!(failure.cause, FailureCause::DifferentModel { .. }),
            "{failure}"
        );
    }

    let errors = messages(|comm| {
        let model = Linear::new(2, 2)?;
        Sharded::with_units(&model, comm, stage, "layer.*").map(drop)
    })?;
    assert!(
        errors[0].to_string().contains("`layer.*` selects nothing"),
        "{}",
        errors[0]
    );
    Ok(())
}

#[test]
fn a_graph_from_before_a_step_never_sees_the_values_after_it() -> Result<()> {
    LocalComm::run(2, |comm| {
        let model = Linear::new(2, 2)?;
        let sharded = Sharded::new(&model, comm, ShardingStage::Parameters)?;
        let mut optimizer = AdamW::new(sharded.shards(), 1e-2)?;
        // The gradient of the input needs the weight.
        let x = Tensor::ones([1, 2], DType::F32)?.with_grad()?;
        let old = model.call(x.clone())?.sum(..)?;
        sharded.backward(&model.call(x)?.sum(..)?)?;
        sharded.step(&mut optimizer)?;
        let error = sharded.backward(&old).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Released { .. }),
            "{error}"
        );
        Ok(())
    })?;
    Ok(())
}
