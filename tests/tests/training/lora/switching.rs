//! Several adapters in one model.

use module_nn::lora::{self, Combination, LoraConfig};
use module_nn::prelude::*;

use super::{Net, assert_close, assert_same, differs, input, random};

fn trained(net: &Net) -> Vec<String> {
    let trained = net
        .named_parameters()
        .filter(|(_, parameter)| parameter.requires_grad());
    trained.map(|(key, _)| key).collect()
}

#[test]
fn one_is_in_use_and_trained_and_the_others_rest() {
    let mut net = Net::new();
    let plain = net.call(input()).unwrap();
    lora::add_adapter(&mut net, "one", "query", &random(2)).unwrap();
    let one = net.call(input()).unwrap();
    lora::add_adapter(&mut net, "two", ["query", "head"], &random(3)).unwrap();
    assert_same(&net.call(input()).unwrap(), &one, "a second one rests");
    assert_eq!(
        trained(&net),
        ["query.lora_A.one.weight", "query.lora_B.one.weight"]
    );
    lora::set_adapter(&net, ["two"]).unwrap();
    let two = net.call(input()).unwrap();
    assert_eq!(
        trained(&net),
        [
            "query.lora_A.two.weight",
            "query.lora_B.two.weight",
            "head.lora_A.two.weight",
            "head.lora_B.two.weight"
        ]
    );
    lora::set_adapter(&net, ["one", "two"]).unwrap();
    let both = net.call(input()).unwrap();
    assert!(differs(&one, &two) && differs(&both, &one) && differs(&both, &two));
    lora::set_adapter(&net, []).unwrap();
    assert_same(&net.call(input()).unwrap(), &plain, "none");
    assert!(trained(&net).is_empty());
    lora::set_adapter(&net, ["two"]).unwrap();
    lora::delete_adapter(&mut net, "two").unwrap();
    assert_same(&net.call(input()).unwrap(), &plain, "deleted");
    assert_eq!(lora::adapter_names(&net), ["one"]);
    assert_eq!(net.head.state_dict().unwrap().len(), 2);
    lora::set_adapter(&net, ["one"]).unwrap();
    assert_same(&net.call(input()).unwrap(), &one, "the first again");
    lora::unload(&mut net).unwrap();
    assert_same(&net.call(input()).unwrap(), &plain, "unloaded");
    assert!(
        net.state_dict()
            .unwrap()
            .keys()
            .eq(Net::new().state_dict().unwrap().keys())
    );
}

#[test]
fn scales_and_combinations_are_linear() {
    let mut net = Linear::new(6, 4).unwrap();
    let plain = net.call(input()).unwrap();
    lora::add_adapter(&mut net, "one", "", &random(2)).unwrap();
    lora::add_adapter(&mut net, "two", "", &random(3)).unwrap();
    let part = |net: &Linear, name: &str| {
        lora::set_adapter(net, [name]).unwrap();
        net.call(input()).unwrap().sub(&plain).unwrap()
    };
    let [one, two] = ["one", "two"].map(|name| part(&net, name));
    lora::set_scale(&net, "two", -3.0).unwrap();
    assert_close(&part(&net, "two"), &two.mul(-3.0).unwrap(), "scaled");
    lora::set_scale(&net, "two", 1.0).unwrap();
    lora::add_weighted_adapter(
        &mut net,
        &[("one", 0.5), ("two", -2.0)],
        "sum",
        Combination::Cat,
    )
    .unwrap();
    let expected = one.mul(0.5).unwrap().sub(two.mul(2.0).unwrap()).unwrap();
    assert_close(&part(&net, "sum"), &expected, "joined");
    assert_eq!(
        lora::adapter_config(&net, "sum").unwrap().scaling(""),
        (5, 1.0)
    );
}

#[test]
fn a_scope_without_adapters_ends_also_by_a_panic() {
    let mut net = Net::new();
    let plain = net.call(input()).unwrap();
    lora::add_adapter(&mut net, "default", "query", &random(2)).unwrap();
    let y = net.call(input()).unwrap();
    let inner = lora::disable_adapters(&net, || {
        let inner = lora::disable_adapters(&net, || net.call(input()))
            .unwrap()
            .unwrap();
        assert_same(&net.call(input()).unwrap(), &plain, "after the inner scope");
        inner
    });
    assert_same(&inner.unwrap(), &plain, "within");
    let panics =
        std::panic::AssertUnwindSafe(|| lora::disable_adapters(&net, || panic!("on purpose")));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_same(&net.call(input()).unwrap(), &y, "after");
}

#[test]
fn layers_have_ranks_of_their_own() {
    let mut net = Net::new();
    let config = LoraConfig::new()
        .r(4)
        .rank_pattern([("value", 1)])
        .alpha_pattern([("value", 5)]);
    lora::add_adapter(&mut net, "one", ["query", "value"], &config).unwrap();
    let shape = |key: &str| net.get_parameter(key).unwrap().shape().to_string();
    assert_eq!(shape("query.lora_A.one.weight"), "[4, 6]");
    assert_eq!(shape("value.lora_A.one.weight"), "[1, 5]");
    lora::add_weighted_adapter(&mut net, &[("one", 2.0)], "again", Combination::Linear).unwrap();
    let config = lora::adapter_config(&net, "again").unwrap();
    assert_eq!(
        (config.scaling("query"), config.scaling("value")),
        ((4, 1.0), (1, 1.0))
    );
}

#[test]
fn ranks_of_joined_adapters_are_those_of_their_layers_only() {
    #[derive(Module)]
    struct Nested {
        x: Linear,
        deep: Net,
    }

    #[derive(Module)]
    struct Net {
        x: Linear,
    }

    let linear = || Linear::new(4, 4).unwrap();
    let mut model = Nested {
        x: linear(),
        deep: Net { x: linear() },
    };
    lora::add_adapter(&mut model, "one", ["x", "deep.x"], &random(2)).unwrap();
    lora::add_adapter(&mut model, "two", "deep.x", &random(1)).unwrap();
    let both = [("one", 1.0), ("two", 1.0)];
    lora::add_weighted_adapter(&mut model, &both, "sum", Combination::Cat).unwrap();
    let config = lora::adapter_config(&model, "sum").unwrap();
    assert_eq!(config.scaling("deep.x"), (3, 1.0));
    assert_eq!(config.scaling("x"), (2, 1.0));
}
