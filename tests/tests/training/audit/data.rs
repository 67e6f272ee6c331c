//! Inputs and targets from which nothing can be learned.

use module_nn::audit::{AuditReport, FindingKind};
use module_nn::prelude::*;

use super::support::{audited, classes, rows, shows, step};

/// A perceptron that is trained on targets of this loss.
fn trained<L: Loss>(
    criterion: &L,
    outputs: usize,
    target: impl Fn() -> Result<Tensor>,
) -> Result<AuditReport> {
    let model = Sequential::new()
        .push(Linear::new(6, 16)?)
        .push(Tanh::new())
        .push(Linear::new(16, outputs)?);
    let mut optimizer = SGD::new(&model, 0.1)?;
    audited(&model, || {
        let loss = criterion.loss(&model.call(rows(16, 6)?)?, &target()?)?;
        step(&model, &mut optimizer, loss)
    })
}

#[test]
fn pitfall_58_targets_that_are_all_ignored() {
    shows(FindingKind::SuspiciousTargets, "CrossEntropyLoss", |bug| {
        // The sum is 0, so that nothing but the targets tells.
        let criterion = CrossEntropyLossConfig::new()
            .reduction(Reduction::Sum)
            .build()?;
        trained(&criterion, 3, || match bug {
            true => Tensor::full([16], -100_i64, DType::I64),
            false => classes(16, 3),
        })
    });
}

#[test]
fn targets_that_are_all_equal() {
    shows(FindingKind::SuspiciousTargets, "CrossEntropyLoss", |bug| {
        // A loader whose labels were never filled in.
        trained(&CrossEntropyLoss::new(), 3, || match bug {
            true => Tensor::zeros([16], DType::I64),
            false => classes(16, 3),
        })
    });
    shows(FindingKind::SuspiciousTargets, "MSELoss", |bug| {
        trained(&MSELoss::new(), 1, || match bug {
            true => Tensor::full([16, 1], 0.5, DType::F32),
            false => rows(16, 1),
        })
    });
}

#[test]
fn targets_that_are_no_probabilities() {
    shows(FindingKind::SuspiciousTargets, "BCEWithLogitsLoss", |bug| {
        // Labels of 0 and 255, as they stand in a mask.
        trained(&BCEWithLogitsLoss::new(), 1, || {
            let labels = classes(16, 2)?.to_dtype(DType::F32)?.unsqueeze(1)?;
            labels.mul(if bug { 255.0 } else { 1.0 })
        })
    });
}

