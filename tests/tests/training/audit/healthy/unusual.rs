//! Code that looks like a mistake but is not.

use module_nn::prelude::*;

use super::super::support::{Net, cross_entropy_of, trained};
use super::{classes, healthy, mlp, rows};

/// Two steps of SGD, over a few seeds.
fn healthy_by_sgd<M: Module>(build: impl Fn() -> Result<M>, loss: impl Fn(&M) -> Result<Tensor>) {
    for seed in 0..5 {
        let report = fork_rng(seed, || trained(&build()?, &loss)).unwrap();
        assert!(report.is_clean(), "seed {seed}\n{report}");
    }
}

/// A student and its teacher.
#[derive(Module)]
struct Pair {
    student: Sequential,
    teacher: Sequential,
}

/// The distance of the student from the teacher.
fn distance(model: &Pair) -> Result<Tensor> {
    let x = rows(16, 6)?;
    let goal = no_grad(|| model.teacher.call(x.clone()))?;
    MSELoss::new().loss(&model.student.call(x)?, &goal)
}

#[test]
fn a_frozen_teacher_with_silent_units() {
    let build = || {
        let model = Pair {
            student: mlp(6, 16, 3)?,
            teacher: mlp(6, 16, 3)?,
        };
        let bias = model.teacher.get_parameter("0.bias")?;
        bias.set(bias.detach().sub(50.0)?)?;
        model.freeze("teacher")?;
        Ok(model)
    };
    healthy_by_sgd(build, distance);
}

#[test]
fn a_teacher_that_follows_its_student() {
    let normed = || -> Result<Sequential> {
        Ok(Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(BatchNorm1d::new(16)?)
            .push(Linear::new(16, 3)?))
    };
    healthy(|| {
        let model = Pair {
            student: normed()?,
            teacher: normed()?,
        };
        // Only its parameters: the statistics are its own.
        model.teacher.freeze_parameters(Select::all())?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Pair| {
            let loss = super::step(model, &mut optimizer, distance(model)?)?;
            let (teacher, student) = (model.teacher.parameters(), model.student.parameters());
            for (teacher, student) in teacher.zip(student) {
                let way = student.detach().sub(teacher.detach())?;
                teacher.set(teacher.detach().add(way.mul(0.1)?)?)?;
            }
            Ok(loss)
        }))
    });
}

/// Counts its calls in both modes.
#[derive(Module)]
struct Counting {
    layer: Linear,
    calls: Buffer,
}

impl Forward for Counting {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.calls.set(self.calls.tensor().add(1_i64)?)?;
        self.layer.call(x)
    }
}

#[test]
fn a_counter_in_a_frozen_part() {
    let build = || {
        let counting = Counting {
            layer: Linear::new(6, 16)?,
            calls: Buffer::new(Tensor::from(0_i64)),
        };
        counting.freeze_parameters(Select::all())?;
        Ok(Sequential::new().push(counting).push(Linear::new(16, 3)?))
    };
    healthy_by_sgd(build, cross_entropy_of);
}

#[test]
fn constant_statistics_in_a_network_that_is_trained() {
    let build = || {
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(BatchNorm1d::new(16)?)
            .push(Linear::new(16, 3)?);
        model.freeze("1")?;
        model.eval();
        Ok(model)
    };
    healthy_by_sgd(build, cross_entropy_of);
}

#[test]
fn a_dropout_that_is_switched_off() {
    let build = || {
        let dropout = Dropout::new(0.5)?;
        dropout.eval();
        Ok(Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(BatchNorm1d::new(16)?)
            .push(dropout)
            .push(Linear::new(16, 3)?))
    };
    healthy_by_sgd(build, cross_entropy_of);
}

#[test]
fn inputs_far_from_one_before_a_normalization() {
    let build = || {
        Ok(Sequential::new()
            .push(Flatten::new())
            .push(BatchNorm1d::new(6)?)
            .push(Linear::new(6, 3)?))
    };
    healthy_by_sgd(build, |model| {
        let logits = model.call(rows(16, 6)?.mul(1e7)?)?;
        CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)
    });
}

/// A regression with a bounded output.
#[derive(Module)]
struct Bounded {
    layer: Linear,
    excess: ReLU,
}

#[test]
fn a_bound_that_is_kept() {
    let build = || {
        Ok(Bounded {
            layer: Linear::new(6, 1)?,
            excess: ReLU::new(),
        })
    };
    healthy_by_sgd(build, |model| {
        let y = model.layer.call(rows(16, 6)?)?;
        let excess = model.excess.call(y.sub(100.0)?)?.mean(..)?;
        MSELoss::new().loss(&y, &rows(16, 1)?)?.add(&excess)
    });
}

