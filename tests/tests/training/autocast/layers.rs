//! Layers with parameters in `F32`.

use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};

use super::{compare_rounded, dtype};

#[derive(Module)]
struct Norms {
    conv: Conv2d,
    batch: BatchNorm2d,
    group: GroupNorm,
    layer: LayerNorm,
}

/// The outputs of a layer for an input, in PyTorch's order.
type Outputs = Vec<Tensor>;

fn loaded<M: Module>(layer: M, state: &StateDict) -> M {
    let _ = layer.load_state_dict(state).unwrap();
    layer
}

/// The outputs of a layer, its gradients and its buffers, after a backward pass over their weighted sum.
fn passed<M: Module>(
    layer: M,
    state: &StateDict,
    lower: DType,
    pass: impl FnOnce(&M) -> Result<Outputs>,
) -> (Outputs, StateDict) {
    let layer = loaded(layer, state);
    let outputs = autocast(lower, || pass(&layer)).unwrap();
    let weighted = outputs.iter().enumerate().map(|(i, y)| {
        let sum = y.to_dtype(DType::F32).unwrap().sum(..).unwrap();
        sum.mul(if i == 0 { 1.0 } else { 0.5 }).unwrap()
    });
    let loss = weighted
        .reduce(|a, b| a.add(&b).unwrap())
        .expect("an output");
    loss.backward().unwrap();
    let mut left = StateDict::new();
    for (name, parameter) in layer.named_parameters() {
        if let Some(grad) = parameter.grad() {
            left.insert(format!("grad.{name}"), grad);
        }
    }
    for (name, buffer) in layer.named_buffers() {
        left.insert(format!("after.{name}"), buffer.tensor());
    }
    (outputs, left)
}

fn run(name: &str, state: &StateDict, x: &Tensor, lower: DType) -> (Outputs, StateDict) {
    let x = x.clone();
    let one = |y: Tensor| Ok(vec![y]);
    let attend = |weights: bool| {
        let x = x.clone();
        move |layer: &MultiheadAttention| {
            let mut input =
                MultiheadAttentionInput::new(x.clone(), x.clone(), x.clone()).need_weights(weights);
            if weights {
                let mask = Tensor::full([5, 5], -1.5, DType::F32)?.triu(1)?;
                input = input.attn_mask(mask);
            }
            let (y, weights) = layer.call(input)?;
            Ok([Some(y), weights].into_iter().flatten().collect())
        }
    };
    match name {
        "Linear" => passed(
            Linear::new(4, 5).unwrap(),
            state,
            lower,
            |l| one(l.call(x)?),
        ),
        "Conv2d" => passed(Conv2d::new(3, 4, 3).unwrap(), state, lower, |l| {
            one(l.call(x)?)
        }),
        "ConvTranspose2d" => passed(ConvTranspose2d::new(3, 4, 3).unwrap(), state, lower, |l| {
            one(l.call(x)?)
        }),
        "PReLU" => {
            let layer = PReLUConfig::new().num_parameters(4_usize).build().unwrap();
            passed(layer, state, lower, |l| one(l.call(x)?))
        }
        "Norms" => {
            let layer = Norms {
                conv: Conv2d::new(3, 4, 3).unwrap(),
                batch: BatchNorm2d::new(4).unwrap(),
                group: GroupNorm::new(2, 4).unwrap(),
                layer: LayerNorm::new([4, 4]).unwrap(),
            };
            passed(layer, state, lower, |l| {
                one(l
                    .layer
                    .call(l.group.call(l.batch.call(l.conv.call(x)?)?)?)?)
            })
        }
        "LSTM" => {
            let config = LSTMConfig::new(4, 3)
                .num_layers(2_usize)
                .bidirectional(true);
            passed(config.build().unwrap(), state, lower, |l| {
                let (y, (h, c)) = l.call(x)?;
                Ok(vec![y, h, c])
            })
        }
        "LSTM_proj" => {
            let config = LSTMConfig::new(4, 3).proj_size(2_usize);
            passed(config.build().unwrap(), state, lower, |l| {
                let (y, (h, c)) = l.call(x)?;
                Ok(vec![y, h, c])
            })
        }
        "GRU" => {
            let config = GRUConfig::new(4, 3).num_layers(2_usize).bidirectional(true);
            passed(config.build().unwrap(), state, lower, |l| {
                let (y, h) = l.call(x)?;
                Ok(vec![y, h])
            })
        }
        "RNN" => passed(RNN::new(4, 3).unwrap(), state, lower, |l| {
            let (y, h) = l.call(x)?;
            Ok(vec![y, h])
        }),
        "LSTMCell" => passed(LSTMCell::new(4, 3).unwrap(), state, lower, |l| {
            let (h, c) = l.call(x)?;
            Ok(vec![h, c])
        }),
        "GRUCell" => passed(GRUCell::new(4, 3).unwrap(), state, lower, |l| {
            one(l.call(x)?)
        }),
        "MultiheadAttention" => passed(
            MultiheadAttention::new(4, 2).unwrap(),
            state,
            lower,
            attend(false),
        ),
        "MultiheadAttention_weights" => passed(
            MultiheadAttention::new(4, 2).unwrap(),
            state,
            lower,
            attend(true),
        ),
        "TransformerEncoderLayer" => {
            let config = TransformerEncoderLayerConfig::new(4, 2)
                .dim_feedforward(8_usize)
                .dropout(0.0);
            passed(config.build().unwrap(), state, lower, |l| one(l.call(x)?))
        }
        "Softmax" => {
            let layer = Sequential::new()
                .push(Linear::new(4, 5).unwrap())
                .push(Softmax::new(-1).unwrap());
            passed(layer, state, lower, |l| one(l.call(x)?))
        }
        other => panic!("an unknown layer: {other}"),
    }
}

