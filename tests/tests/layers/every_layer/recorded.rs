//! Checks that enough was recorded of every layer and loss, because `golden_layer_families` compares only what is in the
//! files.

use std::collections::{BTreeMap, BTreeSet};

use module_nn::prelude::*;
use module_tests::golden;
use module_tests::layers::{Entry, registry};
use serde_json::Value;

/// Requirements that PyTorch cannot meet, or that cannot apply: the layer, the missing requirement (in one dtype if that is
/// named), and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("CosineEmbeddingLoss", "gradient of input 2", ONLY_COMPARED),
    (
        "CrossMapLRN2d",
        "gradient of input 0",
        "PyTorch's windows are one channel off in the backward pass; ours is checked by differences",
    ),
    (
        "Hardsigmoid",
        "gradient of input 0 in f64",
        "PyTorch's slope in f64 is a sixth as f32 rounds it",
    ),
    ("HingeEmbeddingLoss", "gradient of input 1", ONLY_COMPARED),
    (
        "Identity",
        "refused input",
        "it returns what it is given, of any shape and dtype",
    ),
    (
        "PixelUnshuffle",
        "empty batch",
        "PyTorch returns it in the shape that it came in, and its gradient fails",
    ),
    (
        "SoftMarginLoss",
        "gradient of input 1",
        "PyTorch takes no target that asks for one",
    ),
];

const ONLY_COMPARED: &str =
    "the target is only compared with 1 and -1; PyTorch was asked for one and gave none";

const DTYPES: [&str; 2] = ["f32", "f64"];
const MODES: [&str; 2] = ["train", "eval"];

/// The minimum number of recorded configurations of a layer, in each dtype.
const ENOUGH: usize = 5;

/// The recordings of one layer in one dtype.
#[derive(Default)]
struct Recorded {
    /// The arguments and the inputs' shapes. The mode does not count, because it has no effect on most layers.
    configurations: BTreeSet<String>,
    modes: BTreeSet<String>,
    empty: bool,
    odd: bool,
    /// Whether there is a gradient, for each floating-point input by its position and each parameter by its name.
    gradients: BTreeMap<String, bool>,
}

/// One case of a family, with the tensors whose keys begin with `prefix`.
struct Case<'a> {
    case: &'a Value,
    tensors: &'a StateDict,
    prefix: String,
}

