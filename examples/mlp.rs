//! The program of `README.md`: defines a network, prints and trains it, and saves its weights.

use module_nn::prelude::*;

#[derive(Module)]
struct Mlp {
    hidden: Linear,
    head: Linear,
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.hidden.call(x)?.relu()?)
    }
}

fn main() -> Result<()> {
    manual_seed(0);
    let (hidden, head) = (Linear::new(2, 16)?, Linear::new(16, 2)?);
    let model = Mlp { hidden, head };
    println!("{}", model.tree());
    let points = Tensor::randn([512, 2], DType::F32)?;
    let inside = points.square()?.sum(1)?.lt(1.5)?.to_dtype(DType::I64)?;
    let mut optimizer = AdamW::new(&model, 0.01)?;
    for _ in 0..300 {
        let logits = model.call(points.clone())?;
        model.zero_grad();
        CrossEntropyLoss::new().loss(&logits, &inside)?.backward()?;
        optimizer.step(&model)?;
    }
    let right = model.call(points)?.argmax(1)?.eq(&inside)?;
    println!("{} of 512 are right", right.sum(..)?.item::<i64>()?);
    model.save(std::env::temp_dir().join("mlp.safetensors"))
}
