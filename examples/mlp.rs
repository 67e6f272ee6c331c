//! The smallest complete program: define, train, save, load.

use module_nn::prelude::*;

#[derive(Module)]
struct Mlp {
    hidden: Linear,
    head: Linear,
}

impl Mlp {
    fn new() -> Result<Self> {
        let (hidden, head) = (Linear::new(2, 16)?, Linear::new(16, 2)?);
        Ok(Self { hidden, head })
    }
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.hidden.call(x)?.relu()?)
    }
}

fn main() -> Result<()> {
    manual_seed(0);
    // Points of the plane; is each inside the circle or outside?
    let points = Tensor::randn([512, 2], DType::F32)?;
    let distance = points.mul(&points)?.sum(1)?;
    let inside = distance.lt(1.5)?.to_dtype(DType::I64)?;

    let model = Mlp::new()?;
    println!("{}", model.tree().with_parameters());
    let criterion = CrossEntropyLoss::new();
    let mut optimizer = AdamW::new(&model, 0.01)?;
    for step in 0..=300 {
        let loss = criterion.loss(&model.call(points.clone())?, &inside)?;
        model.zero_grad();
        loss.backward()?;
        optimizer.step(&model)?;
        if step % 100 == 0 {
            println!("step {step:3}  loss {:.4}", loss.item::<f32>()?);
        }
    }

    let file = std::env::temp_dir().join("mlp.safetensors");
    model.save(&file)?;
    let restored = Mlp::new()?;
    println!("{}", restored.load(&file)?);
    let right = restored.call(points)?.argmax(1)?.eq(&inside)?;
    let count = right.sum(..)?.item::<i64>()?;
    println!("{count} of {} points right", right.numel());
    Ok(())
}
