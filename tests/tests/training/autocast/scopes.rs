//! Scopes: nesting and ending, the cached casts of parameters, and backward passes.

use module_nn::{is_autocast_enabled, prelude::*};
use module_tests::golden;

fn square() -> Result<DType> {
    let x = Tensor::from([[1.0_f32]]);
    Ok(x.matmul(&x)?.dtype())
}

#[test]
fn scopes_nest_and_end() -> Result<()> {
    assert_eq!(square()?, DType::F32);
    autocast(DType::BF16, || {
        assert_eq!(square()?, DType::BF16);
        assert_eq!(autocast(DType::F16, square)?, DType::F16);
        assert_eq!(no_autocast(square)?, DType::F32);
        assert_eq!(no_autocast(|| autocast(DType::F16, square))?, DType::F16);
        assert_eq!(square()?, DType::BF16);
        // Other threads are outside the scope.
        assert!(!std::thread::spawn(is_autocast_enabled).join().unwrap());
        Ok(())
    })?;
    let caught = std::panic::catch_unwind(|| {
        let _ = autocast(DType::BF16, || -> Result<()> { panic!("left") });
    });
    assert!(caught.is_err() && !is_autocast_enabled());
    let error = autocast(DType::F32, square).unwrap_err().to_string();
    assert_eq!(
        error,
        "autocast: not available for float32; it needs float16 or bfloat16; leave `autocast` out to compute in \
         other dtypes"
    );
    Ok(())
}

#[test]
fn different_dtypes_are_an_error_outside() -> Result<()> {
    let (a, b) = (
        Tensor::from([1.0_f32]),
        Tensor::from([1.0_f32]).to_dtype(DType::BF16)?,
    );
    assert!(a.add(&b).is_err());
    assert_eq!(autocast(DType::BF16, || a.add(&b))?.dtype(), DType::F32);
    Ok(())
}

/// The gradients 256 and 1 of two uses sum to 256 in bf16, and to 257 in f32.
#[test]
fn a_parameter_is_cast_once_in_a_scope() -> Result<()> {
    let (_, tensors) = golden::load("autocast.safetensors");
    let expected = |name: &str| tensors.get(name).expect("recorded").to_vec::<f32>();
    let weight = Parameter::new(Tensor::from([[1.0_f32]]))?;
    let used = |x: f32| Tensor::from([[x]]).linear(&weight.tensor(), None);
    let loss = autocast(DType::BF16, || used(256.0)?.add(&used(1.0)?))?;
    loss.sum(..)?.backward()?;
    assert_eq!(
        weight.grad().unwrap().to_vec::<f32>()?,
        expected("cache/grad")?
    );
    weight.zero_grad();
    // Two backward passes through one cast.
    autocast(DType::BF16, || {
        used(256.0)?.sum(..)?.backward()?;
        used(1.0)?.sum(..)?.backward()
    })?;
    assert_eq!(
        weight.grad().unwrap().to_vec::<f32>()?,
        expected("cache/grad.passes")?
    );
    Ok(())
}

#[test]
fn a_new_value_of_a_parameter_is_cast_anew() -> Result<()> {
    let weight = Parameter::new(Tensor::from([[1.0_f32]]))?;
    autocast(DType::BF16, || {
        let y = || {
            Tensor::from([[3.0_f32]])
                .linear(&weight.tensor(), None)?
                .to_dtype(DType::F32)?
                .item::<f32>()
        };
        assert_eq!(y()?, 3.0);
        weight.set(Tensor::from([[2.0_f32]]))?;
        assert_eq!(y()?, 6.0);
        // A cast without a graph is not cached.
        let untracked = no_grad(|| weight.tensor().matmul(&weight.tensor()))?;
        assert!(!untracked.requires_grad());
        assert!(weight.tensor().matmul(&weight.tensor())?.requires_grad());
        Ok(())
    })
}

/// A graph of f32 that is differentiated inside of a scope is differentiated in f32.
#[test]
fn backward_computes_in_the_dtypes_of_forward() -> Result<()> {
    let x = Tensor::from([[1.001_f32, 3.0]]).with_grad()?;
    let w = Tensor::from([[1.001_f32], [1.0]]).with_grad()?;
    let y = x.matmul(&w)?.sum(..)?;
    autocast(DType::BF16, || y.backward())?;
    assert_eq!(w.grad().unwrap().to_vec::<f32>()?, [1.001, 3.0]);
    assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [1.001, 1.0]);
    Ok(())
}