#[test]
fn logits_that_share_one_of_two_properties_of_probabilities() {
    // Between 0 and 1.
    let net = || Net::new(|net, x| net.plain(x)?.sigmoid());
    healthy_by_sgd(net, cross_entropy_of);
    // With a sum of one.
    let net = || {
        Net::new(|net, x| {
            let x = net.plain(x)?.mul(5.0)?;
            x.sub(&x.mean_keepdim(1)?)?.add(1.0 / 3.0)
        })
    };
    healthy_by_sgd(net, cross_entropy_of);
}

#[test]
fn an_input_that_learns() {
    healthy_by_sgd(
        || Net::new(Net::plain),
        |model| {
            let logits = model.call(rows(16, 6)?.with_grad()?)?;
            CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)
        },
    );
}

/// Omits one of its features, a different one in each call.
#[derive(Module)]
struct Skipping {
    layer: Linear,
    next: Buffer,
}

impl Forward for Skipping {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let next = self.next.tensor();
        self.next.set(next.add(1_i64)?)?;
        let kept = Tensor::arange(0, 6, DType::I64)?.ne(&next)?;
        self.layer.call(x.mul(&kept.to_dtype(DType::F32)?)?)
    }
}

#[test]
fn a_feature_that_is_left_out_in_turn() {
    let build = || {
        Ok(Skipping {
            layer: Linear::new(6, 3)?,
            next: Buffer::new(Tensor::from(0_i64)),
        })
    };
    healthy_by_sgd(build, cross_entropy_of);
}

#[test]
fn weights_that_start_at_nearly_nothing() {
    healthy(|| {
        let model = Net::new(Net::plain)?;
        let weight = model.head.weight();
        weight.set(weight.detach().mul(1e-4)?)?;
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Net| {
            let loss = cross_entropy_of(model)?;
            super::step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn two_samples_of_one_class() {
    healthy_by_sgd(
        || Net::new(Net::plain),
        |model| {
            let logits = model.call(rows(2, 6)?)?;
            CrossEntropyLoss::new().loss(&logits, &Tensor::from([1_i64, 1]))
        },
    );
}

#[test]
fn gradients_that_are_kept_as_zeros() {
    healthy(|| {
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Net| {
            let loss = cross_entropy_of(model)?;
            loss.backward()?;
            optimizer.step(model)?;
            // Like `zero_grad(set_to_none=False)`.
            for parameter in model.parameters() {
                parameter.set_grad(parameter.detach().zeros_like()?)?;
            }
            Ok(loss)
        }))
    });
}

#[test]
fn a_network_of_constant_inputs() {
    healthy_by_sgd(
        || Net::new(Net::plain),
        |model| {
            let logits = model.call(Tensor::ones([16, 6], DType::F32)?)?;
            CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)
        },
    );
}

/// Scales of channels, like those of images.
#[derive(Module)]
struct Scales {
    scale: Parameter,
    layer: Linear,
}

impl Forward for Scales {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let scale = self.scale.tensor().transpose(0, 1)?;
        self.layer.call(x.mul(&scale)?)
    }
}

#[test]
fn scales_that_start_equal() {
    let build = || {
        Ok(Scales {
            scale: Parameter::new(Tensor::ones([6, 1], DType::F32)?)?,
            layer: Linear::new(6, 3)?,
        })
    };
    healthy_by_sgd(build, cross_entropy_of);
}

/// The mask added to the scores of attention, as written without infinity.
#[derive(Module)]
struct CausalMask(Marker);

impl Forward for CausalMask {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let length = x.size(1)?;
        let is_behind = Tensor::ones([length, length], DType::F32)?.triu(1)?;
        is_behind.mul(f64::from(f32::MIN))
    }
}

/// The mean of what each word can see, weighted by attention.
#[derive(Module)]
struct Reading {
    words: Linear,
    query: Linear,
    mask: CausalMask,
    head: Linear,
}

impl Forward for Reading {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.words.call(x)?;
        let scores = self.query.call(x.clone())?.matmul(&x.transpose(1, 2)?)?;
        let weights = scores.add(&self.mask.call(x.clone())?)?.softmax(-1)?;
        self.head.call(weights.matmul(&x)?.mean(1)?)
    }
}

#[test]
fn a_mask_of_the_least_number() {
    let build = || {
        Ok(Reading {
            words: Linear::new(6, 16)?,
            query: Linear::new(16, 16)?,
            mask: CausalMask(Marker::new()),
            head: Linear::new(16, 3)?,
        })
    };
    healthy_by_sgd(build, |model| {
        let logits = model.call(Tensor::randn([16, 5, 6], DType::F32)?)?;
        CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)
    });
}
