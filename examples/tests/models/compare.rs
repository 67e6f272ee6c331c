//! A model beside its original: `tests/golden/published.py` says what is recorded.

use std::path::{Path, PathBuf};

use module_nn::prelude::*;
use serde_json::{Map, Value};

/// The seed of the original's passes.
const SEED: u64 = 5;

/// A file or directory of the recordings of published models.
pub(crate) fn directory(name: &str) -> PathBuf {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/data/models");
    models.join(name)
}

/// The tolerance relative to the largest element of a tensor.
pub(crate) struct Bounds {
    pub(crate) f32: f64,
    pub(crate) f64: f64,
}

/// For most networks.
pub(crate) const BOUNDS: Bounds = Bounds {
    f32: 1e-5,
    f64: 1e-9,
};

/// For networks of more than 40 layers.
pub(crate) const DEEP: Bounds = Bounds {
    f32: 1e-4,
    ..BOUNDS
};

/// Token ids of texts of the same length.
pub(crate) fn ids(rows: &[Vec<i64>]) -> Tensor {
    Tensor::from_vec(rows.concat(), [rows.len(), rows[0].len()]).unwrap()
}

fn numbers(x: &Tensor) -> Vec<f64> {
    x.to_dtype(DType::F64).unwrap().to_vec().unwrap()
}

fn largest(x: &Tensor) -> f64 {
    numbers(x).iter().fold(0.0, |max, x| max.max(x.abs()))
}

/// The largest difference from the recording, if it exceeds `bound` times `scale`.
fn difference(actual: &Tensor, expected: &Tensor, bound: f64, scale: f64) -> Option<String> {
    let of = |x: &Tensor| (x.dtype(), x.shape().to_vec());
    if of(actual) != of(expected) {
        return Some(format!("{:?} instead of {:?}", of(actual), of(expected)));
    }
    let (got, want) = (numbers(actual), numbers(expected));
    let far = got.iter().zip(&want).map(|(a, b)| (a - b).abs());
    let far = far.fold(0.0_f64, |max, x| {
        if x.is_nan() {
            f64::INFINITY
        } else {
            max.max(x)
        }
    });
    (far > bound * scale).then(|| format!("off by {far:.1e} of {scale:.1e}, {:.1e}", far / scale))
}

/// Panics if an element differs from the recording by more than `bound`.
#[track_caller]
pub(crate) fn compare_tensor(actual: &Tensor, expected: &Tensor, bound: f64) {
    assert_eq!(difference(actual, expected, bound, largest(expected)), None);
}

/// Compares a model with the recording of the original: outputs, gradients of the input and of all trained parameters, and
/// the buffers after training, in both modes and dtypes.
///
/// Differences are relative to the largest element of a tensor; those of a gradient to the largest element of the gradients
/// of its layer, because the gradient of a bias before a normalization is 0 except for rounding.
pub(crate) fn compare<M: Module>(
    name: &str,
    model: &M,
    bounds: &Bounds,
    call: impl Fn(&M, &[Tensor]) -> Result<Tensor>,
) {
    let recorded = StateDict::load(directory(&format!("{name}.safetensors"))).unwrap();
    let mut inputs: Vec<Tensor> = recorded.get("input").cloned().into_iter().collect();
    inputs.extend((0..).map_while(|i| recorded.get(&format!("input{i}")).cloned()));
    let weights = model.state_dict().unwrap();
    let (mut problems, mut compared) = (Vec::new(), inputs.len() + 1);
    for (mode, training) in [("train", true), ("eval", false)] {
        for (dtype, named, bound) in [
            (DType::F32, "f32", bounds.f32),
            (DType::F64, "f64", bounds.f64),
        ] {
            let at = format!("{mode}/{named}");
            let get = |key: &str| recorded.get(&format!("{at}/{key}"));
            let Some(output) = get("output") else {
                continue;
            };
            model.to_dtype(dtype).unwrap();
            let _ = model.load_state_dict(&weights).unwrap();
            model.set_training(training);
            model.zero_grad();
            let given: Vec<Tensor> = inputs.iter().map(|x| leaf(x, dtype)).collect();
            let actual = fork_rng(SEED, || call(model, &given)).unwrap();
            let mut check = |key: &str, actual: &Tensor, expected: &Tensor, scale: f64| {
                compared += 1;
                let problem = difference(actual, expected, bound, scale);
                problems.extend(problem.map(|problem| format!("{name} {at} {key}: {problem}")));
            };
            check("output", &actual, output, largest(output));
            for (key, buffer) in model.named_buffers() {
                if let Some(expected) = get(&format!("after/{key}")) {
                    check(&key, &buffer.tensor(), expected, largest(expected));
                }
            }
            let gradients = format!("{at}/grad/");
            if !recorded.keys().any(|key| key.starts_with(&gradients)) {
                continue;
            }
            let of_output = recorded
                .get("grad_output")
                .unwrap()
                .to_dtype(dtype)
                .unwrap();
            let loss = actual.mul(&of_output).unwrap().sum(..).unwrap();
            loss.backward().unwrap();
            if let Some(of_input) = get("grad_input") {
                let gradient = given[0].grad().unwrap();
                check("grad_input", &gradient, of_input, largest(of_input));
            }
            let parameters = model.named_parameters();
            for (key, parameter) in parameters.filter(|(_, parameter)| !parameter.is_frozen()) {
                let layer = key.rsplit_once('.').map_or(&*key, |(layer, _)| layer);
                let prefix = format!("{at}/grad/{layer}");
                let layer = recorded.iter().filter(|(key, _)| key.starts_with(&prefix));
                let scale = layer
                    .map(|(_, gradient)| largest(gradient))
                    .fold(0.0, f64::max);
                let gradient = parameter
                    .grad()
                    .unwrap_or_else(|| panic!("no gradient of {key}"));
                check(&key, &gradient, get(&format!("grad/{key}")).unwrap(), scale);
            }
        }
    }
    assert_eq!(problems, Vec::<String>::new(), "of {compared}");
    assert_eq!(
        compared,
        recorded.len(),
        "{name}: all that is recorded is compared"
    );
}

/// Compares the root mean square of each fresh weight with that of the original.
pub(crate) fn compare_fresh(model: &impl Module, widths: &Map<String, Value>) {
    let parameters: Vec<_> = model.named_parameters().collect();
    assert_eq!(parameters.len(), widths.len());
    for (key, parameter) in parameters {
        let values = numbers(&parameter.detach());
        let width = (values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64).sqrt();
        let expected = widths[&*key].as_f64().unwrap();
        // Four standard errors of the difference between two samples.
        let bound = 4.0 / (values.len() as f64).sqrt() * expected;
        assert!(
            (width - expected).abs() <= bound,
            "{key}: {width} instead of {expected}"
        );
    }
}

/// A tensor in a dtype that collects a gradient, if it has floating-point elements.
fn leaf(x: &Tensor, dtype: DType) -> Tensor {
    match x.dtype().is_floating_point() {
        true => x.to_dtype(dtype).unwrap().detach().with_grad().unwrap(),
        false => x.clone(),
    }
}

/// [`compare`] for a model of one tensor.
pub(crate) fn compare_forward<M>(name: &str, model: &M, bounds: &Bounds)
where
    M: Module + Forward<Tensor, Output = Tensor>,
{
    compare(name, model, bounds, |model, inputs| {
        model.call(inputs[0].clone())
    });
}
