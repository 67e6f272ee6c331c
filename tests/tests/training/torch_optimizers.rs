//! Optimizers that start a run in PyTorch and resume it here, and the reverse.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod entries;
mod refused;

use std::path::{Path, PathBuf};

use module_nn::optim::*;
use module_nn::prelude::*;
use module_nn::{ParameterDict, RestoreReport, TorchObject};
use module_tests::files::adler32;
use module_tests::golden::{self, Tolerance, compare};
use serde::de::DeserializeOwned;
use serde_json::Value;

struct Recorded {
    case: Value,
    tensors: StateDict,
}

impl Recorded {
    fn read() -> Self {
        let (case, tensors) = golden::load("torch_optimizers/runs.safetensors");
        Self { case, tensors }
    }

    fn number(&self, name: &str) -> usize {
        usize::try_from(self.case[name].as_u64().expect("a number")).unwrap()
    }

    fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        let cases = self.case["cases"].as_array().expect("cases").iter();
        cases.map(|case| Case {
            recorded: self,
            name: case["name"].as_str().unwrap(),
            case,
        })
    }

    fn case(&self, name: &str) -> Case<'_> {
        self.cases().find(|case| case.name == name).expect(name)
    }
}

#[derive(Clone, Copy)]
struct Case<'a> {
    recorded: &'a Recorded,
    name: &'a str,
    case: &'a Value,
}

/// Steps, saves and loads every rule as its own type.
trait Exchanged: Optimizer {
    fn save(&self) -> Result<TorchObject>;
    fn take_up(&mut self, state: &TorchObject) -> Result<RestoreReport>;
}

impl<R: UpdateRule> Exchanged for RuleOptimizer<R> {
    fn save(&self) -> Result<TorchObject> {
        self.torch_state_dict()
    }

    fn take_up(&mut self, state: &TorchObject) -> Result<RestoreReport> {
        self.load_torch_state_dict(state)
    }
}

impl Case<'_> {
    fn tensor(&self, name: &str) -> Tensor {
        let tensor = self.recorded.tensors.get(name);
        tensor
            .unwrap_or_else(|| panic!("{name} is not recorded"))
            .clone()
    }

    fn dtype(&self) -> DType {
        if self.case["dtype"] == "f64" {
            DType::F64
        } else {
            DType::F32
        }
    }

    fn paths(&self) -> Vec<&str> {
        let paths = self.case["paths"].as_array().unwrap().iter();
        paths.map(|path| path.as_str().unwrap()).collect()
    }

    /// The model with the values recorded under `prefix`.
    fn model(&self, prefix: &str) -> ParameterDict {
        let mut model = ParameterDict::new();
        for path in self.paths() {
            let value = self.tensor(&format!("{prefix}.{path}"));
            let value = value.to_dtype(self.dtype()).unwrap();
            model.insert(path, Parameter::new(value).unwrap()).unwrap();
        }
        model
    }

    fn saved_model(&self) -> ParameterDict {
        self.model(&format!("{}/saved", self.name))
    }

    fn file(&self) -> PathBuf {
        golden::path(format!("torch_optimizers/{}.pt", self.name))
    }

    fn torch_state(&self) -> TorchObject {
        TorchObject::load(self.file()).unwrap()
    }

    fn step(&self, optimizer: &mut dyn Exchanged, model: &ParameterDict, step: usize) {
        let absent = self.recorded.case["absent"].as_array().unwrap();
        for (path, parameter) in model.named_parameters() {
            parameter.zero_grad();
            if path == "p3" || (path == "p1" && absent.contains(&Value::from(step))) {
                continue;
            }
            let grads = self.tensor(&format!("grads.{path}"));
            let grad = grads.narrow(0, step..step + 1).unwrap().squeeze(0).unwrap();
            parameter
                .set_grad(grad.to_dtype(self.dtype()).unwrap())
                .unwrap();
        }
        optimizer.step(model).unwrap();
    }

    /// Compares the parameters to those recorded under `prefix`.
    fn check(&self, model: &ParameterDict, prefix: &str) {
        for (path, parameter) in model.named_parameters() {
            let expected = self.tensor(&format!("{}/{prefix}.{path}", self.name));
            compare(&parameter.detach(), &expected, Tolerance::CONTRACTION)
                .unwrap_or_else(|text| panic!("{} {prefix}.{path}: {text}", self.name));
        }
    }

    /// The optimizer of the case, with every option different from the recording if `other`.
    fn build(&self, model: &ParameterDict, other: bool) -> Box<dyn Exchanged> {
        let build = match self.case["optimizer"].as_str().unwrap() {
            "SGD" => build_rule::<SGDConfig>,
            "Adam" => build_rule::<AdamConfig>,
            "AdamW" => build_rule::<AdamWConfig>,
            "NAdam" => build_rule::<NAdamConfig>,
            "RAdam" => build_rule::<RAdamConfig>,
            "Adamax" => build_rule::<AdamaxConfig>,
            "Adagrad" => build_rule::<AdagradConfig>,
            "Adadelta" => build_rule::<AdadeltaConfig>,
            "RMSprop" => build_rule::<RMSpropConfig>,
            "Rprop" => build_rule::<RpropConfig>,
            "ASGD" => build_rule::<ASGDConfig>,
            "Adafactor" => build_rule::<AdafactorConfig>,
            "Muon" => build_rule::<MuonConfig>,
            unknown => panic!("an unknown optimizer: {unknown}"),
        };
        build(*self, model, other)
    }
}

