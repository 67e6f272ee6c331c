//! Adapters that are created here and that PEFT has read: `golden/check_rust_adapters.py`.

use std::path::{Path, PathBuf};

use module_nn::lora::{self, InitLoraWeights, LoraBias, LoraConfig, PeftAdapter, PeftConfig};
use module_nn::prelude::*;
use module_tests::files::adler32;
use module_tests::golden::{Tolerance, assert_close};
use serde_json::Value;

use super::models::{Model, base};
use super::{Recorded, answer};

/// Set to rewrite the files, after which `golden/check_rust_adapters.py` must be run again.
const WRITE: &str = "WRITE_GOLDEN";

struct Case {
    name: &'static str,
    kind: &'static str,
    select: &'static [&'static str],
    config: LoraConfig,
}

fn cases() -> Vec<Case> {
    let case = |name, kind, select, config| Case {
        name,
        kind,
        select,
        config,
    };
    let r = |r: usize| LoraConfig::new().r(r);
    let patterns = r(4)
        .use_rslora(true)
        .rank_pattern([("o_proj", 2_usize), (r"layers\.1\..*", 3)])
        .alpha_pattern([(r"layers\.0\.(up|down)", 5)]);
    let heads = |config: LoraConfig| config.modules_to_save(["head"]);
    vec![
        case(
            "plain",
            "transformer",
            &["**.q_proj", "**.v_proj"],
            r(4).lora_alpha(6),
        ),
        case(
            "patterns",
            "transformer",
            &["**.{q,o}_proj", "**.up", "**.down"],
            patterns,
        ),
        case(
            "dora",
            "transformer",
            &["**.q_proj", "head"],
            r(2).use_dora(true),
        ),
        case(
            "single",
            "transformer",
            &["layers.0.up", "layers.1.q_proj"],
            r(2),
        ),
        case("embedding", "transformer", &["embed", "**.k_proj"], r(3)),
        case(
            "embedding_dora",
            "transformer",
            &["embed"],
            r(3).use_dora(true),
        ),
        case(
            "lora_only",
            "transformer",
            &["**.up"],
            r(2).bias(LoraBias::LoraOnly),
        ),
        case(
            "bias_all",
            "transformer",
            &["**.v_proj"],
            heads(r(2).bias(LoraBias::All)),
        ),
        case(
            "saved",
            "transformer",
            &["**.down"],
            r(2).modules_to_save(["head", "embed", "norm"]),
        ),
        case(
            "pissa",
            "transformer",
            &["**.up"],
            r(2).init_lora_weights(InitLoraWeights::Pissa),
        ),
        case("conv2d", "images", &["stem", "head"], r(2).lora_alpha(3)),
        case("conv2d_groups", "images", &["deep"], r(2)),
        case("conv2d_dora", "images", &["stem"], r(2).use_dora(true)),
        case("conv1d", "signals", &["conv"], r(2)),
        case("attention", "signals", &["attention"], heads(r(2))),
        case(
            "recurrent",
            "readings",
            &["lstm", "cell.weight_hh", "head"],
            r(2).rank_pattern([("weight_ih_l1", 3_usize)]),
        ),
        case("recurrent_only", "readings", &["cell"], r(2)),
    ]
}

/// A model with an adapter whose parameters all differ from their initial values.
fn adapted(case: &Case) -> Box<dyn Model> {
    let mut model = base(case.kind);
    fork_rng(5, || -> Result<()> {
        lora::add_adapter(&mut *model, "default", case.select, &case.config)?;
        for (_, parameter) in model.named_parameters() {
            if parameter.requires_grad() {
                let step = Tensor::randn(parameter.shape(), DType::F32)?.mul(0.2)?;
                parameter.set(parameter.detach().add(&step)?)?;
            }
        }
        Ok(())
    })
    .unwrap();
    model.eval();
    model
}

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/rust/peft")
}

#[test]
fn adapters_that_are_made_here_answer_in_peft_as_here() {
    let recorded = Recorded::read();
    let input = |kind: &str| {
        let of = recorded
            .adapters
            .iter()
            .find(|(_, case)| case["model"] == kind);
        recorded.tensor(&of.expect(kind).0, "input")
    };
    let (files, mut outputs) = (files(), StateDict::new());
    for case in cases() {
        let model = adapted(&case);
        let input = input(case.kind);
        outputs.insert(
            format!("output.{}", case.name),
            answer(&*model, input.clone()),
        );
        outputs.insert(format!("input.{}", case.kind), input);
        let adapter = PeftAdapter::of(&*model, "default").unwrap();
        let folder = files.join(case.name);
        if std::env::var_os(WRITE).is_some() {
            adapter.save(&folder).unwrap();
        }
        let json = std::fs::read_to_string(folder.join("adapter_config.json")).unwrap();
        assert_eq!(adapter.config.to_json().unwrap(), json, "{}", case.name);
        let committed = PeftAdapter::load(&folder).unwrap();
        assert_eq!(committed.config, PeftConfig::from_json(&json).unwrap());
        assert_eq!(committed.tensors.len(), adapter.tensors.len());
        for (key, tensor) in adapter.tensors.iter() {
            let committed = committed.tensors.get(key).expect(key);
            assert_close(tensor, committed, Tolerance::CONTRACTION, key);
        }
    }
    let path = files.join("outputs.safetensors");
    if std::env::var_os(WRITE).is_some() {
        outputs.save(&path).unwrap();
    }
    let committed = StateDict::load(&path).unwrap();
    for (key, tensor) in outputs.iter() {
        assert_close(
            tensor,
            committed.get(key).expect(key),
            Tolerance::CONTRACTION,
            key,
        );
    }

    let check = std::fs::read_to_string(files.join("check.json")).unwrap();
    let check: Value = serde_json::from_str(&check).unwrap();
    let checked = check["cases"].as_array().unwrap();
    assert_eq!(checked.len(), cases().len());
    for case in checked {
        let (name, sizes) = (case["name"].as_str().unwrap(), &case["adler32"]);
        for file in ["adapter_config.json", "adapter_model.safetensors"] {
            let bytes = std::fs::read(files.join(name).join(file)).unwrap();
            let again = "run golden/check_rust_adapters.py";
            assert_eq!(sizes[file], adler32(&bytes), "{name}: {again}");
        }
        assert!(case["furthest"].as_f64().unwrap() < 1e-5, "{name}");
    }
}
