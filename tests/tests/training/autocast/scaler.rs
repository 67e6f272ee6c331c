//! The state of a gradient scaler between its steps, and the uses that it refuses.

use module_nn::optim::OptimizerError;
use module_nn::prelude::*;

fn set(model: &Linear, value: f32) {
    for parameter in model.parameters() {
        let grad = Tensor::full(parameter.shape(), value, DType::F32).unwrap();
        parameter.set_grad(grad).unwrap();
    }
}

fn kind(error: &Error) -> Option<(&'static str, bool)> {
    match error.downcast_ref()? {
        OptimizerError::AlreadyUnscaled { op, stepped } => Some((op, *stepped)),
        OptimizerError::NothingUnscaled => Some(("update", false)),
        _ => None,
    }
}

#[test]
fn calls_out_of_order_are_errors() -> Result<()> {
    let model = Linear::new(2, 1)?;
    let mut optimizer = SGD::new(&model, 0.5)?;
    let mut scaler = GradScalerConfig::new().init_scale(4.0).build()?;
    assert_eq!(kind(&scaler.update().unwrap_err()), Some(("update", false)));
    let error = scaler.step(&mut optimizer, &model).unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(OptimizerError::NoGradients { op: "step" })
    ));
    set(&model, 8.0);
    scaler.unscale(&model)?;
    assert_eq!(model.weight().grad().unwrap().to_vec::<f32>()?, [2.0, 2.0]);
    assert_eq!(
        kind(&scaler.unscale(&model).unwrap_err()),
        Some(("unscale", false))
    );
    assert!(scaler.step(&mut optimizer, &model)?);
    assert_eq!(model.weight().grad().unwrap().to_vec::<f32>()?, [2.0, 2.0]);
    assert_eq!(
        kind(&scaler.step(&mut optimizer, &model).unwrap_err()),
        Some(("step", true))
    );
    assert_eq!(
        kind(&scaler.unscale(&model).unwrap_err()),
        Some(("unscale", true))
    );
    scaler.update()?;
    assert!(scaler.step(&mut optimizer, &model)?);
    Ok(())
}

#[test]
fn two_models_have_a_scaler_in_common() -> Result<()> {
    let models = [Linear::new(2, 1)?, Linear::new(3, 1)?];
    let mut scaler = GradScalerConfig::new()
        .init_scale(4.0)
        .growth_interval(1_u64)
        .build()?;
    let mut optimizers = [SGD::new(&models[0], 0.5)?, SGD::new(&models[1], 0.5)?];
    set(&models[0], 4.0);
    set(&models[1], f32::NAN);
    let mut stepped = Vec::new();
    for (optimizer, model) in optimizers.iter_mut().zip(&models) {
        stepped.push(scaler.step(optimizer, model)?);
    }
    assert_eq!(stepped, [true, false]);
    scaler.update()?;
    assert_eq!(scaler.get_scale(), 2.0);
    set(&models[0], 4.0);
    scaler.step(&mut optimizers[0], &models[0])?;
    scaler.update()?;
    assert_eq!(scaler.get_scale(), 4.0);
    scaler.update_to(3.0)?;
    assert_eq!(scaler.get_scale(), 3.0);
    Ok(())
}

#[test]
fn a_scaler_that_is_not_enabled_only_steps() -> Result<()> {
    let model = Linear::new(2, 1)?;
    let mut optimizer = SGD::new(&model, 0.5)?;
    let mut scaler = GradScalerConfig::new().enabled(false).build()?;
    let loss = Tensor::from(2.0_f32);
    assert_eq!(scaler.scale(&loss)?.item::<f32>()?, 2.0);
    set(&model, 1.0);
    let before = model.weight().detach();
    scaler.unscale(&model)?;
    assert!(scaler.step(&mut optimizer, &model)?);
    scaler.update()?;
    let moved = model.weight().detach().to_vec::<f32>()?;
    assert_eq!(moved, before.sub(0.5)?.to_vec::<f32>()?);
    assert_eq!(scaler.get_scale(), 1.0);
    // PyTorch refuses this too: the state of a disabled scaler.
    let empty = scaler.state()?;
    assert!(GradScaler::new().load_state(&empty).is_err());
    Ok(())
}

