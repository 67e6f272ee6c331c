//! Training steps of a small transformer, which `peers/build_cost.py --steps` builds as a program in several profiles:
//! generic code is compiled in the program's own profile.

use std::time::Instant;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    embed: Linear,
    encoder: TransformerEncoder,
    head: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head
            .call(self.encoder.call(self.embed.call(x)?)?.mean(1)?)
    }
}

fn main() -> Result<()> {
    manual_seed(0);
    let layer = TransformerEncoderLayerConfig::new(64, 4)
        .dim_feedforward(256)
        .batch_first(true);
    let net = Net {
        embed: Linear::new(16, 64)?,
        encoder: TransformerEncoderConfig::new(layer, 2).build()?,
        head: Linear::new(64, 4)?,
    };
    let x = Tensor::randn([8, 32, 16], DType::F32)?;
    let labels = Tensor::randint(0, 4, [8], DType::I64)?;
    let criterion = CrossEntropyLoss::new();
    let mut optimizer = AdamW::new(&net, 1e-3)?;
    let mut least = f64::INFINITY;
    for _ in 0..10 {
        let start = Instant::now();
        let loss = criterion.loss(&net.call(x.clone())?, &labels)?;
        net.zero_grad();
        loss.backward()?;
        optimizer.step(&net)?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    println!("{:.3}", 1000.0 * least);
    Ok(())
}