impl Case<'_> {
    /// Whether that gradient was recorded and is informative: it is not empty, and not all elements are zero.
    fn has_gradient(&self, key: &str) -> bool {
        let gradient = self.tensors.get(&format!("{}/{key}", self.prefix));
        let any = |g: &Tensor| g.ne(0.0)?.any(..)?.item::<bool>();
        gradient.is_some_and(|gradient| any(gradient).unwrap())
    }

    fn input(&self, number: usize) -> &Tensor {
        let key = format!("{}/in/{number}", self.prefix);
        self.tensors.get(&key).expect("an input")
    }

    /// The position of each input in the call: `0`, `1.0` within a tuple, `attn_mask`.
    fn places(&self) -> Vec<(String, usize)> {
        let mut places = Vec::new();
        tensors_of("", &self.case["args"], &mut places);
        tensors_of("", &self.case["named"], &mut places);
        places
    }

    fn is_empty(&self) -> bool {
        self.input(0).numel() == 0
    }

    /// What distinguishes a case from others, ignoring memory layout, dtype and mode.
    fn configuration(&self) -> String {
        let count = self.case["inputs"].as_array().map_or(0, Vec::len);
        let shapes: Vec<&Shape> = (0..count).map(|i| self.input(i).shape()).collect();
        let [kwargs, args, named] = ["kwargs", "args", "named"].map(|of| &self.case[of]);
        format!("{kwargs} {args} {named} {shapes:?}")
    }

    fn record(&self, entry: &Entry, recorded: &mut Recorded) {
        recorded.configurations.insert(self.configuration());
        recorded.modes.insert(text(&self.case["mode"]).to_owned());
        recorded.empty |= self.is_empty();
        let odd = |size: &usize| *size > 1 && size % 2 == 1;
        recorded.odd |= self.input(0).shape().iter().any(odd);
        let mut gradient = |of: String, is: bool| *recorded.gradients.entry(of).or_default() |= is;
        for (place, number) in self.places() {
            if self.input(number).dtype().is_floating_point() {
                let is = self.has_gradient(&format!("gin/{number}"));
                gradient(format!("input {place}"), is);
            }
        }
        let built = entry.build(&self.case["kwargs"]).unwrap();
        for (name, _) in built.module().named_parameters() {
            let is = self.has_gradient(&format!("grad/{name}"));
            gradient(format!("parameter {name}"), is);
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// The numbers of the tensors in a description of arguments, with their positions below `place`.
fn tensors_of(place: &str, description: &Value, found: &mut Vec<(String, usize)>) {
    if let Some(number) = description["tensor"].as_u64() {
        found.push((place.to_owned(), usize::try_from(number).unwrap()));
        return;
    }
    let below = |name: &str| match place {
        "" => name.to_owned(),
        _ => format!("{place}.{name}"),
    };
    match description {
        Value::Array(parts) => (parts.iter().enumerate())
            .for_each(|(i, part)| tensors_of(&below(&i.to_string()), part, found)),
        Value::Object(parts) => {
            (parts.iter()).for_each(|(name, part)| tensors_of(&below(name), part, found))
        }
        _ => {}
    }
}

/// The recordings of one layer.
#[derive(Default)]
struct Records {
    by_dtype: BTreeMap<String, Recorded>,
    /// The arguments of the cases that are not refusals.
    accepted: BTreeSet<String>,
    refused_arguments: bool,
    refused_inputs: bool,
    refused_empty: bool,
}

impl Records {
    fn of(entry: &Entry, families: &[(Value, StateDict)]) -> Self {
        let mut records = Self::default();
        for (family, tensors) in families {
            let of_layer = |list: &str, prefix: &str| -> Vec<Case<'_>> {
                let cases = family[list].as_array().expect("a list of cases");
                (cases.iter().enumerate())
                    .filter(|(_, case)| case["layer"] == entry.name)
                    .map(|(i, case)| Case {
                        case,
                        tensors,
                        prefix: format!("{prefix}{i}"),
                    })
                    .collect()
            };
            for case in of_layer("cases", "") {
                let dtype = text(&case.case["dtype"]).to_owned();
                records.accepted.insert(case.case["kwargs"].to_string());
                case.record(entry, records.by_dtype.entry(dtype).or_default());
            }
            for case in of_layer("refused", "refused") {
                records.refuse(entry, &case);
            }
        }
        records
    }

    /// What a refusal is about: the arguments if the layer cannot be built from them, the inputs if the same arguments
    /// accept others.
    fn refuse(&mut self, entry: &Entry, case: &Case<'_>) {
        let kwargs = &case.case["kwargs"];
        let quotes = case.case["quotes"].as_array().expect("a list of texts");
        // Except for an empty sequence, which is refused where an empty batch is not.
        let of_batch = case.case["label"] == "empty batch" && case.is_empty();
        self.refused_empty |= of_batch && !case.case["torch"].is_null();
        if quotes.is_empty() {
            return;
        }
        match entry.build(kwargs) {
            Err(_) => self.refused_arguments = true,
            Ok(_) => self.refused_inputs |= self.accepted.contains(&kwargs.to_string()),
        }
    }

    /// The missing requirements.
    fn missing(&self, entry: &Entry) -> Vec<String> {
        let mut missing = Vec::new();
        let mut unless = |is: bool, what: String| {
            if !is {
                missing.push(what);
            }
        };
        let none = Recorded::default();
        for dtype in DTYPES {
            let recorded = self.by_dtype.get(dtype).unwrap_or(&none);
            let count = recorded.configurations.len();
            let enough = count >= ENOUGH;
            unless(enough, format!("configuration beyond {count} in {dtype}"));
            for mode in MODES {
                let is = recorded.modes.contains(mode);
                unless(is, format!("case of {mode} in {dtype}"));
            }
            unless(recorded.odd, format!("odd size in {dtype}"));
            let empty = recorded.empty || self.refused_empty;
            unless(empty, format!("empty batch in {dtype}"));
            for (of, is) in &recorded.gradients {
                unless(*is, format!("gradient of {of} in {dtype}"));
            }
        }
        let arguments = self.refused_arguments || entry.takes_no_arguments();
        unless(arguments, "refused argument".to_owned());
        unless(self.refused_inputs, "refused input".to_owned());
        missing
    }
}

#[test]
fn enough_was_recorded_of_every_layer() {
    let families: Vec<(Value, StateDict)> = (golden::layer_families().iter())
        .map(golden::load)
        .collect();
    let mut problems = Vec::new();
    let mut needed = BTreeSet::new();
    for entry in registry() {
        for what in Records::of(&entry, &families).missing(&entry) {
            let in_any_dtype = what.split(" in ").next();
            let excepts = |&&(name, of, _): &&(&str, &str, &str)| {
                name == entry.name && (what == of || in_any_dtype == Some(of))
            };
            match EXCEPTIONS.iter().find(excepts) {
                Some(exception) => _ = needed.insert(exception),
                None => problems.push(format!("{}: no {what}", entry.name)),
            }
        }
    }
    for exception @ (name, what, why) in EXCEPTIONS {
        if !needed.contains(exception) {
            problems.push(format!("{name}: there is a {what}, though {why}"));
        }
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn an_empty_batch_is_unshuffled_as_any_other() {
    let x = Tensor::zeros([0, 8, 3, 2], DType::F32).unwrap();
    let x = x.with_grad().unwrap();
    let shuffled = PixelShuffle::new(2).unwrap().call(x.clone()).unwrap();
    assert_eq!(**shuffled.shape(), [0, 2, 6, 4]);
    let back = PixelUnshuffle::new(2).unwrap().call(shuffled).unwrap();
    assert_eq!(back.shape(), x.shape());
    back.sum(..).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().shape(), x.shape());
}