fn options<R: DeserializeOwned>(arguments: &Value) -> R {
    serde_json::from_value(arguments.clone()).unwrap_or_else(|e| panic!("{arguments}: {e}"))
}

fn build_rule<R: UpdateRule + 'static>(
    case: Case<'_>,
    model: &ParameterDict,
    other: bool,
) -> Box<dyn Exchanged> {
    let kwargs = match other {
        true => serde_json::json!({"lr": 0.3}),
        false => case.case["kwargs"].clone(),
    };
    let groups = case.case["groups"].as_array();
    let mut built = options::<R>(&kwargs).group("*", |group| group);
    if groups.is_none_or(|groups| groups.len() == 1) {
        built = ParamGroups::new(options(&kwargs));
    }
    // The second group is the one that is selected; the first has the rest.
    if let Some([_, second]) = groups.map(Vec::as_slice) {
        let paths = second[0].as_array().unwrap().iter();
        let paths: Vec<&str> = paths.map(|path| path.as_str().unwrap()).collect();
        let mut changed = kwargs.clone();
        for (name, value) in second[1].as_object().unwrap() {
            if !other {
                changed[name] = value.clone();
            }
        }
        built =
            options::<R>(&kwargs).group(format!("{{{}}}", paths.join(",")), |_| options(&changed));
    }
    Box::new(built.build(model).unwrap())
}

/// The differences between two objects: in type, keys, their order, numbers, dtypes, shapes or elements. Python's `0` and
/// `0.0` are equal options.
fn difference(
    ours: &TorchObject,
    theirs: &TorchObject,
    at: &str,
    tolerance: Tolerance,
) -> Option<String> {
    use TorchObject::{Bool, Dict, Float, Int, List, None as Nothing, Tensor as T, Text, Tuple};
    let differ = || Some(format!("{at}: {ours} instead of {theirs}"));
    match (ours, theirs) {
        (Nothing, Nothing) => None,
        (Bool(a), Bool(b)) if a == b => None,
        (Text(a), Text(b)) if a == b => None,
        (Int(a), Int(b)) if a == b => None,
        (Float(a), Float(b)) if a == b => None,
        (Float(a), Int(b)) if *a == *b as f64 => None,
        (List(a), List(b)) | (Tuple(a), Tuple(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(i, (a, b))| difference(a, b, &format!("{at}.{i}"), tolerance))
        }
        (Dict(a), Dict(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b);
            pairs.find_map(|((key, a), (other, b))| {
                difference(key, other, &format!("{at}: the key"), tolerance)
                    .or_else(|| difference(a, b, &format!("{at}.{key}"), tolerance))
            })
        }
        (T(a), T(b)) => {
            if (a.dtype(), a.shape()) != (b.dtype(), b.shape()) {
                return differ();
            }
            compare(a, b, tolerance)
                .err()
                .map(|text| format!("{at}: {text}"))
        }
        _ => differ(),
    }
}

/// PyTorch puts the explicit options of a group before the defaults.
fn sorted_options(state: &TorchObject) -> TorchObject {
    let mut state = state.clone();
    let TorchObject::Dict(entries) = &mut state else {
        panic!("no dict")
    };
    let TorchObject::List(groups) = &mut entries[1].1 else {
        panic!("no list")
    };
    for group in groups {
        let TorchObject::Dict(options) = group else {
            panic!("no dict")
        };
        options.sort_by_key(|(key, _)| key.describe());
    }
    state
}

