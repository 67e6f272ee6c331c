//! Merging adapters into the weights, and unmerging them.

use module_nn::lora::{self, LoraConfig, LoraError};
use module_nn::parametrize::weight_norm;
use module_nn::prelude::*;

use super::{Net, adapted, assert_close, assert_same, differs, input, random, snapshot};

#[test]
fn merging_twice_and_merging_nothing_are_refused() {
    let mut net = adapted();
    assert!(matches!(
        lora::unmerge(&mut net).unwrap_err().downcast_ref(),
        Some(LoraError::NothingToMerge { .. })
    ));
    lora::set_adapter(&net, []).unwrap();
    assert!(matches!(
        lora::merge(&mut net).unwrap_err().downcast_ref(),
        Some(LoraError::NothingToMerge { .. })
    ));
    lora::set_adapter(&net, ["default"]).unwrap();
    lora::merge(&mut net).unwrap();
    let before = snapshot(&net);
    let refused = [
        lora::merge(&mut net).map(drop),
        lora::set_adapter(&net, ["default"]),
        lora::set_scale(&net, "default", 2.0),
        lora::delete_adapter(&mut net, "default"),
        lora::unload(&mut net),
        lora::disable_adapters(&net, || panic!("must not run")),
    ];
    for result in refused {
        let error = result.unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(LoraError::Merged { adapters, .. }) if *adapters == ["default"])
        );
        assert!(
            error
                .to_string()
                .ends_with("`default` is merged into the weights; call `unmerge` first"),
            "{error}"
        );
    }
    for (key, value) in snapshot(&net).iter() {
        assert_same(value, before.get(key).unwrap(), key);
    }
}

#[test]
fn weights_that_cannot_change_are_refused_and_nothing_is_changed() {
    let mut grouped = Conv2dConfig::new(4, 6, 3).groups(2).build().unwrap();
    lora::add_adapter(&mut grouped, "default", "", &random(4)).unwrap();
    let error = lora::merge(&mut grouped).unwrap_err();
    assert!(error.to_string().contains("has 2 groups"), "{error}");

    // The second of two layers refuses.
    let mut net = adapted();
    let b = net.get_parameter("value.lora_B.default.weight").unwrap();
    b.set(Tensor::full(b.shape(), f64::INFINITY, DType::F32).unwrap())
        .unwrap();
    let before = snapshot(&net);
    let error = lora::merge(&mut net).unwrap_err();
    assert_eq!(
        error.to_string(),
        "merge: the weight of `value` would not be finite; the adapter has diverged"
    );
    let after = snapshot(&net);
    assert!(after.keys().eq(before.keys()));
    assert_same(
        after.get("query.weight").unwrap(),
        before.get("query.weight").unwrap(),
        "query",
    );

    // A computed weight cannot be merged into; an existing adapter stays active.
    let mut layer = Linear::new(6, 4).unwrap();
    lora::add_adapter(&mut layer, "default", "", &random(2)).unwrap();
    let y = layer.call(input()).unwrap();
    let mut layer = weight_norm(layer, Some(0)).unwrap();
    assert_close(&layer.call(input()).unwrap(), &y, "parametrized");
    let error = lora::merge(&mut layer).unwrap_err();
    assert!(error.to_string().contains("is computed"), "{error}");
}

#[test]
fn copies_take_the_place_of_the_weights_and_give_it_back() {
    let mut net = Net::new();
    let plain = net.call(input()).unwrap();
    let first = net.head.bias().get().unwrap().detach();
    let config = LoraConfig::new().r(2).modules_to_save(["head", "norm"]);
    let report = lora::add_adapter(&mut net, "default", "query", &config).unwrap();
    assert_eq!(
        (report.matched, report.saved),
        (
            vec!["query".to_owned()],
            vec!["norm".to_owned(), "head".to_owned()]
        )
    );
    assert_same(&net.call(input()).unwrap(), &plain, "fresh");
    let copied = net
        .get_parameter("head.modules_to_save.default.bias")
        .unwrap();
    copied.set(first.add(1.0).unwrap()).unwrap();
    let y = net.call(input()).unwrap();
    assert_close(&y, &plain.add(1.0).unwrap(), "trained");
    let without = lora::disable_adapters(&net, || net.call(input()))
        .unwrap()
        .unwrap();
    assert_same(&without, &plain, "disabled");
    lora::merge(&mut net).unwrap();
    assert_close(&net.call(input()).unwrap(), &y, "merged");
    assert!(differs(&net.head.bias().get().unwrap().detach(), &first));
    lora::unmerge(&mut net).unwrap();
    assert_same(&net.head.bias().get().unwrap().detach(), &first, "bias");
    assert_close(&net.call(input()).unwrap(), &y, "unmerged");
}

#[test]
fn one_layer_under_two_paths_is_merged_once() {
    #[derive(Module)]
    struct Twice {
        first: std::sync::Arc<Linear>,
        again: std::sync::Arc<Linear>,
    }

    impl Forward for Twice {
        type Output = Tensor;

        fn forward(&self, x: Tensor) -> Result<Tensor> {
            self.again.call(self.first.call(x)?)
        }
    }

    let mut layer = Linear::new(6, 6).unwrap();
    lora::add_adapter(&mut layer, "default", "", &random(2)).unwrap();
    let layer = std::sync::Arc::new(layer);
    let mut model = Twice {
        first: layer.clone(),
        again: layer,
    };
    let y = model.call(input()).unwrap();
    // Nobody has exclusive access to it, so nothing is changed.
    let error = lora::merge(&mut model).unwrap_err();
    assert!(
        error.to_string().contains("shared through an `Arc`"),
        "{error}"
    );
    assert_same(&model.call(input()).unwrap(), &y, "refused");
}