#[test]
fn layers_compute_in_the_dtypes_and_with_the_numbers_of_pytorch() {
    let (case, tensors) = golden::load("autocast.safetensors");
    let cases = case["layers"].as_array().expect("layers");
    assert!(cases.len() >= 29);
    let mut wrong = Vec::new();
    for (n, case) in cases.iter().enumerate() {
        let prefix = format!("layer/{n}/");
        let mut state = StateDict::new();
        for (key, value) in &tensors {
            if let Some(key) = key.strip_prefix(&format!("{prefix}state.")) {
                state.insert(key, value.clone());
            }
        }
        let lower = dtype(&case["lower"]);
        let recorded = |what: &str| tensors.get(&format!("{prefix}{what}"));
        let x = recorded("x").expect("an input").with_grad().unwrap();
        let (outputs, left) = run(case["layer"].as_str().expect("a name"), &state, &x, lower);
        assert_eq!(
            outputs.len(),
            case["outputs"].as_array().unwrap().len(),
            "{case}"
        );
        let mut check = |what: &str, actual: &Tensor| {
            let expected =
                recorded(what).unwrap_or_else(|| panic!("{case}: {what} is not recorded"));
            // Values that cancel, as in gradients of normalizations, have the rounding errors of the larger terms.
            let same = compare_rounded(actual, expected, lower);
            let rounded = |x: &Tensor| x.to_dtype(lower).unwrap();
            if actual.dtype() != expected.dtype() {
                wrong.push(format!(
                    "{case}: {what}: {} instead of {}",
                    actual.dtype(),
                    expected.dtype()
                ));
            } else if same.is_err()
                && let Err(text) =
                    compare(&rounded(actual), &rounded(expected), Tolerance::DIFFERENCE)
            {
                wrong.push(format!("{case}: {what}: {text}"));
            }
        };
        for (i, y) in outputs.iter().enumerate() {
            check(&format!("y.{i}"), y);
        }
        check("grad.x", &x.grad().unwrap());
        for (key, value) in &left {
            if value.dtype().is_floating_point() {
                check(key, value);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
