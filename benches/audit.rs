//! The cost of an audited training step compared with a plain one, for a small convolutional network on images of 8 by 8
//! and for the MLP row (784-512-256-10), both with batches of 64. The two variants take turns, and the ratio is the median
//! of the ratios of the turns; the limit is 3.
//!
//! `cargo bench -p module-benches --bench audit`

use std::time::Instant;

use module_nn::prelude::*;

const TURNS: usize = 20;
const STEPS: usize = 10;

fn digits() -> Result<Sequential> {
    let conv = |inputs, outputs| Conv2dConfig::new(inputs, outputs, 3).padding(1).build();
    Ok(Sequential::new()
        .push(conv(1, 16)?)
        .push(BatchNorm2d::new(16)?)
        .push(ReLU::new())
        .push(MaxPool2d::new(2)?)
        .push(conv(16, 32)?)
        .push(BatchNorm2d::new(32)?)
        .push(ReLU::new())
        .push(MaxPool2d::new(2)?)
        .push(Flatten::new())
        .push(Dropout::new(0.25)?)
        .push(Linear::new(128, 10)?))
}

fn mlp() -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(784, 512)?)
        .push(ReLU::new())
        .push(Linear::new(512, 256)?)
        .push(ReLU::new())
        .push(Linear::new(256, 10)?))
}

fn compare(name: &str, model: &Sequential, x: &Tensor) -> Result<()> {
    let labels = Tensor::randint(0, 10, [64], DType::I64)?;
    let mut optimizer = AdamW::new(model, 1e-4)?;
    let mut step = || {
        model.zero_grad();
        let logits = model.call(x.clone())?;
        let loss = CrossEntropyLoss::new().loss(&logits, &labels)?;
        loss.backward()?;
        optimizer.step(model)?;
        Ok::<_, Error>(loss)
    };
    let (mut plain, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let start = Instant::now();
        for _ in 0..STEPS {
            step()?;
        }
        let bare = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let report = Audit::new(model).steps(STEPS).run(|_| step())?;
        ratios.push(start.elapsed().as_secs_f64() / bare);
        plain.push(bare * 1e6 / STEPS as f64);
        assert!(report.is_clean(), "{report}");
    }
    let [plain, ratio] = [median(plain), median(ratios)];
    println!("{name:8} {plain:8.0} µs, audited {ratio:5.2} times");
    Ok(())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() -> Result<()> {
    manual_seed(0);
    compare(
        "digits",
        &digits()?,
        &Tensor::randn([64, 1, 8, 8], DType::F32)?,
    )?;
    compare("mlp", &mlp()?, &Tensor::randn([64, 784], DType::F32)?)
}
