//! Summaries match torchinfo's of the same models.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod details;

use module_nn::inspect::{Column, Summary, Trace, summary};
use module_nn::prelude::*;
use module_tests::golden;
use serde_json::Value;

#[derive(Module, Forward)]
enum Shortcut {
    Down(Sequential),
    Same(Identity),
}

#[derive(Module)]
struct BasicBlock {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    downsample: Shortcut,
}

impl BasicBlock {
    fn new(inside: usize, outside: usize, stride: usize) -> Result<Self> {
        let conv = |inside, stride| {
            let conv = Conv2dConfig::new(inside, outside, 3);
            conv.stride(stride).padding(1).bias(false).build()
        };
        let downsample = if stride != 1 || inside != outside {
            let conv = Conv2dConfig::new(inside, outside, 1)
                .stride(stride)
                .bias(false)
                .build()?;
            Shortcut::Down(
                Sequential::new()
                    .push(conv)
                    .push(BatchNorm2d::new(outside)?),
            )
        } else {
            Shortcut::Same(Identity::new())
        };
        Ok(Self {
            conv1: conv(inside, stride)?,
            bn1: BatchNorm2d::new(outside)?,
            relu: ReLU::new(),
            conv2: conv(outside, 1)?,
            bn2: BatchNorm2d::new(outside)?,
            downsample,
        })
    }
}

impl Forward for BasicBlock {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self
            .relu
            .call(self.bn1.call(self.conv1.call(x.clone())?)?)?;
        let y = self.bn2.call(self.conv2.call(y)?)?;
        self.relu.call(y.add(&self.downsample.call(x)?)?)
    }
}

#[derive(Module)]
struct ResNet18 {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    maxpool: MaxPool2d,
    layer1: Sequential,
    layer2: Sequential,
    layer3: Sequential,
    layer4: Sequential,
    fc: Linear,
}

impl ResNet18 {
    fn new() -> Result<Self> {
        let layer = |inside, outside, stride| -> Result<Sequential> {
            let first = BasicBlock::new(inside, outside, stride)?;
            Ok(Sequential::new()
                .push(first)
                .push(BasicBlock::new(outside, outside, 1)?))
        };
        Ok(Self {
            conv1: Conv2dConfig::new(3, 64, 7)
                .stride(2)
                .padding(3)
                .bias(false)
                .build()?,
            bn1: BatchNorm2d::new(64)?,
            relu: ReLU::new(),
            maxpool: MaxPool2dConfig::new(3).stride(2).padding(1).build()?,
            layer1: layer(64, 64, 1)?,
            layer2: layer(64, 128, 2)?,
            layer3: layer(128, 256, 2)?,
            layer4: layer(256, 512, 2)?,
            fc: Linear::new(512, 1000)?,
        })
    }
}

impl Forward for ResNet18 {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.relu.call(self.bn1.call(self.conv1.call(x)?)?)?;
        let x = self.layer1.call(self.maxpool.call(x)?)?;
        let x = self.layer4.call(self.layer3.call(self.layer2.call(x)?)?)?;
        self.fc.call(x.mean([2, 3])?)
    }
}

#[derive(Module)]
struct Classifier {
    embedding: Embedding,
    encoder: TransformerEncoder,
    head: Linear,
}

impl Classifier {
    fn new() -> Result<Self> {
        let model = Self {
            embedding: Embedding::new(50, 32)?,
            encoder: encoder(32, 64)?,
            head: Linear::new(32, 5)?,
        };
        model.freeze("head.bias")?;
        Ok(model)
    }
}

impl Forward for Classifier {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.encoder.call(self.embedding.call(x)?)?)
    }
}

fn encoder(width: usize, inside: usize) -> Result<TransformerEncoder> {
    let layer = TransformerEncoderLayerConfig::new(width, 4);
    let layer = layer.dim_feedforward(inside).batch_first(true);
    TransformerEncoderConfig::new(layer, 2).build()
}

fn zeros<const N: usize>(sizes: [usize; N]) -> Result<Tensor> {
    Tensor::zeros(sizes, DType::F32)
}