/// PyTorch's Adagrad has a state for every parameter before its first step; ours has one for each updated parameter.
fn without_unmoved(mut state: TorchObject) -> TorchObject {
    let TorchObject::Dict(entries) = &mut state else {
        panic!("no dict")
    };
    let TorchObject::Dict(states) = &mut entries[0].1 else {
        panic!("no dict")
    };
    let unmoved = |state: &TorchObject| match state.get("step") {
        Some(TorchObject::Tensor(step)) => step.item::<f32>().unwrap() == 0.0,
        _ => false,
    };
    states.retain(|(_, state)| !unmoved(state));
    state
}

fn assert_same(case: Case<'_>, ours: &TorchObject, theirs: TorchObject, tolerance: Tolerance) {
    let grouped = case.case["groups"]
        .as_array()
        .is_some_and(|groups| groups.len() > 1);
    let difference = match grouped {
        true => difference(
            &sorted_options(ours),
            &sorted_options(&theirs),
            "",
            tolerance,
        ),
        false => difference(ours, &theirs, "", tolerance),
    };
    assert_eq!(difference, None, "{}", case.name);
}

#[test]
fn a_run_of_pytorch_continues_here() {
    let recorded = Recorded::read();
    assert!(recorded.cases().count() >= 23);
    for case in recorded.cases() {
        let model = case.saved_model();
        let mut optimizer = case.build(&model, true);
        let report = optimizer.take_up(&case.torch_state()).unwrap();
        assert!(
            report
                .changed
                .iter()
                .any(|c| c.name == "lr" && c.before == "0.3"),
            "{report}"
        );
        for step in recorded.number("saved")..recorded.number("steps") {
            case.step(&mut *optimizer, &model, step);
        }
        case.check(&model, "after");
    }
}

#[test]
fn a_loaded_state_is_saved_as_pytorch_saved_it() {
    let recorded = Recorded::read();
    for case in recorded.cases() {
        let model = case.saved_model();
        let mut optimizer = case.build(&model, true);
        optimizer.take_up(&case.torch_state()).unwrap();
        let ours = TorchObject::from_bytes(optimizer.save().unwrap().to_bytes().unwrap()).unwrap();
        assert_same(case, &ours, case.torch_state(), Tolerance::EXACT);
    }
}

/// `{"model", "optimizer"}` for every case, after as many steps as PyTorch had made when it saved.
fn begun_here(recorded: &Recorded) -> TorchObject {
    let cases = recorded.cases().map(|case| {
        let model = case.model("init");
        let mut optimizer = case.build(&model, false);
        for step in 0..recorded.number("saved") {
            case.step(&mut *optimizer, &model, step);
        }
        case.check(&model, "saved");
        let state = optimizer.save().unwrap();
        assert_same(
            case,
            &state,
            without_unmoved(case.torch_state()),
            Tolerance::CONTRACTION,
        );
        let model = TorchObject::from(model.state_dict().unwrap());
        (
            case.name,
            TorchObject::dict([("model", model), ("optimizer", state)]),
        )
    });
    cases.collect()
}

/// Set to rewrite the file, after which `golden/check_rust_optimizers.py` must be run again.
const WRITE: &str = "WRITE_GOLDEN";

#[test]
fn a_run_that_began_here_continued_in_pytorch() {
    let recorded = Recorded::read();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/rust/optimizers.pt");
    let today = begun_here(&recorded);
    if std::env::var_os(WRITE).is_some() {
        today.save(&path).unwrap();
    }
    let committed = std::fs::read(&path).unwrap();
    let check = std::fs::read_to_string(path.with_extension("check.json")).unwrap();
    let check: Value = serde_json::from_str(&check).unwrap();
    assert_eq!(
        check["adler32"],
        adler32(&committed),
        "run golden/check_rust_optimizers.py"
    );
    assert_eq!(
        check["cases"].as_array().unwrap().len(),
        recorded.cases().count()
    );
    let committed = TorchObject::from_bytes(committed).unwrap();
    assert_eq!(
        difference(&today, &committed, "", Tolerance::CONTRACTION),
        None
    );
}
