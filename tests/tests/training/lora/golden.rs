//! PEFT's numbers.

mod half_precision;
mod layers;

use module_nn::lora::{self, Combination, LoraConfig};
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, quantize};
use module_tests::golden;
use serde_json::Value;

use super::{Net, assert_close, assert_same, differs};

use layers::build;

/// One case, with PEFT's model after the same seed.
struct Run<'a> {
    case: &'a Value,
    recorded: &'a StateDict,
    n: usize,
    what: String,
    model: Box<dyn Layer>,
    report: lora::LoraReport,
}

impl Run<'_> {
    fn tensor(&self, key: &str) -> &Tensor {
        self.recorded
            .get(&format!("{}/{key}", self.n))
            .unwrap_or_else(|| panic!("{} {key}", self.what))
    }

    /// The values recorded under a prefix.
    fn all(&self, prefix: &str) -> Vec<(&str, &Tensor)> {
        let prefix = format!("{}/{prefix}/", self.n);
        let all = self.recorded.iter();
        all.filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)))
            .collect()
    }

    fn parameter(&self, key: &str) -> &Parameter {
        self.model.get_parameter(key).unwrap()
    }

    fn set_values(&self) {
        let values = self.all("values").into_iter();
        for (key, value) in values.chain(self.all("reduced")) {
            self.parameter(key).set(value.clone()).unwrap();
        }
    }

    fn dtype(&self) -> DType {
        match self.case["dtype"].as_str().unwrap() {
            "f64" => DType::F64,
            _ => DType::F32,
        }
    }
}

