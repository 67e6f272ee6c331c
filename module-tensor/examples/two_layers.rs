//! Trains a two-layer network with plain tensors: no modules, no optimizer.
//!
//! ```text
//! cargo run --release -p module-tensor --example two_layers
//! ```

use module_tensor::{DType, Error, Result, Tensor, manual_seed};

/// Weights and biases of two layers, from 2 inputs by 32 hidden units to 2 classes.
struct Weights([Tensor; 4]);

impl Weights {
    fn new() -> Result<Self> {
        let drawn = [
            Tensor::randn([2, 32], DType::F32)?,
            Tensor::randn([32], DType::F32)?.mul(0.1)?,
            Tensor::randn([32, 2], DType::F32)?.mul(32_f64.powf(-0.5))?,
            Tensor::randn([2], DType::F32)?.mul(0.1)?,
        ];
        Self(drawn).tracked()
    }

    fn logits(&self, x: &Tensor) -> Result<Tensor> {
        let [w1, b1, w2, b2] = &self.0;
        let hidden = (x.matmul(w1)? + b1)?.tanh()?;
        hidden.matmul(w2)? + b2
    }

    /// The same values as leaves of a new graph.
    fn tracked(self) -> Result<Self> {
        let [w1, b1, w2, b2] = self.0;
        Ok(Self([
            w1.detach().with_grad()?,
            b1.detach().with_grad()?,
            w2.detach().with_grad()?,
            b2.detach().with_grad()?,
        ]))
    }

    /// One gradient descent step with the gradients from `backward`.
    fn step(mut self, rate: f64) -> Result<Self> {
        for weight in &mut self.0 {
            if let Some(gradient) = weight.grad() {
                *weight = (weight.detach() - gradient.mul(rate)?)?;
            }
        }
        self.tracked()
    }
}

fn main() -> Result<()> {
    manual_seed(0);
    // Points of the plane; is each inside the circle or outside?
    let points = Tensor::randn([512, 2], DType::F32)?;
    let distance = points.mul(&points)?.sum(1)?;
    let inside = distance.lt(1.5)?.to_dtype(DType::I64)?;
    let wanted = inside.one_hot(2)?.to_dtype(DType::F32)?;

    let mut weights = Weights::new()?;
    for step in 0..=300 {
        let log_probabilities = weights.logits(&points)?.log_softmax(1)?;
        let loss = log_probabilities.mul(&wanted)?.sum(1)?.mean(..)?;
        let loss = loss.neg()?;
        if step % 100 == 0 {
            println!("step {step:3}  loss {:.4}", loss.item::<f32>()?);
        }
        loss.backward()?;
        weights = weights.step(0.5)?;
    }
    let right = weights.logits(&points)?.argmax(1)?.eq(&inside)?;
    let count = right.sum(..)?.item::<i64>()?;
    println!("{count} of {} points right", right.numel());
    if count < 490 {
        let problem = "are fewer than the 490 points that this recipe gets right";
        return Err(Error::argument("train", "right", count, problem));
    }
    Ok(())
}