#[test]
fn wrong_options_gradients_and_states_are_refused() -> Result<()> {
    let wrong = [
        GradScalerConfig::new().init_scale(0.0),
        GradScalerConfig::new().init_scale(1e300),
        GradScalerConfig::new().growth_factor(1.0),
        GradScalerConfig::new().backoff_factor(1.0),
        GradScalerConfig::new().growth_interval(0_u64),
    ];
    for config in wrong {
        assert!(config.build().is_err());
    }
    let half = Parameter::new(Tensor::from([1.0_f32]).to_dtype(DType::F16)?)?;
    half.set_grad(Tensor::from([1.0_f32]).to_dtype(DType::F16)?)?;
    let error = GradScaler::new().unscale(&vec![half]).unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(OptimizerError::HalfGradient { .. })
    ));
    // A loss of half precision holds the product.
    let loss = Tensor::from(2.0_f32).to_dtype(DType::F16)?;
    assert_eq!(GradScaler::new().scale(&loss)?.item::<f32>()?, 131072.0);
    Ok(())
}

#[test]
fn the_state_has_the_names_of_pytorch() -> Result<()> {
    let config = GradScalerConfig::new()
        .init_scale(8.0)
        .growth_interval(7_u64);
    let state = config.build()?.state()?;
    let mut other = GradScaler::new();
    other.load_state(&state)?;
    assert_eq!(
        (other.get_scale(), other.config().growth_interval),
        (8.0, 7)
    );
    assert_eq!(state.get::<f64>("scale")?, 8.0);
    assert_eq!(state.get::<f64>("growth_factor")?, 2.0);
    assert_eq!(state.get::<f64>("backoff_factor")?, 0.5);
    assert_eq!(state.get::<u64>("_growth_tracker")?, 0);
    Ok(())
}

/// The scales of `torch.amp.GradScaler` for gradients that are finite, not finite, finite and finite.
#[test]
fn steps_are_counted_anew_after_one_that_is_left_out() -> Result<()> {
    let model = Linear::new(2, 1)?;
    let mut optimizer = SGD::new(&model, 0.5)?;
    let config = GradScalerConfig::new().init_scale(4.0);
    let mut scaler = config.growth_interval(2_u64).build()?;
    let mut scales = Vec::new();
    for grad in [1.0, f32::INFINITY, 1.0, 1.0] {
        set(&model, grad);
        scaler.step(&mut optimizer, &model)?;
        scaler.update()?;
        scales.push(scaler.get_scale());
    }
    assert_eq!(scales, [4.0, 2.0, 2.0, 4.0]);
    Ok(())
}

/// The scales are those of `torch.amp.GradScaler`, which then divides by 0 and makes the parameters NaN.
#[test]
fn a_scale_that_has_fallen_to_nothing_is_an_error() -> Result<()> {
    let model = Linear::new(2, 1)?;
    let before = model.weight().detach().to_vec::<f32>()?;
    let mut optimizer = SGD::new(&model, 0.5)?;
    let config = GradScalerConfig::new().init_scale(1e-38);
    let mut scaler = config.backoff_factor(0.25).build()?;
    set(&model, f32::NAN);
    assert!(!scaler.step(&mut optimizer, &model)?);
    scaler.update()?;
    // A number above 0, whose reciprocal is infinite.
    assert!(scaler.get_scale() > 0.0);
    for value in [0.0, 1.0] {
        set(&model, value);
        let error = scaler.step(&mut optimizer, &model).unwrap_err();
        assert!(
            matches!(
                error.downcast_ref(),
                Some(OptimizerError::ScaleTooSmall { op: "step", .. })
            ),
            "{error}"
        );
        let error = scaler.unscale(&model).unwrap_err().to_string();
        assert!(
            error.starts_with("unscale: the scale has fallen to 2.5"),
            "{error}"
        );
        assert_eq!(model.weight().grad().unwrap().to_vec::<f32>()?, [value; 2]);
    }
    assert_eq!(model.weight().detach().to_vec::<f32>()?, before);
    scaler.update_to(4.0)?;
    assert!(scaler.step(&mut optimizer, &model)?);
    Ok(())
}
