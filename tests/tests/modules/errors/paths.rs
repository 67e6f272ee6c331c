//! Errors name the path of the module in which they happened.

use super::*;

/// A deeply nested convolution.
#[derive(Module)]
struct Block {
    conv1: Conv2d,
    conv2: Conv2d,
}

impl Forward for Block {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.conv2.call(self.conv1.call(x)?)
    }
}

/// The second convolution expects a different number of channels than the first one produces.
fn block() -> Block {
    Block {
        conv1: Conv2d::new(1, 2, 1).unwrap(),
        conv2: Conv2d::new(3, 1, 1).unwrap(),
    }
}

#[derive(Module, Forward)]
enum Choice {
    Block(Box<Block>),
    #[expect(dead_code, reason = "a choice has two sides")]
    Identity(Identity),
}

#[derive(Module)]
struct Net {
    layer1: Block,
    sequence: Sequential,
    list: Vec<Block>,
    map: IndexMap<String, Block>,
    tuple: (ReLU, Block),
    boxed: Box<dyn Layer>,
    choice: Choice,
    shared: Arc<Block>,
}

/// Which member to call.
impl Forward<(Tensor, usize)> for Net {
    type Output = Tensor;

    fn forward(&self, (x, member): (Tensor, usize)) -> Result<Tensor> {
        match member {
            0 => self.layer1.call(x),
            1 => self.sequence.call(x),
            2 => self.list[1].call(x),
            3 => self.map["key"].call(x),
            4 => self.tuple.1.call(x),
            5 => self.boxed.call(x),
            6 => self.choice.call(x),
            7 => self.shared.call(x),
            _ => block().call(x),
        }
    }
}

fn net() -> Net {
    Net {
        layer1: block(),
        sequence: Sequential::new()
            .push(ReLU::new())
            .push_named("inner", Sequential::new().push(block()))
            .unwrap(),
        list: vec![block(), block()],
        map: IndexMap::from([("key".to_owned(), block())]),
        tuple: (ReLU::new(), block()),
        boxed: Box::new(Sequential::new().push(Arc::new(block()))),
        choice: Choice::Block(Box::new(block())),
        shared: Arc::new(block()),
    }
}

#[test]
fn an_error_carries_the_path_of_the_module_in_which_it_happened() {
    const PATHS: [&str; 8] = [
        "layer1.conv2",
        "sequence.inner.0.conv2",
        "list.1.conv2",
        "map.key.conv2",
        "tuple.1.conv2",
        "boxed.0.conv2",
        "choice.conv2",
        "shared.conv2",
    ];
    let net = net();
    for (member, path) in PATHS.into_iter().enumerate() {
        let error = net.call((zeros([1, 1, 4, 4]), member)).unwrap_err();
        assert_eq!(error.module_path(), Some(path));
        assert_eq!(error.module_kind(), Some("Conv2d"));
        let text = error.to_string();
        let rest = "conv2d: expected [batch, 3, height, width] or [3, height, width], got shape [1, 2, 4, 4]";
        assert_eq!(text, format!("{path} (Conv2d): {rest}"));
        assert!(net.get_submodule(path).is_ok());
    }
}

#[test]
fn an_unregistered_module_is_reported_as_such() {
    let error = net().call((zeros([1, 1, 4, 4]), 8)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("conv2 (Conv2d, not registered in its caller): "),
        "{text}"
    );
}

#[test]
fn an_error_outside_of_every_call_has_no_path() {
    let error = zeros([2]).add(zeros([3])).unwrap_err();
    assert_eq!(error.module_path(), None);
    assert_eq!(error.module_kind(), None);
}

#[test]
fn a_path_that_names_nothing_suggests_the_nearest_name() {
    let net = net();
    assert_error(
        net.get_submodule("layer1.conv3").map(drop),
        "`conv3` in path `layer1.conv3` is not a member of Block; did you mean `conv1`?",
    );
    assert_error(
        net.get_parameter("layer1.conv1.wieght").map(drop),
        "`wieght` in path `layer1.conv1.wieght` is not a member of Conv2d; did you mean `weight`?",
    );
    assert_error(
        net.get_buffer("layer1.conv1.weight").map(drop),
        "`weight` in path `layer1.conv1.weight` is a parameter of Conv2d, not a buffer",
    );
    assert_error(
        net.get_submodule("list.7").map(drop),
        "`7` in path `list.7` is not a member of ModuleList",
    );
}
