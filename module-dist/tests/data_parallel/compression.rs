//! Hooks that send gradients in fewer bits.

use super::*;

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
