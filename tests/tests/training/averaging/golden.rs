//! Averages have PyTorch's values, and resume with the same bits.

use module_nn::Snapshot;
use module_nn::optim::AveragingError;
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

use super::{Net, dtype, same, trained};

/// An average of either kind.
trait Average: Stateful {
    fn update(&mut self, model: &dyn Module) -> Result<()>;
    fn swap_in<'m>(&self, model: &'m dyn Module) -> Result<module_nn::SwappedState<'m>>;
    fn keys(&self) -> Vec<String>;
}

impl<R: AveragingRule> Average for AveragedModel<R> {
    fn update(&mut self, model: &dyn Module) -> Result<()> {
        self.update(model)
    }

    fn swap_in<'m>(&self, model: &'m dyn Module) -> Result<module_nn::SwappedState<'m>> {
        self.swap_in(model)
    }

    fn keys(&self) -> Vec<String> {
        let state = self.torch_state_dict().unwrap();
        state.keys().map(str::to_owned).collect()
    }
}

fn build(case: &Value, model: &dyn Module) -> Box<dyn Average> {
    let buffers = case["use_buffers"].as_bool().unwrap();
    let ema = |decay: f64| EMAConfig::new(decay).use_buffers(buffers);
    let warm = |decay: f64| ema(decay).use_warmup(true);
    match case["kind"].as_str().unwrap() {
        "swa" => Box::new(SWAConfig::new().use_buffers(buffers).build(model).unwrap()),
        "ema 0.9" => Box::new(ema(0.9).build(model).unwrap()),
        "ema 0.3" => Box::new(ema(0.3).build(model).unwrap()),
        "ema warm" => Box::new(warm(0.8).build(model).unwrap()),
        "ema slow" => {
            let slow = warm(0.8)
                .warmup_gamma(4.0)
                .warmup_power(1.0)
                .min_decay(0.25);
            Box::new(slow.build(model).unwrap())
        }
        other => panic!("an unknown average: {other}"),
    }
}

struct Run<'a> {
    case: &'a Value,
    recorded: &'a StateDict,
    prefix: String,
    net: Net,
}

impl Run<'_> {
    /// The net at a step, and an average that includes it.
    fn step(&self, step: usize, average: &mut dyn Average) {
        let dtype = self.prefix.split('/').take(2).collect::<Vec<_>>().join("/");
        self.net.set(self.recorded, &format!("{dtype}/{step}"));
        average.update(&self.net).unwrap();
    }

    /// The averaged values.
    fn averaged(&self, average: &dyn Average) -> StateDict {
        let _averaged = average.swap_in(&self.net).unwrap();
        self.net.values()
    }
}

