//! Dropout on a device that computes its masks from a key.

use module_core::activation_checkpoint::checkpoint;
use module_mirror::{mirror, mirror_with_dropout};
use module_nn::prelude::*;
use module_nn::rng::default_generator;
use module_nn::{BackwardOptions, autograd};

const P: f64 = 0.25;

/// The factors that a seed gives on a device, in row-major order.
fn factors(device: Device, shape: &[usize]) -> Result<Vec<f64>> {
    let x = Tensor::ones(shape, (DType::F64, device))?;
    fork_rng(3, || x.dropout(P))?.to_vec::<f64>()
}

#[test]
fn a_seed_gives_the_same_mask_again() -> Result<()> {
    let device = mirror_with_dropout()?;
    let mask = factors(device, &[50, 40])?;
    assert_eq!(factors(device, &[50, 40])?, mask);
    let kept = mask
        .iter()
        .filter(|&&factor| factor == 1.0 / (1.0 - P))
        .count();
    let dropped = mask.iter().filter(|&&factor| factor == 0.0).count();
    assert_eq!(kept + dropped, 2000);
    assert!((400..600).contains(&dropped), "{dropped}");

    // The next mask differs.
    let x = Tensor::ones([50, 40], (DType::F64, device))?;
    let [first, second] = fork_rng(3, || Ok::<_, Error>([x.dropout(P)?, x.dropout(P)?]))?;
    assert_eq!(first.to_vec::<f64>()?, mask);
    assert_ne!(second.to_vec::<f64>()?, mask);
    Ok(())
}

#[test]
fn the_state_of_the_cpu_generator_determines_the_mask() -> Result<()> {
    let x = Tensor::ones([500], (DType::F64, mirror_with_dropout()?))?;
    fork_rng(4, || {
        x.dropout(P)?;
        let state = default_generator().get_state();
        let next = x.dropout(P)?.to_vec::<f64>()?;
        default_generator().set_state(&state)?;
        assert_eq!(x.dropout(P)?.to_vec::<f64>()?, next);
        Ok(())
    })
}

#[test]
fn gradients_have_the_mask_of_the_forward_pass() -> Result<()> {
    let device = mirror_with_dropout()?;
    let mask = factors(device, &[6, 7])?;
    let x = Tensor::randn([7, 6], (DType::F64, device))?.with_grad()?;
    // The elements of a view are counted in its own order.
    let view = x.transpose(0, 1)?;
    let y = fork_rng(3, || view.dropout(P))?;
    let expected = view.to_vec::<f64>()?;
    let expected: Vec<f64> = expected.iter().zip(&mask).map(|(x, m)| x * m).collect();
    assert_eq!(y.to_vec::<f64>()?, expected);

    // And so are second derivatives: of Σ y³, they are 6 x m³.
    let options = BackwardOptions::new().create_graph(true);
    let cube = y.mul(&y)?.mul(&y)?.sum(..)?;
    let one = Tensor::ones((), (DType::F64, device))?;
    let first = autograd::grad_with(&[&cube], &[&one], &[&x], options)?;
    first[0].as_ref().unwrap().sum(..)?.backward()?;
    let values = x.transpose(0, 1)?.detach().to_vec::<f64>()?;
    let got = x.grad().unwrap().transpose(0, 1)?.to_vec::<f64>()?;
    for ((got, value), m) in got.iter().zip(&values).zip(&mask) {
        assert!((got - 6.0 * value * m.powi(3)).abs() < 1e-12);
    }
    Ok(())
}

#[test]
fn recomputed_activations_have_the_same_mask() -> Result<()> {
    let device = mirror_with_dropout()?;
    let x = Tensor::randn([100], (DType::F64, device))?.with_grad()?;
    let gradient = |recompute: bool| {
        x.zero_grad();
        fork_rng(3, || {
            let run = |x: Tensor| x.dropout(P)?.mul(&x);
            let y = match recompute {
                true => checkpoint(run, x.clone())?,
                false => run(x.clone())?,
            };
            y.sum(..)?.backward()
        })?;
        x.grad().unwrap().to_vec::<f64>()
    };
    assert_eq!(gradient(true)?, gradient(false)?);
    Ok(())
}

#[test]
fn other_dtypes_and_devices_have_the_masks_of_the_cpu() -> Result<()> {
    let cases = [
        (mirror_with_dropout()?, DType::F32),
        (mirror(&[])?, DType::F64),
    ];
    for (device, dtype) in cases {
        let x = Tensor::ones([100], (dtype, &Device::cpu()))?;
        let drop = |x: &Tensor| {
            fork_rng(3, || x.dropout(P))?
                .to_dtype(DType::F64)?
                .to_vec::<f64>()
        };
        assert_eq!(drop(&x.to_device(&device)?)?, drop(&x)?);
    }
    Ok(())
}

#[test]
fn probabilities_are_checked() -> Result<()> {
    let x = Tensor::ones([3], (DType::F64, mirror_with_dropout()?))?;
    for p in [-0.1, 1.1, f64::NAN] {
        assert!(x.dropout(p).is_err(), "{p}");
    }
    assert_eq!(x.dropout(0.0)?.to_vec::<f64>()?, [1.0; 3]);
    assert_eq!(x.dropout(1.0)?.to_vec::<f64>()?, [0.0; 3]);
    Ok(())
}
