//! Inputs that lose all their information, and sums that lose most of it.

use module_nn::audit::{Audit, FindingKind};
use module_nn::prelude::*;

use super::support::{
    audited, classes, cross_entropy_of, rows, shows, shows_all, trained, trained_by,
};

/// Multiplies its input by a scale that is zero by mistake.
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
        trained(&model, cross_entropy_of)
    });
}

#[test]
fn a_loss_that_does_not_depend_on_the_input_where_the_time_is_first() {
    // Each time step has a different output, but the rows are equal.
    shows(FindingKind::InputIndependentLoss, "", |bug| {
        let model = Timed {
            layer: Linear::new(6, 3)?,
            times: Buffer::new(Tensor::randn([5, 1, 3], DType::F32)?),
            bug,
        };
        let audit = Audit::new(&model).batch_dim(1);
        trained_by(audit, &model, |model| {
            model
                .call(Tensor::randn([5, 4, 6], DType::F32)?)?
                .square()?
                .mean(..)
        })
    });
}

/// A layer with a vector for each time step, before which its input may be lost.
#[derive(Module)]
struct Timed {
    layer: Linear,
    times: Buffer,
    #[module(skip)]
    bug: bool,
}

impl Forward for Timed {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.layer.call(x.mul(if self.bug { 0.0 } else { 1.0 })?)?;
        x.add(self.times.tensor())
    }
}

#[test]
fn pitfall_60_a_size_of_which_the_strides_crop_the_end() {
    // In the height and in the width.
    let paths = ["", ""];
    shows_all(FindingKind::UnusedInput, &paths, "indices 8 to 9", |bug| {
        // Patches of 4: of 10 pixels, the last two are in no patch.
        let size = if bug { 10 } else { 8 };
        let model = Sequential::new()
            .push(Conv2dConfig::new(1, 8, 4).stride(4).build()?)
            .push(Flatten::new())
            .push(Linear::new(32, 3)?);
        trained(&model, |model| {
            let images = Tensor::randn([8, 1, size, size], DType::F32)?;
            CrossEntropyLoss::new().loss(&model.call(images)?, &classes(8, 3)?)
        })
    });
}

#[test]
fn sums_in_half_precision() {
    shows(FindingKind::PrecisionLoss, "", |bug| {
        let model = Linear::new(6, 3)?;
        trained(&model, |model| {
            // The losses of parts of a batch, summed in a loop.
            let dtype = if bug { DType::BF16 } else { DType::F32 };
            let mut total = Tensor::zeros((), dtype)?;
            for _ in 0..40 {
                let logits = model.call(rows(4, 6)?)?;
                let loss = CrossEntropyLoss::new().loss(&logits, &classes(4, 3)?)?;
                total = total.add(&loss.to_dtype(dtype)?)?;
            }
            total.div(40.0)
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

/// Two results of two inputs, one of which may be lost on the way.
#[derive(Module)]
struct Half {
    layer: Linear,
    #[module(skip)]
    scales: [f64; 2],
}

impl Forward<(Tensor, Tensor)> for Half {
    type Output = (Tensor, Tensor);

    fn forward(&self, (x, bias): (Tensor, Tensor)) -> Result<Self::Output> {
        let [first, second] = self.scales.map(|scale| self.layer.call(x.mul(scale)?));
        Ok((first?.add(&bias)?, second?))
    }
}

/// The number of findings if the input of each result has this scale, with this many rows.
fn independent(count: usize, scales: [f64; 2]) -> usize {
    let report = fork_rng(0, || {
        let model = Half {
            layer: Linear::new(6, 3)?,
            scales,
        };
        // Another input is the same for all rows, and has a different size.
        let bias = Tensor::ones([3], DType::F32)?;
        trained(&model, |model| {
            let (first, second) = model.call((rows(count, 6)?, bias.clone()))?;
            first.add(&second)?.square()?.mean(..)
        })
    });
    let kind = FindingKind::InputIndependentLoss;
    report.unwrap().of_kind(kind).count()
}

#[test]
fn all_results_must_be_the_same_for_all_rows() {
    for count in [2, 16] {
        assert_eq!(independent(count, [0.0, 0.0]), 1);
        assert_eq!(independent(count, [0.0, 1.0]), 0);
        assert_eq!(independent(count, [1.0, 0.0]), 0);
    }
    assert_eq!(independent(1, [0.0, 0.0]), 0);
}

/// A layer whose input is occasionally lost.
#[derive(Module)]
struct Fading {
    layer: Linear,
    scale: Buffer,
}

impl Forward for Fading {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.layer.call(x.mul(self.scale.tensor())?)
    }
}

/// The paths of the findings for two models that scale their inputs like this in each step; one without a scale is not
/// called.
fn fading(scales: [[Option<f32>; 2]; 2]) -> Vec<String> {
    let report = fork_rng(0, || {
        let part = || -> Result<Fading> {
            Ok(Fading {
                layer: Linear::new(6, 3)?,
                scale: Buffer::new(Tensor::from(1.0_f32)),
            })
        };
        let model = [part()?, part()?];
        let mut scales = scales.into_iter();
        trained(&model, |model| {
            let mut loss = Tensor::from(0.0_f32);
            for (part, scale) in model.iter().zip(scales.next().unwrap_or_default()) {
                if let Some(scale) = scale {
                    part.scale.set(Tensor::from(scale))?;
                    let y = part.call(rows(16, 6)?)?;
                    loss = loss.add(&y.square()?.mean(..)?)?;
                }
            }
            Ok(loss)
        })
    });
    let report = report.unwrap();
    let found = report.of_kind(FindingKind::InputIndependentLoss);
    found.map(|it| it.path.clone()).collect()
}

#[test]
fn what_is_lost_in_each_step_alone_is_a_finding() {
    let [lost, kept] = [Some(0.0), Some(1.0)];
    assert_eq!(fading([[lost, kept], [lost, kept]]), ["0"]);
    assert_eq!(fading([[kept, lost], [kept, lost]]), ["1"]);
    assert!(fading([[lost, kept], [kept, kept]]).is_empty());
    assert!(fading([[kept, lost], [lost, kept]]).is_empty());
    // A layer that is no longer called may not have learned yet.
    assert!(fading([[lost, kept], [None, kept]]).is_empty());
}
