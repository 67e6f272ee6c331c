//! Mixtures of experts: each row uses a part of the network.

use module_nn::prelude::*;

use super::{classes, healthy, rows, step};

/// Experts, with a router that chooses one for each row.
#[derive(Module)]
struct Experts {
    router: Linear,
    experts: Vec<Linear>,
    head: Linear,
}

impl Experts {
    fn new() -> Result<Self> {
        let router = Linear::new(6, 4)?;
        // The last one is not yet chosen.
        let bias = router.get_parameter("bias")?;
        let last = Tensor::arange(0, 4, DType::I64)?.eq(3_i64)?;
        bias.set(bias.detach().masked_fill(&last, -50.0)?)?;
        let experts: Result<_> = (0..4).map(|_| Linear::new(6, 16)).collect();
        Ok(Self {
            router,
            experts: experts?,
            head: Linear::new(16, 3)?,
        })
    }
}

impl Forward for Experts {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let weights = self.router.call(x.clone())?.softmax(1)?;
        let chosen = weights.argmax(1)?;
        let mut y = Tensor::zeros([x.size(0)?, 16], DType::F32)?;
        for (i, expert) in self.experts.iter().enumerate() {
            let places = chosen.eq(i as i64)?.nonzero()?.squeeze(1)?;
            let weight = weights.select(1, i as isize)?.unsqueeze(1)?;
            let rows = expert.call(x.index_select(0, &places)?)?;
            let rows = rows.mul(&weight.index_select(0, &places)?)?;
            y = y.index_add(0, &places, &rows)?;
        }
        self.head.call(y.tanh()?)
    }
}

#[test]
fn experts_that_no_row_takes_yet() {
    healthy(|| {
        let model = Experts::new()?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Experts| {
            let logits = model.call(rows(16, 6)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// The mean of the words of each text; the texts are concatenated.
#[derive(Module)]
struct Bags {
    words: EmbeddingBag,
    head: Linear,
}

impl Forward<(Tensor, Tensor)> for Bags {
    type Output = Tensor;

    fn forward(&self, (words, offsets): (Tensor, Tensor)) -> Result<Tensor> {
        self.head.call(self.words.call((words, offsets))?)
    }
}

#[test]
fn bags_of_words_most_of_which_are_not_used() {
    healthy(|| {
        let model = Bags {
            words: EmbeddingBag::new(500, 16)?,
            head: Linear::new(16, 3)?,
        };
        let mut optimizer = SGD::new(&model, 1.0)?;
        Ok((model, move |model: &Bags| {
            let words = Tensor::randint(0, 500, [32], DType::I64)?;
            let offsets = Tensor::arange(0, 8, DType::I64)?.mul(4_i64)?;
            let logits = model.call((words, offsets))?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(8, 3)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}
