//! The recorded configurations of layers, for checks of every layer.

use std::collections::BTreeMap;

use module_nn::prelude::*;
use serde_json::Value;

use super::{Arguments, Built, Entry};
use crate::golden::{self, lay_out};

/// One recorded configuration of a layer in `F32`.
pub struct Sample {
    /// The layer.
    pub entry: Entry,
    /// The recorded case.
    pub case: Value,
    /// Its inputs.
    pub inputs: Vec<Tensor>,
}

impl Sample {
    /// The layer, with values that depend on the seed.
    pub fn built(&self, seed: u64) -> Box<dyn Built> {
        fork_rng(seed, || self.entry.build(&self.case["kwargs"])).unwrap()
    }

    /// The arguments of the call.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments {
            tensors: &self.inputs,
            positional: &self.case["args"],
            named: &self.case["named"],
        }
    }

    /// The outputs in evaluation mode, which draws no random numbers.
    pub fn run(&self, built: &dyn Built) -> Vec<Tensor> {
        built.module().eval();
        fork_rng(0, || no_grad(|| built.run(&self.arguments()))).unwrap()
    }

    /// The layer and its arguments.
    pub fn name(&self) -> String {
        format!("{} {}", self.entry.name, self.case["kwargs"])
    }
}

/// Every distinct recorded configuration of a layer, with the first inputs that are not empty.
pub fn samples() -> Vec<Sample> {
    let mut samples: BTreeMap<String, Sample> = BTreeMap::new();
    for file in golden::layer_families() {
        let (family, tensors) = golden::load(file);
        let cases = family["cases"].as_array().expect("a list of cases");
        for (number, case) in cases
            .iter()
            .enumerate()
            .filter(|(_, c)| c["dtype"] == "f32")
        {
            let inputs = case["inputs"].as_array().expect("a list of inputs").iter();
            let inputs: Vec<Tensor> = (inputs.enumerate())
                .map(|(i, input)| {
                    let values = tensors.get(&format!("{number}/in/{i}")).expect("an input");
                    lay_out(values, input["layout"].as_str().expect("a layout"))
                })
                .collect();
            let name = case["layer"].as_str().expect("a layer");
            let entry = super::find(name);
            let case = case.clone();
            let key = format!("{name} {}", case["kwargs"]);
            if inputs.iter().all(|x| x.numel() > 0) {
                samples.entry(key).or_insert(Sample {
                    entry,
                    case,
                    inputs,
                });
            }
        }
    }
    samples.into_values().collect()
}
