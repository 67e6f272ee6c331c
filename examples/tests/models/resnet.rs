//! torchvision's ResNet-18: one seed gives its weights, however the model comes to them.

use module_examples::models::pretrained::Pretrained;
use module_examples::models::resnet::{ResNet, ResNetConfig};
use module_nn::init::Normal;
use module_nn::prelude::*;
use module_nn::rng::{Distribution, Generator};
use serde_json::Value;

use crate::compare::directory;

fn resnet_18() -> Result<ResNet> {
    ResNet::new(&ResNetConfig::new("resnet18"))
}

/// The checksum of zip files over the elements in file order.
fn crc32(words: impl IntoIterator<Item = u32>) -> u32 {
    let mut table = [0_u32; 256];
    for (i, slot) in (0_u32..).zip(&mut table) {
        *slot = (0..8).fold(i, |c, _| (c >> 1) ^ ((c & 1) * 0xedb8_8320));
    }
    let mut crc = u32::MAX;
    for word in words {
        for byte in word.to_le_bytes() {
            crc = table[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
        }
    }
    !crc
}

fn recorded() -> (Value, Vec<Value>) {
    let text = std::fs::read_to_string(directory("../resnet.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let mut cases = file["cases"].as_array().unwrap().clone();
    let about = cases.remove(0);
    (about, cases)
}

fn floats(list: &Value) -> Vec<f32> {
    let list = list.as_array().unwrap().iter();
    list.map(|x| x.as_f64().unwrap() as f32).collect()
}

fn assert_same(model: &ResNet, expected: &StateDict, what: &str) {
    let state = model.state_dict().unwrap();
    assert_eq!(state.len(), expected.len());
    for (key, value) in &state {
        assert!(
            value.equal(expected.get(key).unwrap()).unwrap(),
            "{what}: {key}"
        );
    }
}

#[test]
fn a_seed_gives_torchvisions_weights() {
    let (about, cases) = recorded();
    let seed = about["seed"].as_u64().unwrap();
    let (built, next) = fork_rng(seed, || {
        let built = resnet_18().unwrap();
        (built, Tensor::rand([3], DType::F32).unwrap())
    });
    let next: Vec<f32> = next.to_vec().unwrap();
    let following: Vec<f32> = floats(&about["next_rand"]);
    assert_eq!(next, following);

    let state = built.state_dict().unwrap();
    let keys: Vec<&str> = cases
        .iter()
        .map(|case| case["key"].as_str().unwrap())
        .collect();
    assert_eq!(state.keys().collect::<Vec<_>>(), keys);
    for case in &cases {
        let key = case["key"].as_str().unwrap();
        let value = state.get(key).unwrap();
        assert_eq!(
            serde_json::json!(value.shape().to_vec()),
            case["shape"],
            "{key}"
        );
        if value.dtype() == DType::F32 {
            let words = value.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits);
            let words: Vec<u32> = words.collect();
            let first: Vec<i32> = words.iter().take(4).map(|&word| word as i32).collect();
            assert_eq!(serde_json::json!(first), case["first"], "{key}");
            assert_eq!(
                u64::from(crc32(words)),
                case["crc32"].as_u64().unwrap(),
                "{key}"
            );
        }
    }

    // Without values until a reset; the generator's state does not change.
    let (deferred, next) = fork_rng(9, || {
        (
            deferred(resnet_18).unwrap(),
            module_nn::rng::default_generator(),
        )
    });
    assert_eq!(next, Generator::new(9));
    assert_eq!(deferred.parameters().filter(|p| p.has_values()).count(), 0);
    fork_rng(seed, || deferred.reset_parameters()).unwrap();
    assert_same(&deferred, &state, "deferred, then drawn");

    // Another seed, and initialized again with the first.
    let other = fork_rng(5, resnet_18).unwrap();
    let fc: &Tensor = state.get("fc.weight").unwrap();
    assert!(
        !other
            .get_parameter("fc.weight")
            .unwrap()
            .detach()
            .equal(fc)
            .unwrap()
    );
    let following = fork_rng(seed, || {
        other.reset_parameters().unwrap();
        Tensor::rand([3], DType::F32)
            .unwrap()
            .to_vec::<f32>()
            .unwrap()
    });
    assert_same(&other, &state, "drawn anew");
    // The generator's state is the same as after the construction.
    assert_eq!(following, floats(&about["next_rand"]));

    let shape = about["input_shape"].as_array().unwrap().iter();
    let shape: Vec<usize> = shape.map(|n| n.as_u64().unwrap() as usize).collect();
    let input = fork_rng(about["input_seed"].as_u64().unwrap(), || {
        Tensor::rand(shape, DType::F32)
    });
    other.eval();
    let logits = no_grad(|| other.call(input.unwrap())).unwrap();
    for (row, expected) in about["logits"].as_array().unwrap().iter().enumerate() {
        let expected: Vec<f32> = floats(expected);
        let row = logits
            .narrow(0, row..row + 1)
            .unwrap()
            .to_vec::<f32>()
            .unwrap();
        for (a, b) in row.iter().zip(&expected) {
            assert!(
                (a - b).abs() <= 1e-4 * b.abs().max(0.1),
                "{a} instead of {b}"
            );
        }
    }
}

#[test]
fn what_was_overwritten_before_a_seed_is_forgotten() {
    let layer = fork_rng(0, || Linear::new(4, 4)).unwrap();
    let draw = |std| layer.weight().initialize(Normal { mean: 0.0, std });
    let one = fork_rng(1, || draw(1.0).map(|()| layer.weight().detach())).unwrap();
    let values = |seed| layer.weight().draw(&Generator::new(seed)).unwrap();
    assert!(values(1).equal(&one).unwrap());

    // Many times with one seed: the latest are kept, and the cost is bounded.
    let twice = fork_rng(2, || draw(1.0).and_then(|()| draw(2.0)));
    twice.unwrap();
    assert!(values(2).equal(&layer.weight().detach()).unwrap());
    fork_rng(2, || (0..1000).try_for_each(|_| draw(1.0))).unwrap();
    let generator = Generator::new(2);
    for _ in 0..15 {
        let (mean, std) = (0.0, 1.0);
        let normal = Distribution::Normal { mean, std };
        generator.skip(normal, 16, DType::F32).unwrap();
    }
    let expected = Tensor::normal([4, 4], 0.0, 1.0, DType::F32, &generator).unwrap();
    assert!(values(2).equal(&expected).unwrap());
}
