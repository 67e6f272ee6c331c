//! The silent failures of adapters, named after their numbers in the list.

use module_nn::ModuleError;
use module_nn::lora::{self, LoraConfig, LoraError};
use module_nn::prelude::*;

use super::{Net, adapted, assert_close, differs, input, random, snapshot};

#[test]
fn pitfall_43_a_selection_that_adapts_nothing_or_too_little() {
    let mut net = Net::new();
    let before = snapshot(&net);
    for (select, message) in [
        ("qury", "`qury` selects nothing; did you mean `query`?"),
        (
            "encoder.**",
            "`encoder.**` selects nothing; there are `query`, `value`, `norm`, `head`",
        ),
    ] {
        let error = lora::add_adapter(&mut net, "default", select, &LoraConfig::new()).unwrap_err();
        assert!(matches!(
            error.downcast_ref(),
            Some(ModuleError::NothingSelected { .. })
        ));
        assert_eq!(error.to_string(), message);
    }
    // Each of several patterns must match.
    let error = lora::add_adapter(&mut net, "default", ["query", "valu"], &LoraConfig::new());
    assert_eq!(
        error.unwrap_err().to_string(),
        "`valu` selects nothing; did you mean `value`?"
    );
    // Matches that cannot be adapted are not skipped.
    let error = lora::add_adapter(&mut net, "default", "*", &LoraConfig::new()).unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(LoraError::NotAdaptable { path, kind: "LayerNorm", .. }) if path == "norm"
    ));
    // The report lists what was matched, and a layer that an optimizer is to move is trained.
    assert!(snapshot(&net).keys().eq(before.keys()));
    assert!(net.parameters().all(|parameter| parameter.requires_grad()));
    let report = lora::add_adapter(
        &mut net,
        "default",
        ["query", "value"],
        &LoraConfig::new().r(2),
    )
    .unwrap();
    assert_eq!(report.matched, ["query", "value"]);
    assert_eq!(report.trainable, 2 * (6 + 5) + 2 * (5 + 4));
    assert_eq!(report.total, net.num_parameters());
    assert!(
        report
            .to_string()
            .starts_with("trainable params: 40 || all params: 118 || trainable%: 33.8983\n")
    );
}

/// A language model whose head shares the embedding's table.
#[derive(Module)]
struct Tied {
    table: Embedding,
    head: Linear,
}

impl Forward for Tied {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.table.call(x)?)
    }
}

fn tied() -> Tied {
    let table = Embedding::new(7, 4).unwrap();
    let mut head = LinearConfig::new(4, 7).bias(false).build().unwrap();
    head.tie_weight(table.weight()).unwrap();
    Tied { table, head }
}

#[test]
fn pitfall_44_an_adapter_merged_into_a_tied_weight() {
    for layer in ["head", "table"] {
        let mut model = tied();
        lora::add_adapter(&mut model, "default", layer, &random(2)).unwrap();
        let x = Tensor::from([3_i64, 0, 6]);
        let y = model.call(x.clone()).unwrap();
        let before = snapshot(&model);
        let other = if layer == "head" { "table" } else { "head" };
        for result in [
            lora::merge(&mut model).map(drop),
            lora::merge_and_unload(&mut model),
        ] {
            let error = result.unwrap_err();
            assert!(
                matches!(error.downcast_ref(), Some(LoraError::Weight { path, .. }) if path == layer)
            );
            assert_eq!(
                error.to_string(),
                format!(
                    "merge: the weight of `{layer}` is tied to that of `{other}`, whose outputs would change with it; \
                     give one of them its own first"
                )
            );
        }
        assert!(snapshot(&model).iter().eq_by_value(&before));
        assert_eq!(
            model.call(x).unwrap().to_vec::<f32>().unwrap(),
            y.to_vec::<f32>().unwrap()
        );
    }
}

/// Comparing state dicts bit for bit.
trait EqByValue {
    fn eq_by_value(self, other: &StateDict) -> bool;
}

impl<'a, I: Iterator<Item = (&'a str, &'a Tensor)>> EqByValue for I {
    fn eq_by_value(self, other: &StateDict) -> bool {
        let mut count = 0;
        let mut own = self.inspect(|_| count += 1);
        let equal = own.all(|(key, value)| {
            other
                .get(key)
                .is_some_and(|other| other.equal(value).unwrap())
        });
        drop(own);
        equal && count == other.len()
    }
}

#[test]
fn pitfall_44_outputs_stay_before_and_after_and_after_a_reload() {
    let mut net = adapted();
    let x = input();
    let y = net.call(x.clone()).unwrap();
    let unmerged = snapshot(&net);
    lora::merge(&mut net).unwrap();
    assert_close(&net.call(x.clone()).unwrap(), &y, "merged");
    let merged = snapshot(&net);

    // Merged weights are not mistaken for those next to an adapter, nor the reverse.
    let fresh = adapted();
    let error = fresh.load_state_dict(&merged).unwrap_err();
    assert!(error.to_string().contains("lora_merged"), "{error}");
    let error = net.load_state_dict(&unmerged).unwrap_err();
    assert!(error.to_string().contains("lora_merged"), "{error}");

    // They load into a model in the same state, and can be unmerged.
    let mut other = adapted();
    lora::merge(&mut other).unwrap();
    let report = other.load_state_dict(&merged).unwrap();
    assert!(report.not_loaded.is_empty());
    assert_close(&other.call(x.clone()).unwrap(), &y, "loaded");
    lora::unmerge(&mut other).unwrap();
    assert_close(&other.call(x.clone()).unwrap(), &y, "taken out");
    let error = other.load_state_dict(&merged).unwrap_err();
    assert!(error.to_string().contains("lora_merged"), "{error}");
    for (key, value) in unmerged.iter() {
        assert_close(other.state_dict().unwrap().get(key).unwrap(), value, key);
    }

    // Without adapters it is a plain model, which a plain model loads.
    lora::merge_and_unload(&mut net).unwrap();
    assert!(
        net.state_dict()
            .unwrap()
            .keys()
            .eq(Net::new().state_dict().unwrap().keys())
    );
    let plain = Net::new();
    assert!(differs(&plain.call(x.clone()).unwrap(), &y));
    let report = plain.load_state_dict(&net.state_dict().unwrap()).unwrap();
    assert!(report.not_loaded.is_empty());
    assert_close(&plain.call(x).unwrap(), &y, "plain");
}
