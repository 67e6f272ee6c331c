//! Fifty training steps from a seed, written as a user would: the data, the initial values, the batches, the dropout masks,
//! the learning rates and the losses match PyTorch's recording.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::Generator;
use module_nn::data::{DataLoader, DataLoaderConfig, TensorDataset};
use module_nn::optim::no_decay;
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};

const STEPS: usize = 50;
const SAMPLES: usize = 76;
const BATCH: usize = 8;

const VOCABULARY: usize = 11;
const LENGTH: usize = 12;
const WIDTH: usize = 16;

type Pairs = DataLoader<TensorDataset<(Tensor, Tensor)>>;

/// The plotted values of a step.
struct Point {
    loss: f64,
    norm: f64,
    lrs: Vec<f64>,
    momentums: Vec<f64>,
}

/// Logits of the next token.
#[derive(Module)]
struct Transformer {
    tokens: Embedding,
    positions: Embedding,
    dropout: Dropout,
    layers: Vec<TransformerEncoderLayer>,
    norm: LayerNorm,
    head: Linear,
}

impl Transformer {
    fn new() -> Result<Self> {
        let layer = |norm_first| {
            let config =
                TransformerEncoderLayerConfig::new(WIDTH, 2_usize).dim_feedforward(32_usize);
            let config = config
                .activation(TransformerActivation::Gelu)
                .batch_first(true);
            config.dropout(0.1).norm_first(norm_first).build()
        };
        Ok(Self {
            tokens: Embedding::new(VOCABULARY, WIDTH)?,
            positions: Embedding::new(LENGTH, WIDTH)?,
            dropout: Dropout::new(0.1)?,
            layers: [false, true]
                .into_iter()
                .map(layer)
                .collect::<Result<_>>()?,
            norm: LayerNorm::new(WIDTH)?,
            head: Linear::new(WIDTH, VOCABULARY)?,
        })
    }
}

impl Forward for Transformer {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let positions = self
            .positions
            .call(Tensor::arange(0, LENGTH as i64, DType::I64)?)?;
        let mut x = self.dropout.call(self.tokens.call(x)?.add(&positions)?)?;
        for layer in &self.layers {
            x = layer.call(TransformerEncoderLayerInput::new(x).is_causal(true))?;
        }
        self.head.call(self.norm.call(x)?)
    }
}

/// Logits of four classes.
fn cnn() -> Result<Sequential> {
    let conv = |from: usize, to: usize| Conv2dConfig::new(from, to, 3).padding(1);
    Ok(Sequential::new()
        .push(conv(1, 8).bias(false).build()?)
        .push(BatchNorm2d::new(8)?)
        .push(ReLU::new())
        .push(MaxPool2d::new(2)?)
        .push(conv(8, 12).build()?)
        .push(BatchNorm2d::new(12)?)
        .push(ReLU::new())
        .push(AvgPool2d::new(2)?)
        .push(Flatten::new())
        .push(Dropout::new(0.25)?)
        .push(Linear::new(48, 4)?))
}

/// Tokens that continue with a constant stride, modulo the vocabulary, and the tokens after them.
fn sequences() -> Result<TensorDataset<(Tensor, Tensor)>> {
    let start = Tensor::randint(0, VOCABULARY as i64, [SAMPLES, 1], DType::I64)?;
    let stride = Tensor::randint(1, 4, [SAMPLES, 1], DType::I64)?;
    let line = stride.mul(&Tensor::arange(0, LENGTH as i64 + 1, DType::I64)?)?;
    let line = line.add(&start)?.remainder(VOCABULARY as i64)?;
    TensorDataset::new((line.narrow(1, 0..LENGTH)?, line.narrow(1, 1..LENGTH + 1)?))
}

/// A pattern for each class, plus noise.
fn images(dtype: DType) -> Result<TensorDataset<(Tensor, Tensor)>> {
    let patterns = Tensor::randn([4, 1, 8, 8], DType::F32)?;
    let labels = Tensor::randint(0, 4, [SAMPLES], DType::I64)?;
    let noise = Tensor::randn([SAMPLES, 1, 8, 8], DType::F32)?;
    let images = patterns.index_select(0, &labels)?.add(&noise)?;
    TensorDataset::new((images.to_dtype(dtype)?, labels))
}

/// The typical training loop.
fn train(
    model: &impl Forward<Output = Tensor>,
    loader: &Pairs,
    optimizer: &mut dyn Optimizer,
    schedule: &mut dyn Schedule,
    loss_of: impl Fn(Tensor, Tensor) -> Result<Tensor>,
    max_norm: f64,
) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    loop {
        for batch in loader {
            let (x, y) = batch?;
            let loss = loss_of(model.call(x)?, y)?;
            model.zero_grad();
            loss.backward()?;
            let norm = clip_grad_norm(model, max_norm)?;
            let momentums = optimizer.group_momentums().into_iter();
            points.push(Point {
                loss: loss.to_dtype(DType::F64)?.item()?,
                norm,
                lrs: optimizer.group_lrs(),
                momentums: momentums.map(|m| m.expect("a momentum")).collect(),
            });
            optimizer.step(model)?;
            schedule.step(optimizer)?;
            if points.len() == STEPS {
                return Ok(points);
            }
        }
    }
}

/// The tolerance of a run, relative to the size of the compared values.
struct Limits {
    dtype: DType,
    curve: f64,
    parameters: f64,
}

const F32: Limits = Limits {
    dtype: DType::F32,
    curve: 1e-5,
    parameters: 1e-4,
};
const F64: Limits = Limits {
    dtype: DType::F64,
    curve: 1e-12,
    parameters: 1e-11,
};

/// A run recorded with PyTorch.
struct Recorded {
    seed: u64,
    max_norm: f64,
    tensors: StateDict,
    limits: Limits,
}

