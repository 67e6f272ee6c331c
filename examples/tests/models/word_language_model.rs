//! The recurrent language model of PyTorch's examples: what it computes, and how its states go on.

use module_examples::models::pretrained::{Pretrained, read_config};
use module_examples::models::word_language_model::{Hidden, RNNModel};
use module_nn::optim::clip_grad_norm;
use module_nn::prelude::*;
use serde_json::{Value, json};

use crate::compare::{BOUNDS, compare, compare_tensor, directory};

const NAMES: [&str; 3] = ["rnn_lstm", "rnn_gru", "rnn_relu"];

/// The model's output as one list.
fn flat((output, hidden): (Tensor, Hidden)) -> Result<Tensor> {
    let mut all = vec![output.flatten(0, -1)?];
    match hidden {
        Hidden::Lstm(hidden, cell) => all.extend([hidden.flatten(0, -1)?, cell.flatten(0, -1)?]),
        Hidden::Other(hidden) => all.push(hidden.flatten(0, -1)?),
    }
    Tensor::cat(&all, 0)
}

#[test]
fn rnn_model_is_pytorchs() {
    for name in NAMES {
        let model = RNNModel::from_pretrained(directory(name)).unwrap();
        compare(name, &model, &BOUNDS, |model, inputs| {
            let hidden = model.init_hidden(inputs[0].size(1)?)?;
            flat(model.call((inputs[0].clone(), hidden))?)
        });
    }
}

#[test]
fn states_go_on_from_window_to_window_and_gradients_do_not() {
    for name in NAMES {
        let recorded = StateDict::load(directory(&format!("{name}_windows.safetensors"))).unwrap();
        let text = recorded.get("text").unwrap();
        let weights = StateDict::load(directory(name).join("model.pt")).unwrap();
        for (dtype, named, bound) in [(DType::F32, "f32", 1e-5), (DType::F64, "f64", 1e-9)] {
            let get = |key: &str| recorded.get(&format!("{named}/{key}")).unwrap();
            let model = RNNModel::new(&read_config(directory(name)).unwrap()).unwrap();
            model.to_dtype(dtype).unwrap();
            let _ = model.load_state_dict(&weights).unwrap();
            fork_rng(5, || {
                let mut hidden = model.init_hidden(2)?;
                for (i, window) in [0..6, 6..12, 12..15].into_iter().enumerate() {
                    let next = text.narrow(0, window.start + 1..window.end + 1)?;
                    let (output, after) = model.call((text.narrow(0, window)?, hidden.detach()))?;
                    compare_tensor(
                        &flat((output.clone(), after.clone()))?,
                        get(&format!("{i}/output")),
                        bound,
                    );
                    let loss = NLLLoss::new().loss(&output, &next.flatten(0, -1)?)?;
                    compare_tensor(&loss.detach(), get(&format!("{i}/loss")), bound);
                    model.zero_grad();
                    loss.backward()?;
                    let norm = clip_grad_norm(&model, 0.25)?;
                    let norm = Tensor::from(norm).to_dtype(dtype)?;
                    compare_tensor(&norm, get(&format!("{i}/norm")), bound);
                    SGD::new(&model, 2.0)?.step(&model)?;
                    hidden = after;
                }
                Ok::<_, Error>(())
            })
            .unwrap();
            let mut compared = 0;
            for (path, parameter) in model.named_parameters() {
                let trained = get(&format!("trained/{path}"));
                compare_tensor(&parameter.detach(), trained, bound);
                compared += 1;
            }
            let prefix = format!("{named}/trained/");
            let trained = recorded.keys().filter(|key| key.starts_with(&prefix));
            assert_eq!(compared, trained.count());
        }
    }
}

#[test]
fn unsupported_options_of_the_rnn_model_are_refused() {
    let with = |key: &str, value: Value| -> Result<RNNModel> {
        let mut fields: Value = read_config(directory("rnn_gru"))?;
        fields[key] = value;
        RNNModel::new(&serde_json::from_value(fields).map_err(Error::custom)?)
    };
    for (key, value, expected) in [
        ("rnn_type", json!("Transformer"), "unknown variant"),
        ("nhead", json!(2), "unknown field `nhead`"),
        ("tie_weights", json!(true), "nhid = 7: must be ninp, 5"),
    ] {
        let error = with(key, value).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let lstm = with("rnn_type", json!("LSTM")).unwrap();
    let words = Tensor::from([[1_i64], [2]]);
    let states = with("nlayers", json!(2)).unwrap().init_hidden(1).unwrap();
    let error = lstm.call((words, states)).unwrap_err().to_string();
    assert!(
        error.contains("hidden = not an LSTM's: must be of this kind"),
        "{error}"
    );
}
