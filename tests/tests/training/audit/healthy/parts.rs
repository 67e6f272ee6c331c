//! Networks with parts that are intentionally not trained.

use module_nn::Approximate;
use module_nn::prelude::*;

use super::{classes, healthy, rows, step};

/// A frozen linear layer, and next to it one of low rank, which starts at zero.
#[derive(Module)]
struct LowRank {
    base: Linear,
    a: Linear,
    b: Linear,
}

impl LowRank {
    fn new(inputs: usize, outputs: usize) -> Result<Self> {
        let bare = |inputs, outputs| LinearConfig::new(inputs, outputs).bias(false).build();
        let b = bare(4, outputs)?;
        b.weight().set(b.weight().detach().zeros_like()?)?;
        Ok(Self {
            base: Linear::new(inputs, outputs)?,
            a: bare(inputs, 4)?,
            b,
        })
    }
}

impl Forward for LowRank {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let change = self.b.call(self.a.call(x.clone())?)?;
        self.base.call(x)?.add(&change.mul(2.0)?)
    }
}

#[test]
fn branches_of_low_rank_beside_a_frozen_base() {
    healthy(|| {
        let model = Sequential::new()
            .push(LowRank::new(10, 16)?)
            .push(Tanh::new())
            .push(LowRank::new(16, 4)?);
        model.freeze("**.base")?;
        let mut optimizer = AdamW::new(&model, 1e-2)?;
        Ok((model, move |model: &Sequential| {
            let logits = model.call(rows(16, 10)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 4)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// A frozen backbone, and a head.
#[derive(Module)]
struct Transfer {
    backbone: Sequential,
    head: Linear,
}

impl Forward for Transfer {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.backbone.call(x)?)
    }
}

#[test]
fn a_frozen_backbone_with_a_head() {
    healthy(|| {
        let model = Transfer {
            backbone: Sequential::new()
                .push(Linear::new(10, 16)?)
                .push(BatchNorm1d::new(16)?)
                .push(ReLU::new()),
            head: Linear::new(16, 4)?,
        };
        model.freeze("backbone")?;
        // Frozen as trained: its norms use their running statistics.
        model.backbone.eval();
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Transfer| {
            let logits = model.call(rows(16, 10)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 4)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn an_average_beside_the_training() {
    healthy(|| {
        let model = super::mlp(10, 16, 4)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        let mut average = EMA::new(&model, 0.99)?;
        Ok((model, move |model: &Sequential| {
            let logits = model.call(rows(16, 10)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 4)?)?;
            let loss = step(model, &mut optimizer, loss)?;
            average.update(model)?;
            Ok(loss)
        }))
    });
}

/// Two heads on one trunk.
#[derive(Module)]
struct Heads {
    trunk: Linear,
    class: Linear,
    number: Linear,
}

impl Forward for Heads {
    type Output = (Tensor, Tensor);

    fn forward(&self, x: Tensor) -> Result<(Tensor, Tensor)> {
        let x = self.trunk.call(x)?.gelu(Approximate::None)?;
        Ok((self.class.call(x.clone())?, self.number.call(x)?))
    }
}

#[test]
fn losses_of_several_heads() {
    healthy(|| {
        let model = Heads {
            trunk: Linear::new(10, 16)?,
            class: Linear::new(16, 4)?,
            number: Linear::new(16, 1)?,
        };
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Heads| {
            let (logits, number) = model.call(rows(16, 10)?)?;
            let class = CrossEntropyLoss::new().loss(&logits, &classes(16, 4)?)?;
            let number = MSELoss::new().loss(&number, &rows(16, 1)?)?;
            step(model, &mut optimizer, class.add(&number.mul(0.5)?)?)
        }))
    });
}