impl Recorded {
    fn read(name: &str, limits: Limits) -> Self {
        let suffix = if limits.dtype == DType::F32 {
            "f32"
        } else {
            "f64"
        };
        let (case, tensors) = golden::load(format!("curves/{name}_{suffix}.safetensors"));
        Self {
            seed: case["seed"].as_u64().expect("a seed"),
            max_norm: case["max_norm"].as_f64().expect("a number"),
            tensors,
            limits,
        }
    }

    fn get(&self, name: &str) -> &Tensor {
        self.tensors.get(name).expect("recorded")
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        let numbers = self.get(name).to_dtype(DType::F64).unwrap();
        numbers.to_vec::<f64>().unwrap()
    }

    /// The initial values are equal bit for bit.
    fn check_initial(&self, model: &dyn Module) {
        let state = model.state_dict().unwrap();
        assert!(!state.is_empty());
        for (key, value) in &state {
            let compared = compare(value, self.get(&format!("init.{key}")), Tolerance::EXACT);
            compared.unwrap_or_else(|text| panic!("the initial {key}: {text}"));
        }
    }

    fn check(&self, model: &dyn Module, points: &[Point]) {
        let of = |number: fn(&Point) -> f64| points.iter().map(number).collect::<Vec<f64>>();
        let flat = |numbers: fn(&Point) -> &[f64]| {
            let all = points.iter().flat_map(numbers);
            all.copied().collect::<Vec<f64>>()
        };
        let each = |expected: &[f64]| expected.iter().map(|v| v.abs()).collect::<Vec<f64>>();
        let Limits {
            curve, parameters, ..
        } = self.limits;
        for (what, found, limit) in [
            ("losses", of(|point| point.loss), curve),
            ("norms", of(|point| point.norm), 10.0 * curve),
            ("rates", flat(|point| &point.lrs), 1e-14),
            ("momentums", flat(|point| &point.momentums), 1e-14),
        ] {
            let expected = self.numbers(what);
            close(what, &found, &expected, &each(&expected), limit);
        }
        for (key, value) in &model.state_dict().unwrap() {
            let expected = self.numbers(&format!("after.{key}"));
            let mut found = value.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
            if key.ends_with("in_proj_bias") {
                // The softmax is invariant to the bias of the keys: its gradient is rounding, which Adam turns into full
                // steps.
                found[WIDTH..2 * WIDTH].copy_from_slice(&expected[WIDTH..2 * WIDTH]);
            }
            let largest = each(&expected).into_iter().fold(0.0, f64::max);
            let scale = vec![largest; expected.len()];
            close(key, &found, &expected, &scale, parameters);
        }
        // The same number of values was drawn as in PyTorch.
        let next = Tensor::rand([4], DType::F32).unwrap();
        compare(&next, self.get("next"), Tolerance::EXACT).unwrap();
    }
}

fn close(what: &str, found: &[f64], expected: &[f64], scale: &[f64], limit: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, ((a, b), scale)) in found.iter().zip(expected).zip(scale).enumerate() {
        let is_close = (a - b).abs() <= limit * scale;
        assert!(is_close, "{what} {i}: {a} instead of {b}");
    }
}

fn transformer(limits: Limits) -> Result<()> {
    let run = Recorded::read("transformer", limits);
    manual_seed(run.seed);
    let dataset = sequences()?;
    let model = Transformer::new()?;
    model.to_dtype(run.limits.dtype)?;
    run.check_initial(&model);

    let config = AdamWConfig::new(0.02).betas((0.9, 0.98)).weight_decay(0.1);
    let config = config.group(no_decay(&model), |group| group.weight_decay(0.0));
    let mut optimizer = config.build(&model)?;
    let schedule = WarmupCosineConfig::new(10_usize, STEPS).min_lr(1e-4);
    let mut schedule = schedule.build(&mut optimizer)?;
    let loader = DataLoaderConfig::new()
        .batch_size(BATCH)
        .shuffle(true)
        .build(dataset)?;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let loss_of =
        |logits: Tensor, y: Tensor| criterion.loss(&logits.flatten(0, 1)?, &y.flatten(0, -1)?);
    let points = train(
        &model,
        &loader,
        &mut optimizer,
        &mut schedule,
        loss_of,
        run.max_norm,
    )?;
    run.check(&model, &points);
    Ok(())
}

fn convolutions(limits: Limits) -> Result<()> {
    let run = Recorded::read("cnn", limits);
    manual_seed(run.seed);
    let dataset = images(run.limits.dtype)?;
    let model = cnn()?;
    model.to_dtype(run.limits.dtype)?;
    run.check_initial(&model);

    let config = SGDConfig::new(0.1)
        .momentum(0.9)
        .nesterov(true)
        .weight_decay(1e-3);
    let mut optimizer = config.build(&model)?;
    let mut schedule = OneCycleLR::new(&mut optimizer, 0.1, STEPS)?;
    let loader = DataLoaderConfig::new().batch_size(BATCH).shuffle(true);
    let loader = loader
        .generator(Generator::new(run.seed + 1))
        .build(dataset)?;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let loss_of = |logits: Tensor, y: Tensor| criterion.loss(&logits, &y);
    let points = train(
        &model,
        &loader,
        &mut optimizer,
        &mut schedule,
        loss_of,
        run.max_norm,
    )?;
    run.check(&model, &points);
    Ok(())
}

#[test]
fn a_transformer_follows_the_curve_of_pytorch() {
    for limits in [F32, F64] {
        fork_rng(0, || transformer(limits)).unwrap();
    }
}

#[test]
fn a_batch_normed_cnn_follows_the_curve_of_pytorch() {
    for limits in [F32, F64] {
        fork_rng(0, || convolutions(limits)).unwrap();
    }
}
