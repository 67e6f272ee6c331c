//! Adapters on a four-bit base, trained as in QLoRA, compared with the same adapters on the base in full precision.

use module_nn::lora::{self, LoraConfig};
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, quantize};
use module_nn::{IndexMap, fork_rng};

const VOCABULARY: usize = 13;
const WIDTH: usize = 64;
const STEPS: usize = 40;

/// Logits of the next token.
#[derive(Module)]
struct Transformer {
    tokens: Embedding,
    layers: Vec<TransformerEncoderLayer>,
    head: Linear,
}

impl Transformer {
    fn new() -> Self {
        let layer = || {
            TransformerEncoderLayerConfig::new(WIDTH, 4_usize)
                .dim_feedforward(4 * WIDTH)
                .batch_first(true)
                .dropout(0.0)
                .build()
                .unwrap()
        };
        Self {
            tokens: Embedding::new(VOCABULARY, WIDTH).unwrap(),
            layers: (0..2).map(|_| layer()).collect(),
            head: Linear::new(WIDTH, VOCABULARY).unwrap(),
        }
    }
}

impl Forward for Transformer {
    type Output = Tensor;

    fn forward(&self, tokens: Tensor) -> Result<Tensor> {
        let mut x = self.tokens.call(tokens)?;
        for layer in &self.layers {
            x = layer.call(x)?;
        }
        self.head.call(x)
    }
}

const BASE: [&str; 3] = ["layers.*.linear1", "layers.*.linear2", "head"];

fn base_of(model: &Transformer) -> IndexMap<String, Tensor> {
    let state = model.state_dict().unwrap();
    let base = state.iter().filter(|(key, _)| !key.contains("lora_"));
    base.map(|(key, value)| (key.to_owned(), value.clone()))
        .collect()
}

/// A training of adapters on a base that may be packed.
struct Run {
    losses: Vec<f32>,
    /// The base in its stored form.
    bytes: usize,
    model: Transformer,
}

/// The precision in which adapters are trained.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Precision {
    /// Parameters and products in `F32`.
    Single,
    /// The parameters of the adapters in `BF16`, the inputs of the layers in `F32`.
    HalfAdapters,
    /// Parameters in `F32`, products in `BF16`.
    HalfProducts,
}

fn train(scheme: Option<Scheme>, precision: Precision) -> Run {
    manual_seed(3);
    let mut model = Transformer::new();
    let report = lora::add_adapter(&mut model, "default", BASE, &LoraConfig::new().r(8)).unwrap();
    assert_eq!(report.matched.len(), 5);
    if let Some(scheme) = scheme {
        let report = quantize(&model, BASE.map(|path| format!("{path}.weight")), scheme).unwrap();
        assert_eq!(report.quantized.len(), 5);
    }
    let adapters = model
        .named_parameters()
        .filter(|(key, _)| key.contains("lora_"));
    let adapters: Vec<Parameter> = adapters.map(|(_, parameter)| parameter.share()).collect();
    if precision == Precision::HalfAdapters {
        adapters.bfloat16().unwrap();
    }
    let before = base_of(&model);
    let mut optimizer = AdamWConfig::new(1e-2).build(&model).unwrap();
    // Each token is followed by one that a permutation gives.
    let highest = i64::try_from(VOCABULARY).unwrap();
    let tokens = Tensor::randint(0, highest, [16, 8], DType::I64).unwrap();
    let next = tokens.mul(5).unwrap().add(3).unwrap();
    let targets = next.remainder(highest).unwrap().reshape([-1]).unwrap();
    let criterion = CrossEntropyLoss::new();
    let mut losses = Vec::new();
    for _ in 0..STEPS {
        let pass = || {
            let logits = model.call(tokens.clone()).unwrap();
            let logits = logits.reshape([128, VOCABULARY]).unwrap();
            criterion.loss(&logits, &targets)
        };
        let loss = match precision {
            Precision::HalfProducts => autocast(DType::BF16, pass),
            _ => pass(),
        };
        let loss = loss.unwrap();
        assert_eq!(loss.dtype(), DType::F32);
        losses.push(loss.item::<f32>().unwrap());
        model.zero_grad();
        loss.backward().unwrap();
        optimizer.step(&model).unwrap();
    }
    let dtype = match precision {
        Precision::HalfAdapters => DType::BF16,
        _ => DType::F32,
    };
    for adapter in &adapters {
        assert_eq!(
            (adapter.dtype(), adapter.grad().unwrap().dtype()),
            (dtype, dtype)
        );
    }
    for (key, after) in base_of(&model) {
        let (before, after) = (before[&key].unpack().unwrap(), after.unpack().unwrap());
        assert!(before.equal(&after).unwrap(), "{key}");
    }
    let bytes = before.values().map(Tensor::nbytes).sum();
    Run {
        losses,
        bytes,
        model,
    }
}

fn last(run: &Run) -> f32 {
    *run.losses.last().unwrap()
}

#[test]
fn adapters_on_a_base_of_four_bits_learn_in_half_precision_too() {
    let train = |precision| fork_rng(3, || train(Some(Scheme::NF4), precision));
    let single = train(Precision::Single);
    for precision in [Precision::HalfAdapters, Precision::HalfProducts] {
        let half = train(precision);
        println!(
            "{precision:?}: loss {} to {}, in F32 {}",
            half.losses[0],
            last(&half),
            last(&single)
        );
        for (single, half) in single.losses.iter().zip(&half.losses) {
            assert!(
                (single - half).abs() < 0.1,
                "{precision:?}: {single} and {half}"
            );
        }
        assert!(last(&half) < 0.1, "{precision:?}");
        assert_ne!(single.losses, half.losses);
    }
}

#[test]
fn adapters_on_a_base_of_four_bits_learn_as_on_one_in_full_precision() {
    let (full, packed) = fork_rng(3, || {
        (
            train(None, Precision::Single),
            train(Some(Scheme::NF4), Precision::Single),
        )
    });
    println!(
        "base in f32: {} bytes, loss {} to {}; in NF4: {} bytes, loss {} to {}",
        full.bytes,
        full.losses[0],
        last(&full),
        packed.bytes,
        packed.losses[0],
        last(&packed)
    );
    // An element takes half a byte, a code of its block of 64 and a share of what is nested, instead of 4 bytes;
    // attention and the table are not packed.
    let elements = 2 * 2 * WIDTH * 4 * WIDTH + VOCABULARY * WIDTH;
    assert!(full.bytes - packed.bytes > elements * 4 - elements * 21 / 40);
    for (full, packed) in full.losses.iter().zip(&packed.losses) {
        assert!((full - packed).abs() < 0.1, "{full} and {packed}");
    }
    assert!(last(&full) < 0.1 && last(&packed) < 0.1);
}

#[test]
fn an_adapter_is_not_merged_into_a_base_of_four_bits() {
    let mut run = fork_rng(3, || train(Some(Scheme::NF4), Precision::Single));
    let before = run.model.state_dict().unwrap().len();
    let error = lora::merge(&mut run.model).unwrap_err().to_string();
    assert!(error.contains("dequantize"), "{error}");
    assert_eq!(run.model.state_dict().unwrap().len(), before);
}
