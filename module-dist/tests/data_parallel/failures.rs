//! Values that are not finite, and ranks that drift apart.

use super::*;

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