/// Runs every case; `adapt` modifies the configuration.
fn each_case(mut check: impl FnMut(&mut Run<'_>)) {
    each_case_of("lora.safetensors", 41, &mut check);
    each_case_of("lora_more.safetensors", 16, &mut check);
}

fn each_case_of(file: &str, least: usize, check: &mut dyn FnMut(&mut Run<'_>)) {
    let (case, recorded) = golden::load(file);
    let cases = case["cases"].as_array().unwrap();
    assert!(cases.len() >= least, "{}", cases.len());
    for (n, case) in cases.iter().enumerate() {
        let what = format!("{n} {} {} {}", case["model"], case["config"], case["dtype"]);
        let config: LoraConfig = serde_json::from_value(case["config"].clone()).unwrap();
        let targets = case["targets"].as_array().unwrap();
        let targets: Vec<&str> = targets.iter().map(|name| name.as_str().unwrap()).collect();
        let (model, report) = fork_rng(5, || {
            let mut model = build(case["model"].as_str().unwrap())?;
            if case["dtype"] == "f64" {
                model.double()?;
            }
            for (key, value) in model.state_dict()?.iter() {
                assert_same(
                    value,
                    recorded.get(&format!("{n}/base/{key}")).unwrap(),
                    &what,
                );
            }
            let report = lora::add_adapter(&mut *model, "default", targets, &config)?;
            let next = Tensor::rand([4], DType::F32)?;
            assert_same(&next, recorded.get(&format!("{n}/next")).unwrap(), &what);
            Ok::<_, Error>((model, report))
        })
        .unwrap_or_else(|error| panic!("{what}: {error}"));
        let recorded = &recorded;
        check(&mut Run {
            case,
            recorded,
            n,
            what,
            model,
            report,
        });
    }
}

#[test]
fn first_values_are_pefts() {
    each_case(|run| {
        let init = run.case["config"]["init_lora_weights"].as_str();
        let pissa = init.is_some_and(|init| init.starts_with("pissa"));
        let adapters = run.all("init");
        assert!(!adapters.is_empty());
        for (key, value) in &adapters {
            let own = run.parameter(key).detach();
            match key.contains("magnitude") {
                true => assert_close(&own, value, &format!("{} {key}", run.what)),
                // Vectors are unique up to sign.
                false if pissa => assert_eq!(own.shape(), value.shape()),
                false => assert_same(&own, value, &format!("{} {key}", run.what)),
            }
        }
        for (key, value) in run.all("reduced") {
            assert_close(
                &run.parameter(key).detach(),
                value,
                &format!("{} {key}", run.what),
            );
        }
        if pissa {
            for layer in &run.report.matched {
                let product = |tensor: &dyn Fn(&str) -> Tensor| {
                    let [a, b] =
                        ["A", "B"].map(|f| tensor(&format!("{layer}.lora_{f}.default.weight")));
                    b.matmul(&a).unwrap()
                };
                let own = product(&|key| run.parameter(key).detach());
                let init = product(&|key| run.tensor(&format!("init/{key}")).clone());
                assert_close(&own, &init, &run.what);
            }
        }
        // Nothing else exists, and the same parameters are trained as in PEFT.
        let adapted = |key: &String| key.contains("lora_") || key.contains("modules_to_save");
        let own = run
            .model
            .named_parameters()
            .map(|(key, _)| key)
            .filter(adapted);
        assert_eq!(own.count(), adapters.len(), "{}", run.what);
        let mut trained: Vec<&str> = run.case["trained"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key.as_str().unwrap())
            .collect();
        let own = run
            .model
            .named_parameters()
            .filter(|(_, parameter)| parameter.requires_grad());
        let mut own: Vec<String> = own.map(|(key, _)| key).collect();
        trained.sort_unstable();
        own.sort_unstable();
        assert_eq!(own, trained, "{}", run.what);
        assert_eq!(
            run.report.trainable as u64,
            run.case["trainable"].as_u64().unwrap()
        );
    });
}

#[test]
fn outputs_and_gradients_are_pefts() {
    each_case(|run| {
        run.model.eval();
        run.set_values();
        let x = run.tensor("x").clone();
        let leaf = x
            .dtype()
            .is_floating_point()
            .then(|| Parameter::new(x.clone()).unwrap());
        let tracked = leaf.as_ref().map_or_else(|| x.clone(), Parameter::tensor);
        let y = run.model.call(tracked).unwrap();
        assert_close(&y, run.tensor("y"), &format!("{} y", run.what));
        let loss = y.mul(run.tensor("weights")).unwrap().sum(..).unwrap();
        loss.backward().unwrap();
        if let Some(leaf) = leaf {
            let grad = leaf.grad().unwrap();
            assert_close(&grad, run.tensor("grad_x"), &format!("{} x", run.what));
        }
        for (key, value) in run.all("grad") {
            // PEFT adds this part twice, and the second time without its graph.
            let halved = key.contains("out_proj");
            let value = &value.mul(if halved { 2.0 } else { 1.0 }).unwrap();
            let grad = run
                .parameter(key)
                .grad()
                .unwrap_or_else(|| panic!("{} {key}", run.what));
            assert_close(&grad, value, &format!("{} {key}", run.what));
        }
        let plain = lora::disable_adapters(&*run.model, || run.model.call(x)).unwrap();
        assert_close(&plain.unwrap(), run.tensor("disabled"), &run.what);
        assert!(
            differs(run.tensor("y"), run.tensor("disabled")),
            "{}",
            run.what
        );
    });
}

#[test]
fn training_and_merging_are_pefts() {
    each_case(|run| {
        if run.case["model"] == "attention" {
            // PEFT's gradients are not those of its outputs.
            return;
        }
        run.model.eval();
        run.set_values();
        let (x, weights) = (run.tensor("x").clone(), run.tensor("weights").clone());
        let base: Vec<(String, Tensor)> = run
            .model
            .named_parameters()
            .filter(|(_, parameter)| !parameter.requires_grad())
            .map(|(key, parameter)| (key, parameter.detach()))
            .collect();
        let mut optimizer = AdamWConfig::new(0.05)
            .weight_decay(0.1)
            .build(&*run.model)
            .unwrap();
        for step in 0..4 {
            run.model.zero_grad();
            let difference = run.model.call(x.clone()).unwrap().sub(&weights).unwrap();
            let loss = difference.mul(&difference).unwrap().mean(..).unwrap();
            loss.backward().unwrap();
            optimizer.step(&*run.model).unwrap();
            let expected = run
                .tensor("losses")
                .narrow(0, step..step + 1)
                .unwrap()
                .squeeze(0)
                .unwrap();
            assert_close(
                &loss.detach(),
                &expected,
                &format!("{} step {step}", run.what),
            );
        }
        for (key, value) in run.all("after") {
            assert_close(
                &run.parameter(key).detach(),
                value,
                &format!("{} {key}", run.what),
            );
        }
        for (key, value) in base {
            assert_same(
                &run.parameter(&key).detach(),
                &value,
                &format!("{} {key}", run.what),
            );
        }
        if !run.case["merges"].as_bool().unwrap() {
            return;
        }
        for (key, value) in run.all("after") {
            run.parameter(key).set(value.clone()).unwrap();
        }
        let before = run.model.call(x.clone()).unwrap();
        lora::merge(&mut *run.model).unwrap();
        for (key, value) in run.all("merged") {
            assert_close(
                &run.parameter(key).detach(),
                value,
                &format!("{} {key}", run.what),
            );
        }
        let after = run.model.call(x.clone()).unwrap();
        assert_close(
            &after,
            run.tensor("merged_y"),
            &format!("{} merged", run.what),
        );
        assert_close(&after, &before, &format!("{} merged", run.what));
        assert_eq!(after.dtype(), run.dtype());
        // Parameters trained next to the adapters are the model's own.
        if run.case["config"]["bias"].is_null() {
            lora::unmerge(&mut *run.model).unwrap();
            for (key, value) in run.all("base") {
                if run.all("reduced").is_empty() {
                    assert_close(
                        &run.parameter(key).detach(),
                        value,
                        &format!("{} {key}", run.what),
                    );
                }
            }
        }
    });
}

#[test]
fn several_adapters_are_pefts() {
    let (_, recorded) = golden::load("lora.safetensors");
    let tensor = |key: &str| recorded.get(&format!("together/{key}")).unwrap();
    let mut net = Net::new();
    net.double().unwrap();
    for (key, parameter) in net.named_parameters() {
        parameter
            .set(tensor(&format!("base/{key}")).clone())
            .unwrap();
    }
    let config = LoraConfig::new().r(2);
    lora::add_adapter(
        &mut net,
        "one",
        ["query", "value"],
        &config.clone().lora_alpha(2),
    )
    .unwrap();
    let config = config.lora_alpha(8);
    lora::add_adapter(&mut net, "two", ["value", "head"], &config).unwrap();
    for (key, parameter) in net.named_parameters() {
        if key.contains("lora_") {
            parameter
                .set(tensor(&format!("values/{key}")).clone())
                .unwrap();
        }
    }
    let both = [("one", 0.25), ("two", -0.0625)];
    let combinations = [("linear", Combination::Linear), ("cat", Combination::Cat)];
    for (name, combination) in combinations {
        lora::add_weighted_adapter(&mut net, &both, name, combination).unwrap();
        for layer in ["query", "value", "head"] {
            for factor in ["A", "B"] {
                let key = format!("{layer}.lora_{factor}.{name}.weight");
                let own = net.get_parameter(&key).unwrap().detach();
                let expected = tensor(&format!("values/{key}"));
                // PEFT pads a layer's lower rank with zeros.
                let dim = usize::from(factor == "B");
                let rank = own.shape()[dim];
                let expected = expected.narrow(dim as isize, 0..rank).unwrap();
                assert_close(&own, &expected, &key);
            }
        }
    }
    net.eval();
    for names in ["one", "two", "one+two", "linear", "cat"] {
        lora::set_adapter(&net, names.split('+')).unwrap();
        let y = net.call(tensor("x").clone()).unwrap();
        assert_close(&y, tensor(&format!("y/{names}")), names);
    }
    lora::set_adapter(&net, ["one", "two"]).unwrap();
    lora::merge(&mut net).unwrap();
    for layer in ["query", "value", "head"] {
        let key = format!("{layer}.weight");
        let own = net.get_parameter(&key).unwrap().detach();
        assert_close(&own, tensor(&format!("merged/{key}")), &key);
    }
}
