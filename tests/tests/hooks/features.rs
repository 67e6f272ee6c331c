//! Features: which are kept, for how long, and for whom.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::cell::Cell;
use std::rc::Rc;

use module_nn::HookOptions;
use module_nn::inspect::FeatureExtractor;
use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    layer1: Linear,
    relu: ReLU,
    layers: Vec<Linear>,
    pair: Pair,
    head: Linear,
    never: Linear,
}

/// Returns two tensors.
#[derive(Module)]
struct Pair {
    left: Linear,
    right: Linear,
}

impl Forward for Pair {
    type Output = (Tensor, Tensor);

    fn forward(&self, x: Tensor) -> Result<(Tensor, Tensor)> {
        Ok((self.left.call(x.clone())?, self.right.call(x)?))
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let mut x = self.relu.call(self.layer1.call(x)?)?;
        for layer in &self.layers {
            x = self.relu.call(layer.call(x)?)?;
        }
        let (left, right) = self.pair.call(x)?;
        self.head.call(left.add(&right)?)
    }
}

fn net() -> Net {
    let linear = || Linear::new(3, 3).unwrap();
    Net {
        layer1: linear(),
        relu: ReLU::new(),
        layers: vec![linear(), linear()],
        pair: Pair {
            left: linear(),
            right: linear(),
        },
        head: linear(),
        never: linear(),
    }
}

fn input(seed: u64) -> Tensor {
    fork_rng(seed, || Tensor::randn([2, 3], DType::F32).unwrap())
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec().unwrap()
}

#[test]
fn every_call_is_kept_in_order_and_detached() {
    let model = net();
    let extractor = FeatureExtractor::new(&model, ["relu", "layers.*", "pair", "never"]).unwrap();
    let (output, features) = extractor.call(input(0)).unwrap();
    let paths: Vec<_> = features.paths().collect();
    assert_eq!(paths, ["relu", "layers.0", "layers.1", "pair"]);
    assert_eq!(
        values(&output.unwrap()),
        values(&model.call(input(0)).unwrap())
    );
    let first = model.layer1.call(input(0)).unwrap().relu().unwrap();
    let second = model.layers[0].call(first.clone()).unwrap();
    let relus = features.calls("relu");
    assert_eq!(relus.len(), 3);
    assert_eq!(values(&relus[0].tensors[0]), values(&first));
    assert_eq!(
        values(&relus[1].tensors[0]),
        values(&second.relu().unwrap())
    );
    assert_eq!(values(features.get("layers.0").unwrap()), values(&second));
    assert_eq!(features.calls("pair")[0].tensors.len(), 2);
    assert!(
        features
            .iter()
            .all(|(_, calls)| !calls[0].tensors[0].requires_grad())
    );
    let error = |path: &str| features.get(path).unwrap_err().to_string();
    assert_eq!(
        error("relu"),
        "Features::get: path = relu: was called 3 times; `calls` has each"
    );
    assert!(error("never").contains("has no feature; there are: relu, layers.0, layers.1, pair"));
}

#[test]
fn modules_that_cannot_be_extracted_are_an_error() {
    let model = net();
    let error = |select: &str| {
        FeatureExtractor::new(&model, select)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("layer2"),
        "`layer2` selects nothing; did you mean `layer1`?"
    );
    assert_eq!(
        error("pair.lft"),
        "`pair.lft` selects nothing; did you mean `pair.left`?"
    );
    let list = "FeatureExtractor: select = layers: is a ModuleList, which is never called; select what is in it";
    assert_eq!(error("layers"), list);
    assert!(error("layers.{0").contains("a `{` is not closed"));
    // One match among several patterns is enough.
    assert!(FeatureExtractor::new(&model, ["head", "layers.7"]).is_err());
}

#[test]
fn tracked_features_carry_gradients_and_others_are_cast() {
    let model = net();
    let extractor = FeatureExtractor::new(&model, "pair.left")
        .unwrap()
        .tracked(true);
    let features = extractor.extract(input(0)).unwrap();
    features
        .get("pair.left")
        .unwrap()
        .sum(..)
        .unwrap()
        .backward()
        .unwrap();
    assert!(model.layer1.weight().grad().is_some() && model.head.weight().grad().is_none());
    let extractor = FeatureExtractor::new(&model, "head").unwrap();
    let extractor = extractor.to_dtype(DType::BF16).to_device(&Device::cpu());
    let features = extractor.extract(input(0)).unwrap();
    assert_eq!(features.get("head").unwrap().dtype(), DType::BF16);
}

#[test]
fn an_early_stop_ends_the_pass_and_leaves_the_model_usable() {
    let model = net();
    let (count, failed) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (counted, saw) = (count.clone(), failed.clone());
    let _head = model
        .head
        .register_forward_hook(move |_| counted.set(counted.get() + 1));
    let always = HookOptions::new().always_call(true);
    let _always = model.register_forward_hook_with(always, move |call| {
        saw.set(saw.get() + usize::from(call.failed()));
    });
    let extractor = FeatureExtractor::new(&model, ["layers.0", "relu"])
        .unwrap()
        .stop_early(true);
    for _ in 0..3 {
        let (output, features) = extractor.call(input(0)).unwrap();
        assert!(output.is_none() && features.len() == 2);
        // The pass ended with `layers.0`, after the first call of `relu`.
        assert_eq!(features.calls("relu").len(), 1);
    }
    assert_eq!((count.get(), failed.get()), (0, 3));
    // Calls not made by the extractor are not ended.
    model.call(input(0)).unwrap();
    assert_eq!((count.get(), extractor.take().calls("relu").len()), (1, 3));
    // Errors of the model remain errors.
    let wrong = extractor.call(Tensor::from([[1.0_f32]])).unwrap_err();
    assert!(
        wrong.to_string().starts_with("layer1 (Linear): "),
        "{wrong}"
    );
    assert!(extractor.take().is_empty());
    drop(extractor);
    model.call(input(0)).unwrap();
    assert_eq!(count.get(), 2);
}

#[test]
fn an_extractor_does_not_take_the_end_of_another_for_its_own() {
    let model = net();
    let inner = Rc::new(
        FeatureExtractor::new(&model.layer1, "")
            .unwrap()
            .stop_early(true),
    );
    let outer = FeatureExtractor::new(&model, "head").unwrap();
    // The inner one sees the pass of the outer one and does not end it.
    assert!(outer.call(input(0)).unwrap().0.is_some());
    assert_eq!(inner.take().calls("").len(), 1);
    assert!(inner.extract(input(0)).unwrap().get("").is_ok());
    assert!(outer.take().is_empty());
}

#[test]
fn sixteen_threads_never_mix() {
    let model = net();
    model.eval();
    let extract = |seed: u64| -> Vec<Vec<f32>> {
        let extractor = FeatureExtractor::new(&model, ["relu", "layer1"]).unwrap();
        let mut all = Vec::new();
        for _ in 0..100 {
            let features = extractor.extract(input(seed)).unwrap();
            assert_eq!(features.calls("relu").len(), 3);
            let calls = features.iter().flat_map(|(_, calls)| calls);
            all.extend(calls.map(|call| values(&call.tensors[0])));
        }
        all
    };
    let alone: Vec<_> = (0..16).map(extract).collect();
    assert!(alone.windows(2).all(|two| two[0] != two[1]));
    let together = std::thread::scope(|scope| {
        let extract = &extract;
        let threads: Vec<_> = (0..16)
            .map(|seed| scope.spawn(move || extract(seed)))
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.collect::<Vec<_>>()
    });
    assert_eq!(together, alone);
}
