//! Audited steps train exactly like others.

use module_nn::activation_checkpoint::checkpoint;
use module_nn::audit::Audit;
use module_nn::prelude::*;
use std::sync::Arc;

use super::support::{classes, rows, step};

/// Statistics, random draws, and a block that is recomputed.
#[derive(Module)]
struct Net {
    block: Arc<Sequential>,
    dropout: Dropout,
    head: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let block = self.block.clone();
        let x = checkpoint(move |x| block.call(x), x)?;
        self.head.call(self.dropout.call(x)?)
    }
}

/// The state after four steps, the first two of which may be audited, and a number drawn after them.
fn trained(audited: bool) -> Result<(StateDict, Vec<f32>)> {
    let block = Sequential::new()
        .push(Linear::new(6, 16)?)
        .push(BatchNorm1d::new(16)?)
        .push(Dropout::new(0.2)?)
        .push(ReLU::new());
    let model = Net {
        block: Arc::new(block),
        dropout: Dropout::new(0.2)?,
        head: Linear::new(16, 3)?,
    };
    let mut optimizer = AdamW::new(&model, 0.01)?;
    let mut train = || {
        let logits = model.call(rows(16, 6)?)?;
        let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
        step(&model, &mut optimizer, loss)
    };
    match audited {
        true => {
            let report = Audit::new(&model).run(|_| train())?;
            assert!(report.is_clean(), "{report}");
        }
        false => (0..2).try_for_each(|_| train().map(drop))?,
    }
    train()?;
    train()?;
    Ok((model.state_dict()?, rows(1, 4)?.to_vec()?))
}

#[test]
fn an_audited_training_ends_with_the_same_bits() {
    for seed in 0..5 {
        let [(plain, drawn), (watched, drawn_too)] =
            [false, true].map(|audited| fork_rng(seed, || trained(audited)).unwrap());
        assert!(plain.equal(&watched).unwrap());
        assert_eq!(drawn, drawn_too);
    }
}
