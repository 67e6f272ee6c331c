//! Lists, maps and `Sequential`: their keys as they grow and shrink, and how they print.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::prelude::*;

fn linear(size: usize) -> Linear {
    Linear::new(size, size).unwrap()
}

fn keys(net: &Sequential) -> Vec<String> {
    net.iter().map(|(key, _)| key.to_owned()).collect()
}

/// What a layer of a container maps to what, by its size.
fn sizes(net: &Sequential) -> Vec<usize> {
    net.parameters()
        .filter(|p| p.shape().rank() == 2)
        .map(|p| p.shape()[0])
        .collect()
}

#[test]
fn removal_renumbers_numbers_and_leaves_names() {
    let mut net = Sequential::new()
        .push(linear(1))
        .push_named("act", linear(2))
        .unwrap();
    net = net.push(linear(3)).push(linear(4));
    assert_eq!(keys(&net), ["0", "act", "2", "3"]);
    net.pop(0).unwrap();
    assert_eq!(
        (keys(&net), sizes(&net)),
        (vec!["act".into(), "1".into(), "2".into()], vec![2, 3, 4])
    );
    net.insert(0, linear(5)).unwrap();
    assert_eq!(keys(&net), ["0", "act", "2", "3"]);
    assert_eq!(sizes(&net), [5, 2, 3, 4]);
    net.insert(-1, linear(6)).unwrap();
    assert_eq!(
        (keys(&net), sizes(&net)),
        (
            vec!["0".into(), "act".into(), "2".into(), "3".into(), "4".into()],
            vec![5, 2, 3, 6, 4]
        )
    );
    let taken = net.take_slice(1..3).unwrap();
    assert_eq!(
        (keys(&taken), sizes(&taken)),
        (vec!["act".into(), "1".into()], vec![2, 3])
    );
    assert_eq!(
        (keys(&net), sizes(&net)),
        (vec!["0".into(), "1".into(), "2".into()], vec![5, 6, 4])
    );
    net.extend(taken).unwrap();
    assert_eq!(
        (keys(&net), sizes(&net)),
        (
            vec!["0".into(), "1".into(), "2".into(), "act".into(), "4".into()],
            vec![5, 6, 4, 2, 3]
        )
    );
    net.replace(-2, linear(9)).unwrap();
    assert_eq!(
        (keys(&net)[3].as_str(), sizes(&net)),
        ("act", vec![5, 6, 4, 9, 3])
    );
    assert_eq!(
        net.named("act")
            .unwrap()
            .parameters()
            .next()
            .unwrap()
            .shape()[0],
        9
    );
}

#[test]
fn what_is_not_there_is_an_error_that_quotes_it() {
    let mut net = Sequential::new().push_named("hidden", linear(1)).unwrap();
    let text = |error: Error| error.to_string();
    for error in [
        text(net.pop(1).map(|_| ()).unwrap_err()),
        text(net.pop(-2).map(|_| ()).unwrap_err()),
        text(net.insert(2, linear(1)).unwrap_err()),
        text(net.replace(isize::MIN, linear(1)).map(|_| ()).unwrap_err()),
    ] {
        assert!(
            error.contains("index = ") && error.contains("1 element"),
            "{error}"
        );
    }
    let error = text(net.named("hiden").map(|_| ()).unwrap_err());
    assert!(error.contains("did you mean `hidden`?"), "{error}");
    let other = Sequential::new()
        .push(linear(1))
        .push_named("hidden", linear(2))
        .unwrap();
    let error = text(net.extend(other).unwrap_err());
    assert!(error.contains("`hidden`"), "{error}");
    assert_eq!(net.len(), 1);
    #[allow(clippy::reversed_empty_ranges)]
    for range in [0..2, 1..0, usize::MAX..usize::MAX] {
        assert!(net.take_slice(range).is_err());
    }
    let mut list: ModuleList<Linear> = ModuleList::new();
    assert!(list.pop(0).is_err() && list.replace(-1, linear(1)).is_err());
    let mut dict: ModuleDict<Linear> = ModuleDict::new();
    for name in ["", "a.b"] {
        assert!(text(dict.insert(name, linear(1)).map(|_| ()).unwrap_err()).contains(name));
    }
    assert!(dict.pop("a").is_err() && dict.item_mut("a").is_err());
}

#[derive(Module)]
struct Net {
    layers: ModuleList,
    heads: ModuleDict,
    scales: ParameterList,
    shifts: ParameterDict,
}

fn net() -> Net {
    let parameter = |size: usize| Parameter::new(Tensor::zeros(size, DType::F32).unwrap()).unwrap();
    let mut net = Net {
        layers: ModuleList::new(),
        heads: ModuleDict::new(),
        scales: ParameterList::new(),
        shifts: ParameterDict::new(),
    };
    net.layers
        .extend((0..3).map(|_| Box::new(linear(1)) as Box<dyn Layer>));
    net.layers.insert(1, Box::new(ReLU::new())).unwrap();
    net.layers.pop(-1).unwrap();
    net.heads.insert("b", Box::new(ReLU::new())).unwrap();
    net.heads.insert("a", Box::new(linear(2))).unwrap();
    // Keeps its place.
    assert!(
        net.heads
            .insert("b", Box::new(Dropout::new(0.5).unwrap()))
            .unwrap()
            .is_some()
    );
    net.scales.extend([parameter(2), parameter(3)]);
    net.shifts
        .update([("y", parameter(4)), ("x", parameter(5))])
        .unwrap();
    net
}

#[test]
fn lists_and_maps_have_the_keys_and_the_print_of_pytorch() {
    let net = net();
    let state = net.state_dict().unwrap();
    let expected = [
        "layers.0.weight",
        "layers.0.bias",
        "layers.2.weight",
        "layers.2.bias",
        "heads.a.weight",
        "heads.a.bias",
        "scales.0",
        "scales.1",
        "shifts.y",
        "shifts.x",
    ];
    assert_eq!(state.keys().collect::<Vec<_>>(), expected);
    // As torch 2.15 prints the same.
    let text = "\
Net(
  (layers): ModuleList(
    (0): Linear(in_features=1, out_features=1, bias=True)
    (1): ReLU()
    (2): Linear(in_features=1, out_features=1, bias=True)
  )
  (heads): ModuleDict(
    (b): Dropout(p=0.5, inplace=False)
    (a): Linear(in_features=2, out_features=2, bias=True)
  )
  (scales): ParameterList(
      (0): Parameter containing: [torch.float32 of size 2]
      (1): Parameter containing: [torch.float32 of size 3]
  )
  (shifts): ParameterDict(
      (y): Parameter containing: [torch.FloatTensor of size 4]
      (x): Parameter containing: [torch.FloatTensor of size 5]
  )
)";
    assert_eq!(net.tree().to_string(), text);
    assert_eq!(net.num_parameters(), 2 + 2 + 6 + 14);
    assert_eq!(net.heads.item("a").unwrap().kind(), "Linear");
    net.eval();
    assert!(!net.is_training());
}

#[test]
fn removing_an_element_of_a_list_renumbers_the_others() {
    let mut list: ModuleList<Linear> = (1..6).map(linear).collect();
    let middle = list.take_slice(1..4).unwrap();
    let weight = |list: &ModuleList<Linear>| {
        let keys = list
            .named_parameters()
            .filter(|(key, _)| key.ends_with("weight"));
        keys.map(|(key, weight)| format!("{key}: {}", weight.shape()[0]))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        weight(&middle),
        ["0.weight: 2", "1.weight: 3", "2.weight: 4"]
    );
    assert_eq!(weight(&list), ["0.weight: 1", "1.weight: 5"]);
}