fn case(name: &str) -> Value {
    let text = std::fs::read_to_string(golden::path("summaries.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    cases
        .iter()
        .find(|case| case["name"] == name)
        .expect(name)
        .clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn compare_totals(name: &str, summary: &Summary) {
    let case = case(name);
    assert_eq!(
        summary.num_parameters() as u64,
        number(&case["total_params"]),
        "{name}"
    );
    assert_eq!(
        summary.num_trainable() as u64,
        number(&case["trainable_params"]),
        "{name}"
    );
    assert_eq!(summary.mult_adds(), number(&case["mult_adds"]), "{name}");
    assert_eq!(
        summary.input_bytes() as u64,
        number(&case["input_bytes"]),
        "{name}"
    );
    assert_eq!(
        summary.forward_backward_bytes() as u64,
        number(&case["output_bytes"]),
        "{name}"
    );
    assert_eq!(
        summary.parameter_bytes() as u64,
        number(&case["param_bytes"]),
        "{name}"
    );
    let printed = summary.to_string();
    for line in case["printed"].as_array().unwrap() {
        let line = line.as_str().unwrap();
        assert!(
            printed.lines().any(|ours| ours == line),
            "{name}: {line}\n{printed}"
        );
    }
}

fn compare(name: &str, model: &dyn Module, summary: &Summary) {
    compare_totals(name, summary);
    let case = case(name);
    let rows = case["rows"].as_array().unwrap();
    let called = rows.iter().filter(|row| row[2] != serde_json::json!([]));
    // As in PyTorch, attention has an output projection, which is not called there.
    let calls = summary.trace().calls().iter();
    let ours = calls
        .filter(|call| call.is_counted || !call.is_leaf)
        .map(|call| {
            let depth = if call.path.is_empty() {
                0
            } else {
                1 + call.path.matches('.').count()
            };
            let shape: Vec<usize> = call.outputs[0].shape.iter().copied().collect();
            let module = model.get_submodule(&call.path).unwrap();
            let trainable = match (module.num_trainable(), module.num_parameters()) {
                (_, 0) => "--",
                (0, _) => "False",
                (some, all) if some == all => "True",
                _ => "Partial",
            };
            serde_json::json!([
                call.kind,
                depth,
                shape,
                module.num_parameters(),
                call.mult_adds,
                trainable
            ])
        });
    let (ours, theirs): (Vec<Value>, Vec<&Value>) = (ours.collect(), called.collect());
    for (place, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(&ours, theirs, "{name}: row {place}");
    }
    assert_eq!(ours.len(), theirs.len(), "{name}");
}

#[test]
fn resnet_18() {
    let model = ResNet18::new().unwrap();
    let summary = summary(&model, zeros([1, 3, 224, 224]).unwrap()).unwrap();
    compare("resnet18", &model, &summary);
    assert_eq!(summary.never_called(), Vec::<&str>::new());
    let text = summary.clone().depth(1).to_string();
    let row = "├─Sequential: 1-6 layer2 [1, 64, 56, 56] [1, 128, 28, 28] -- 525,568 4.50% 411,043,072 True";
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.lines().any(|line| words(line) == row), "{text}");
    // All rows exist, whatever is printed.
    let text = summary.depth(9).to_string();
    assert!(text.contains("layer4.0.downsample.1"), "{text}");
}

#[test]
fn encoder_of_two_layers() {
    let model = encoder(64, 128).unwrap();
    let summary = summary(&model, zeros([3, 7, 64]).unwrap()).unwrap();
    compare("encoder", &model, &summary);
    let shown = summary.depth(4).to_string();
    let row = "│    │    └─MultiheadAttention: 3-1 ";
    assert!(shown.lines().any(|line| line.starts_with(row)), "{shown}");
}

#[test]
fn classifier_of_tokens() {
    let model = Classifier::new().unwrap();
    let tokens = Tensor::zeros([2, 6], DType::I64).unwrap();
    let summary = summary(&model, tokens).unwrap();
    compare("classifier", &model, &summary);
    assert_eq!(summary.frozen(), ["head.bias"]);
}

#[test]
fn recurrent_and_one_dimensional_layers() {
    let lstm = LSTMConfig::new(4, 6).num_layers(2).build().unwrap();
    let found = summary(&lstm, zeros([5, 3, 4]).unwrap()).unwrap();
    compare("lstm", &lstm, &found);
    let grouped = Conv1dConfig::new(6, 6, 3).groups(2).build().unwrap();
    let model = Sequential::new()
        .push(Conv1d::new(4, 6, 3).unwrap())
        .push(grouped);
    let found = summary(&model, zeros([2, 4, 9]).unwrap()).unwrap();
    compare("conv1d", &model, &found);
}

#[derive(Module)]
struct Tied {
    left: Linear,
    right: Linear,
    unused: Sequential,
    relu: ReLU,
    drop: Dropout,
}

impl Forward for Tied {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.relu.call(self.drop.call(self.left.call(x)?)?)?;
        let x = self.relu.call(self.right.call(x)?)?;
        self.left.call(x)
    }
}

fn tied() -> Tied {
    let left = Linear::new(3, 3).unwrap();
    let mut right = Linear::new(3, 3).unwrap();
    right.tie_weight(left.weight()).unwrap();
    Tied {
        left,
        right,
        unused: Sequential::new().push(Linear::new(3, 2).unwrap()),
        relu: ReLU::new(),
        drop: Dropout::new(0.5).unwrap(),
    }
}

#[test]
fn modes_come_back_also_after_an_error() {
    let model = tied();
    model.get_submodule("drop").unwrap().eval();
    summary(&model, zeros([2, 3]).unwrap()).unwrap();
    assert!(!model.drop.is_training());
    model.train();
    assert!(summary(&model, zeros([2, 4]).unwrap()).is_err());
    assert!(model.drop.is_training());
    assert!(model.call(zeros([2, 3]).unwrap()).unwrap().requires_grad());
}

#[test]
fn every_call_is_listed_in_its_tree() {
    let model = tied();
    let trace = Trace::record(&model, zeros([2, 3]).unwrap()).unwrap();
    let calls: Vec<_> = trace
        .calls()
        .iter()
        .map(|call| (call.path.as_str(), call.parent, call.is_repeat))
        .collect();
    let inside = Some(0);
    assert_eq!(
        calls,
        [
            ("", None, false),
            ("left", inside, false),
            ("drop", inside, false),
            ("relu", inside, false),
            ("right", inside, false),
            ("relu", inside, true),
            ("left", inside, true),
        ]
    );
    let within: std::time::Duration = trace.children(Some(0)).map(|(_, call)| call.time).sum();
    assert!(trace.time() >= within && trace.own_time(0) == trace.time() - within);
    assert!(
        trace
            .calls()
            .windows(2)
            .all(|two| two[0].start <= two[1].start)
    );
    // The hooks are gone, and nothing else was changed.
    let again = Trace::record(&model.left, zeros([2, 3]).unwrap()).unwrap();
    assert_eq!(again.calls().len(), 1);
}