fn each_run(mut check: impl FnMut(&Run<'_>)) {
    let (case, recorded) = golden::load("averaging.safetensors");
    let cases = case["averages"].as_array().unwrap();
    assert!(cases.len() >= 57, "{}", cases.len());
    for case in cases {
        let text = |name: &str| case[name].as_str().unwrap();
        let flag = case["flag"].as_bool().unwrap();
        let python = |truth: bool| if truth { "True" } else { "False" };
        let prefix = format!("{}/{}", text("dtype"), python(flag));
        let run = Run {
            case,
            recorded: &recorded,
            prefix: format!(
                "{prefix}/{}/{}",
                text("kind"),
                python(case["use_buffers"].as_bool().unwrap())
            ),
            net: Net::new(dtype(text("dtype")), flag),
        };
        run.net.set(&recorded, &format!("{prefix}/1"));
        check(&run);
    }
}

#[test]
fn averages_are_those_of_pytorch() {
    let mut compared = 0;
    each_run(|run| {
        // PyTorch's `lerp` uses a fused multiply-add.
        let is_fused = run.case["kind"] != "swa" && run.case["dtype"] != "bf16";
        let tolerance = match is_fused {
            true => Tolerance::ELEMENTWISE,
            false => Tolerance::EXACT,
        };
        let mut average = build(run.case, &run.net);
        for step in 1..=20 {
            run.step(step, average.as_mut());
            if ![1, 2, 7, 20].contains(&step) {
                continue;
            }
            for (name, value) in run.averaged(average.as_ref()) {
                let key = format!("{}/{step}/{name}", run.prefix);
                let expected = run.recorded.get(&key).expect(&key);
                compare(&value, expected, tolerance).unwrap_or_else(|text| panic!("{key}: {text}"));
                compared += 1;
            }
        }
    });
    assert!(compared > 57 * 4 * 8, "{compared}");
}

#[test]
fn a_run_resumed_at_step_7_has_the_same_bits() {
    each_run(|run| {
        let mut average = build(run.case, &run.net);
        let mut saved = None;
        for step in 1..=20 {
            run.step(step, average.as_mut());
            if step == 7 {
                saved = Some(average.state().unwrap());
            }
        }
        let expected = run.averaged(average.as_ref());
        let mut resumed = build(run.case, &run.net);
        resumed.load_state(&saved.unwrap()).unwrap();
        for step in 8..=20 {
            run.step(step, resumed.as_mut());
        }
        assert!(
            same(&run.averaged(resumed.as_ref()), &expected),
            "{}",
            run.prefix
        );
    });
}

#[test]
fn names_are_those_of_pytorchs_averaged_model() {
    let (case, _) = golden::load("averaging.safetensors");
    let keys: Vec<String> = serde_json::from_value(case["keys"].clone()).unwrap();
    let net = trained();
    assert_eq!(Average::keys(&EMA::new(&net, 0.9).unwrap()), keys);

    // A state under these names is accepted.
    let mut swa = SWA::new(&net).unwrap();
    swa.update(&net).unwrap();
    swa.update(&net).unwrap();
    let state = swa.torch_state_dict().unwrap();
    let mut other = SWA::new(&Net::new(DType::F32, true)).unwrap();
    other.load_torch_state_dict(&state).unwrap();
    assert_eq!(other.n_averaged(), 2);
    assert!(same(&other.state_dict(), &net.state_dict().unwrap()));
}

#[test]
fn a_checkpoint_of_training_holds_an_average() {
    let net = trained();
    let mut ema = EMAConfig::new(0.5).use_buffers(true).build(&net).unwrap();
    for _ in 0..3 {
        net.call(super::input()).unwrap();
        ema.update(&net).unwrap();
    }
    let directory = super::directory("checkpoint");
    let checkpoint = TrainingCheckpoint::new(0, 3).with("ema", &ema).unwrap();
    checkpoint.save(&directory).unwrap();
    let checkpoint = TrainingCheckpoint::load(&directory).unwrap();
    let mut resumed = EMA::new(&net, 0.9).unwrap();
    let report = checkpoint.restore("ema", &mut resumed).unwrap();
    // The options are the saved ones.
    assert_eq!(resumed.rule().decay, 0.5);
    assert!(format!("{report}").contains("decay"), "{report}");
    for average in [&mut ema, &mut resumed] {
        average.update(&net).unwrap();
    }
    let values = |ema: &EMA| ema.state().unwrap().tensors().clone();
    assert!(same(&values(&ema), &values(&resumed)));
}

#[test]
fn states_of_others_are_refused_and_change_nothing() {
    let net = trained();
    let mut ema = EMA::new(&net, 0.9).unwrap();
    ema.update(&net).unwrap();
    let before = ema.state().unwrap();
    let of_swa = SWA::new(&net).unwrap().state().unwrap();
    let error = ema.load_state(&of_swa).unwrap_err().to_string();
    assert!(
        error.contains("it is the state of SWA, and this is EMA"),
        "{error}"
    );
    assert!(ema.load_state(&Snapshot::default()).is_err());

    let mut state = ema.torch_state_dict().unwrap();
    state.remove("module.w1");
    state.insert("module.w3", Tensor::from(1.0_f32));
    state.insert("module.frozen", Tensor::from(1.0_f32));
    let error = ema.load_torch_state_dict(&state).unwrap_err();
    let Some(AveragingError::State {
        missing,
        unexpected,
        mismatched,
        ..
    }) = error.downcast_ref()
    else {
        panic!("{error}");
    };
    assert_eq!(missing[..], ["module.w1"]);
    assert_eq!(unexpected[..], ["module.w3"]);
    assert_eq!(mismatched[..], ["module.frozen"]);
    let after = ema.state().unwrap();
    assert!(same(before.tensors(), after.tensors()));

    let mut state = ema.torch_state_dict().unwrap();
    state.insert("n_averaged", Tensor::from(-1_i64));
    assert!(ema.load_torch_state_dict(&state).is_err());
}

#[test]
fn another_model_is_refused() {
    let net = trained();
    let mut ema = EMA::new(&net, 0.9).unwrap();
    let other = Net::new(DType::F32, false);
    let error = ema.update(&other).unwrap_err();
    let Some(AveragingError::Tensors { keys, .. }) = error.downcast_ref() else {
        panic!("{error}");
    };
    assert_eq!(keys[..], ["flag"]);
    assert_eq!(ema.n_averaged(), 0);

    // A tie is part of what a model is.
    let pair = |tied: bool| {
        let first = Parameter::new(Tensor::from(1.0_f32)).unwrap();
        let second = match tied {
            true => first.share(),
            false => Parameter::new(Tensor::from(1.0_f32)).unwrap(),
        };
        [first, second]
    };
    let mut ema = EMA::new(&pair(true), 0.9).unwrap();
    assert!(ema.update(&pair(false)).is_err());
    assert!(ema.update(&pair(true)).is_ok());

    let deferred = deferred(|| Linear::new(2, 1)).unwrap();
    let error = EMA::new(&deferred, 0.9).err().unwrap().to_string();
    assert!(error.contains("`weight`"), "{error}");

    for decay in [-0.1, 1.5, f64::NAN] {
        let error = EMA::new(&net, decay).err().unwrap().to_string();
        assert!(error.contains("decay"), "{error}");
    }
}

#[test]
fn averages_do_not_change_with_later_training() {
    let model = Linear::new(2, 1).unwrap();
    let mut optimizer = SGD::new(&model, 0.5).unwrap();
    let mut swa = SWA::new(&model).unwrap();
    swa.update(&model).unwrap();
    let before = model.weight().detach().to_vec::<f32>().unwrap();
    let x = Tensor::from([[1.0_f32, 2.0]]);
    model.call(x).unwrap().sum(..).unwrap().backward().unwrap();
    optimizer.step(&model).unwrap();
    assert_ne!(model.weight().detach().to_vec::<f32>().unwrap(), before);
    let kept = swa
        .state_dict()
        .get("weight")
        .unwrap()
        .to_vec::<f32>()
        .unwrap();
    assert_eq!(kept, before);
}