#[test]
fn targets_beyond_what_the_last_layer_can_give() {
    shows(FindingKind::SuspiciousTargets, "MSELoss", |bug| {
        let model = Sequential::new()
            .push(Linear::new(6, 4)?)
            .push(Sigmoid::new());
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let target = if bug {
                rows(16, 4)?
            } else {
                rows(16, 4)?.sigmoid()?
            };
            let loss = MSELoss::new().loss(&model.call(rows(16, 6)?)?, &target)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

/// Multiplies its input with a scale, which a slip made zero.
#[derive(Module)]
struct Scaled {
    layer: Linear,
    #[module(skip)]
    scale: f64,
}

impl Forward for Scaled {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.layer.call(x.mul(self.scale)?)
    }
}

#[test]
fn a_loss_that_does_not_depend_on_the_input() {
    shows(FindingKind::InputIndependentLoss, "", |bug| {
        let model = Scaled {
            layer: Linear::new(6, 3)?,
            // A normalization by a number that is not one.
            scale: if bug { 0.0 } else { 1.0 / 3.0 },
        };
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let logits = model.call(rows(16, 6)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

/// Normalizes over a dimension, which may be the wrong one.
#[derive(Module)]
struct Normalizing {
    hidden: Linear,
    norm: Over,
    head: Linear,
}

#[derive(Module)]
struct Over {
    scale: Parameter,
    #[module(skip)]
    dim: isize,
}

impl Forward for Over {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = x.sub(&x.mean_keepdim(self.dim)?)?;
        x.mul(self.scale.tensor())
    }
}

impl Forward for Normalizing {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head
            .call(self.norm.call(self.hidden.call(x)?)?.tanh()?)
    }
}

#[test]
fn rows_that_leak_into_others() {
    shows(FindingKind::BatchLeak, "norm", |bug| {
        let model = Normalizing {
            hidden: Linear::new(6, 16)?,
            norm: Over {
                scale: Parameter::new(rows(1, 16)?)?,
                dim: if bug { 0 } else { -1 },
            },
            head: Linear::new(16, 3)?,
        };
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let logits = model.call(rows(16, 6)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

/// Words that attend to each other, and a class for each sentence.
#[derive(Module)]
struct Sentences {
    words: Embedding,
    attention: MultiheadAttention,
    head: Linear,
}

impl Forward for Sentences {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.words.call(x)?.mul(1.0)?;
        let (x, _) = self.attention.call((x.clone(), x.clone(), x))?;
        self.head.call(x.mean(1)?)
    }
}

#[test]
fn sentences_that_attend_to_others() {
    shows(FindingKind::BatchLeak, "attention", |bug| {
        // PyTorch's default is to have the time first.
        let attention = MultiheadAttentionConfig::new(8, 2).batch_first(!bug);
        let model = Sentences {
            words: Embedding::new(20, 8)?,
            attention: attention.build()?,
            head: Linear::new(8, 3)?,
        };
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let x = Tensor::randint(0, 20, [6, 5], DType::I64)?;
            let logits = model.call(x)?;
            let target = Tensor::from([0_i64, 1, 2, 0, 1, 2]);
            let loss = CrossEntropyLoss::new().loss(&logits, &target)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

#[test]
fn pitfall_60_a_size_of_which_the_strides_crop_the_end() {
    shows(FindingKind::UnusedInput, "", |bug| {
        // Patches of 4: of 10 pixels the last two are in none.
        let size = if bug { 10 } else { 8 };
        let model = Sequential::new()
            .push(Conv2dConfig::new(1, 8, 4).stride(4).build()?)
            .push(Flatten::new())
            .push(Linear::new(32, 3)?);
        let mut optimizer = SGD::new(&model, 0.05)?;
        audited(&model, || {
            let images = Tensor::randn([8, 1, size, size], DType::F32)?;
            let loss = CrossEntropyLoss::new().loss(&model.call(images)?, &classes(8, 3)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

#[test]
fn sums_in_half_precision() {
    shows(FindingKind::PrecisionLoss, "", |bug| {
        let model = Linear::new(6, 3)?;
        let mut optimizer = SGD::new(&model, 0.05)?;
        audited(&model, || {
            // The losses of parts of a batch, added in a loop.
            let dtype = if bug { DType::BF16 } else { DType::F32 };
            let mut total = Tensor::zeros((), dtype)?;
            for _ in 0..40 {
                let logits = model.call(rows(4, 6)?)?;
                let loss = CrossEntropyLoss::new().loss(&logits, &classes(4, 3)?)?;
                total = total.add(&loss.to_dtype(dtype)?)?;
            }
            step(&model, &mut optimizer, total.div(40.0)?)
        })
    });
}

#[test]
fn gradients_of_many_passes_in_half_precision() {
    shows(FindingKind::PrecisionLoss, "weight", |bug| {
        let model = Linear::new(6, 3)?;
        let dtype = if bug { DType::BF16 } else { DType::F32 };
        model.to_dtype(dtype)?;
        let mut optimizer = SGD::new(&model, 0.5)?;
        audited(&model, || {
            model.zero_grad();
            for _ in 0..20 {
                let logits = model.call(rows(4, 6)?.to_dtype(dtype)?)?;
                let loss = CrossEntropyLoss::new().loss(&logits, &classes(4, 3)?)?;
                loss.div(20.0)?.backward()?;
            }
            optimizer.step(&model)?;
            Tensor::zeros((), DType::F32)
        })
    });
}
