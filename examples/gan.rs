//! Two networks and two optimizers in turn: a generator learns to draw digits that a discriminator cannot distinguish from
//! handwritten ones.
//!
//! ```text
//! cargo run --release --example gan                   40 epochs
//! cargo run --release --example gan -- 5              fewer
//! ```
//!
//! Source: Radford, Metz and Chintala, *Unsupervised Representation Learning with Deep Convolutional
//! Generative Adversarial Networks* (2016), and PyTorch's DCGAN tutorial, with linear layers.

use module_examples::Digits;
use module_nn::data::{DataLoaderConfig, TensorDataset};
use module_nn::prelude::*;

const NOISE: usize = 16;
const PIXELS: usize = 64;

fn generator() -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(NOISE, 128)?)
        .push(BatchNorm1d::new(128)?)
        .push(ReLU::new())
        .push(Linear::new(128, 128)?)
        .push(BatchNorm1d::new(128)?)
        .push(ReLU::new())
        .push(Linear::new(128, PIXELS)?)
        .push(Sigmoid::new()))
}

fn discriminator() -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(PIXELS, 128)?)
        .push(LeakyReLUConfig::new().negative_slope(0.2).build()?)
        .push(Dropout::new(0.3)?)
        .push(Linear::new(128, 64)?)
        .push(LeakyReLUConfig::new().negative_slope(0.2).build()?)
        .push(Linear::new(64, 1)?))
}

/// The loss of labeling these images as real or as drawn.
fn judge(discriminator: &Sequential, images: Tensor, real: bool) -> Result<Tensor> {
    let logits = discriminator.call(images)?;
    let target = Tensor::full(
        logits.shape().clone(),
        f64::from(u8::from(real)),
        DType::F32,
    )?;
    // The labels of real images are smoothed, so that the discriminator does not win immediately.
    let target = if real { target.mul(0.9)? } else { target };
    BCEWithLogitsLoss::new().loss(&logits, &target)
}

/// Images side by side, one character per pixel.
fn print(images: &Tensor) -> Result<()> {
    const SHADES: [char; 5] = [' ', '.', 'o', 'O', '@'];
    for row in 0..8 {
        let row = images.narrow(1, 8 * row..8 * row + 8)?;
        let pixels = row
            .mul(4.99)?
            .floor()?
            .to_dtype(DType::I64)?
            .to_vec::<i64>()?;
        let shade = |pixel: &i64| SHADES.get(*pixel as usize).unwrap_or(&'?');
        let images = pixels.chunks(8).map(|row| row.iter().map(shade).collect());
        println!("  {}", images.collect::<Vec<String>>().join("  "));
    }
    Ok(())
}

fn main() -> Result<()> {
    let argument = std::env::args().nth(1);
    let epochs: usize = match argument.as_deref().unwrap_or("40").parse() {
        Ok(epochs) => epochs,
        Err(error) => return Err(Error::custom(error)),
    };
    manual_seed(0);
    let images = Digits::read()?.images.flatten(1, -1)?;
    let config = DataLoaderConfig::new()
        .batch_size(64)
        .shuffle(true)
        .drop_last(true);
    let loader = config.build(TensorDataset::new(images)?)?;
    let (generator, discriminator) = (generator()?, discriminator()?);
    let adam = AdamConfig::new(1e-3).betas((0.5, 0.999));
    let mut of_generator = adam.build(&generator)?;
    let mut of_discriminator = adam.build(&discriminator)?;
    let fixed = Tensor::randn([8, NOISE], DType::F32)?;

    for epoch in 1..=epochs {
        let mut losses = [0.0_f32; 2];
        for images in &loader {
            let images = images?;
            let noise = Tensor::randn([images.size(0)?, NOISE], DType::F32)?;
            let drawn = generator.call(noise)?;

            // The discriminator learns from both; `detach` keeps its gradients away from the generator.
            discriminator.zero_grad();
            let real = judge(&discriminator, images, true)?;
            let loss = real.add(&judge(&discriminator, drawn.detach(), false)?)?;
            loss.backward()?;
            of_discriminator.step(&discriminator)?;
            losses[0] += loss.item::<f32>()?;

            // The generator wants its images to be labeled as real. The discriminator is frozen: gradients flow through it
            // but do not accumulate in it.
            discriminator.set_requires_grad(false);
            generator.zero_grad();
            let logits = discriminator.call(drawn)?;
            let loss = BCEWithLogitsLoss::new().loss(&logits, &logits.ones_like()?)?;
            loss.backward()?;
            of_generator.step(&generator)?;
            discriminator.set_requires_grad(true);
            losses[1] += loss.item::<f32>()?;
        }
        if epoch % 10 == 0 || epoch == epochs {
            let [of_discriminator, of_generator] = losses.map(|sum| sum / loader.len() as f32);
            println!(
                "epoch {epoch:2}  discriminator {of_discriminator:.3}  generator {of_generator:.3}"
            );
        }
    }
    generator.eval();
    println!();
    print(&no_grad(|| generator.call(fixed))?)
}
