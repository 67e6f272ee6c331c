//! Other kinds of losses.

use module_nn::prelude::*;
use module_nn::{InterpolateMode, functional};

use super::{classes, healthy, mlp, rows, step};

#[test]
fn a_regression() {
    healthy(|| {
        let model = mlp(6, 16, 1)?;
        let config = SGDConfig::new(0.05).momentum(0.9).weight_decay(1e-3);
        let mut optimizer = config.build(&model)?;
        Ok((model, move |model: &Sequential| {
            let x = rows(16, 6)?;
            let target = x.sum_keepdim(1)?;
            let loss = MSELoss::new().loss(&model.call(x)?, &target)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn two_classes_by_one_logit() {
    healthy(|| {
        let model = mlp(6, 16, 1)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            let x = rows(16, 6)?;
            let target = x.narrow(1, 0..1)?.gt(0.0)?.to_dtype(DType::F32)?;
            let loss = BCEWithLogitsLoss::new().loss(&model.call(x)?, &target)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn a_loss_that_compares_the_rows_of_a_batch() {
    healthy(|| {
        let model = mlp(6, 16, 8)?;
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Sequential| {
            // Each row and a noisy copy of it, which must be identified among all rows.
            let x = rows(12, 6)?;
            let copy = x.add(&x.randn_like()?.mul(0.1)?)?;
            let unit = |x: Tensor| {
                let x = model.call(x)?;
                x.div(&x.mul(&x)?.sum_keepdim(1)?.sqrt()?)
            };
            let similarities = unit(x)?.matmul(&unit(copy)?.transpose(0, 1)?)?;
            let own = Tensor::arange(0, 12, DType::I64)?;
            let loss = CrossEntropyLoss::new().loss(&similarities.div(0.1)?, &own)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// Two encoders, and the similarity of each image to each text.
#[derive(Module)]
struct Contrastive {
    images: Sequential,
    texts: Sequential,
    logit_scale: Parameter,
}

impl Forward<(Tensor, Tensor)> for Contrastive {
    type Output = (Tensor, Tensor);

    fn forward(&self, (images, texts): (Tensor, Tensor)) -> Result<Self::Output> {
        let unit = |x: Tensor| x.div(&x.square()?.sum_keepdim(1)?.sqrt()?);
        let images = unit(self.images.call(images)?)?;
        let texts = unit(self.texts.call(texts)?)?;
        let logits = images
            .matmul(&texts.t()?)?
            .mul(&self.logit_scale.tensor().exp()?)?;
        Ok((logits.clone(), logits.t()?))
    }
}

#[test]
fn images_and_texts_that_belong_together() {
    healthy(|| {
        let model = Contrastive {
            images: mlp(6, 16, 8)?,
            texts: mlp(5, 16, 8)?,
            logit_scale: Parameter::new(Tensor::from(2.6_f32))?,
        };
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Contrastive| {
            let (of_images, of_texts) = model.call((rows(24, 6)?, rows(24, 5)?))?;
            let own = Tensor::arange(0, 24, DType::I64)?;
            let criterion = CrossEntropyLoss::new();
            let both = criterion
                .loss(&of_images, &own)?
                .add(&criterion.loss(&of_texts, &own)?)?;
            step(model, &mut optimizer, both.div(2.0)?)
        }))
    });
}

#[test]
fn a_loss_of_triplets() {
    healthy(|| {
        let model = mlp(6, 16, 8)?;
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Sequential| {
            let x = rows(16, 6)?;
            let near = x.add(&x.randn_like()?.mul(0.1)?)?;
            let triplet = (model.call(x)?, model.call(near)?, model.call(rows(16, 6)?)?);
            let loss = TripletMarginLoss::new().call(triplet)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn a_penalty_that_draws_logits_to_zero() {
    healthy(|| {
        let model = mlp(6, 16, 3)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            let x = rows(16, 6)?;
            let logits = model.call(x)?;
            let zeros = logits.detach().zeros_like()?;
            let penalty = functional::mse_loss(&logits, &zeros, Reduction::Mean)?;
            let loss = logits.cross_entropy(&classes(16, 3)?, Default::default())?;
            step(model, &mut optimizer, loss.add(&penalty.mul(0.01)?)?)
        }))
    });
}

#[test]
fn masks_that_were_resized() {
    // Sums of weights and of what is left of one round to a little more than one.
    healthy(|| {
        let model = Conv2dConfig::new(3, 1, 3).padding(1).build()?;
        let resize = UpsampleConfig::new()
            .size([13_usize, 13])
            .mode(InterpolateMode::Bilinear)
            .build()?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Conv2d| {
            let masks = Tensor::randn([4, 1, 7, 7], DType::F32)?.gt(-1.0)?;
            let masks = resize.call(masks.to_dtype(DType::F32)?)?;
            let logits = model.call(Tensor::randn([4, 3, 13, 13], DType::F32)?)?;
            let loss = BCEWithLogitsLoss::new().loss(&logits, &masks)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn a_mixture_of_topics_whose_words_are_computed_with_the_loss() {
    healthy(|| {
        let model = Sequential::new()
            .push(mlp(6, 16, 4)?)
            .push(Softmax::new(1)?);
        let words = Linear::new(4, 20)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            let topics = model.call(rows(16, 6)?)?;
            let arguments = functional::LinearCrossEntropyArguments::default();
            let weight = words.weight().detach();
            let target = classes(16, 20)?;
            let loss = functional::linear_cross_entropy(&topics, &weight, &target, arguments)?;
            step(model, &mut optimizer, loss)
        }))
    });
}
