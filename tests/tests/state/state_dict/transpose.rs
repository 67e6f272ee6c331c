//! Weights that a checkpoint stores transposed, and saving them that way again.

use module_nn::prelude::*;

use super::assert_same;

/// One block of GPT-2, whose projections are `Conv1D`, and thus transposed, in a Hugging Face checkpoint.
#[derive(Module)]
struct Block {
    ln_1: LayerNorm,
    c_attn: Linear,
    c_proj: Linear,
    c_fc: Linear,
}

#[derive(Module)]
struct Gpt {
    wte: Embedding,
    h: Vec<Block>,
    lm_head: Linear,
}

fn gpt() -> Gpt {
    let block = || -> Result<Block> {
        Ok(Block {
            ln_1: LayerNorm::new(4)?,
            c_attn: Linear::new(4, 12)?,
            c_proj: Linear::new(4, 4)?,
            c_fc: Linear::new(4, 16)?,
        })
    };
    let make = || -> Result<Gpt> {
        Ok(Gpt {
            wte: Embedding::new(7, 4)?,
            h: vec![block()?, block()?],
            lm_head: LinearConfig::new(4, 7).bias(false).build()?,
        })
    };
    make().unwrap()
}

fn is_conv1d(key: &str) -> bool {
    key.contains(".c_") && key.ends_with("weight")
}

/// The model's state as in the checkpoint: different keys, masks, and transposed projections.
fn checkpoint(model: &Gpt) -> StateDict {
    let state = model.state_dict().unwrap();
    let foreign = |(key, value): (&str, &Tensor)| {
        let turned = value.t().and_then(|value| value.contiguous());
        let value = if is_conv1d(key) {
            turned.unwrap()
        } else {
            value.clone()
        };
        (
            format!("transformer.{}", key.replace("ln_1", "norm_1")),
            value,
        )
    };
    state.iter().map(foreign).collect()
}

fn rules() -> Remap {
    let rules = Remap::new().prefix("transformer", "");
    rules.regex(r"^h\.(\d+)\.norm_1\.", "h.$1.ln_1.").unwrap()
}

fn by_kind() -> Transpose {
    Transpose::of_kind("Linear").exclude("lm_head")
}

#[track_caller]
fn problems(error: &Error) -> &LoadProblems {
    let problems = error.downcast_ref();
    problems.unwrap_or_else(|| panic!("{error}"))
}

#[test]
fn every_weight_of_a_type_is_transposed() {
    let (model, other) = (gpt(), gpt());
    let state = checkpoint(&other);
    for rule in [by_kind(), Transpose::of::<Linear>().exclude("lm_head")] {
        let options = LoadOptions::new().remap(rules()).transpose(rule);
        model.reset_parameters().unwrap();
        let report = model.load_state_dict_with(&state, options).unwrap();
        assert_eq!(report.to_string(), "<All keys matched successfully>");
        let (now, expected) = (model.state_dict().unwrap(), other.state_dict().unwrap());
        assert_same(&now, &expected, "loaded");
    }
    let slip = LoadOptions::new().transpose(Transpose::of_kind("Linaer"));
    let error = model.load_state_dict_with(&state, slip).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`weights of Linaer` selects nothing; did you mean `Linear`?"
    );
}

#[test]
fn a_square_weight_that_a_rule_leaves_out_is_an_error() {
    let (model, other) = (gpt(), gpt());
    let state = checkpoint(&other);
    let before = model.state_dict().unwrap();
    // The rules of someone who fixes the mismatches one by one.
    let keys = ["h.*.c_attn", "h.*.c_fc"];
    let options = |rule: Transpose| LoadOptions::new().remap(rules()).transpose(rule);
    for strict in [true, false] {
        // The head is not square and fits as it is, so that not all of the type are transposed.
        let lenient = options(keys.into()).strict(strict).select(["wte", "h"]);
        let error = model.load_state_dict_with(&state, lenient).unwrap_err();
        let squares = ["h.0.c_proj.weight", "h.1.c_proj.weight"];
        let squares = squares.map(|key| (key.to_owned(), "Linear"));
        assert_eq!(problems(&error).not_transposed, squares);
        assert!(
            error.to_string().ends_with(
                "\"h.1.c_proj.weight\" is square and is not transposed, while the other weights \
                 of Linear are: use `Transpose::of_kind(\"Linear\")`, or add \
                 `.exclude(\"h.1.c_proj.weight\")` if it must stay as it is."
            ),
            "{error}"
        );
        assert_same(&model.state_dict().unwrap(), &before, "after the error");
    }
    // It may be intended.
    let excluded: [Transpose; 2] = [
        Transpose::from(keys).exclude("h.*.c_proj"),
        Select::from("h.*.c_*").exclude("h.*.c_proj").into(),
    ];
    for rule in excluded {
        let options = options(rule).select(["wte", "h"]);
        assert!(model.load_state_dict_with(&state, options).is_ok());
    }
}

#[test]
fn mismatches_that_are_all_transposes_suggest_the_rule_that_works() {
    let (model, other) = (gpt(), gpt());
    let state = checkpoint(&other);
    let options = LoadOptions::new().remap(rules());
    let error = model
        .load_state_dict_with(&state, options.clone())
        .unwrap_err();
    assert!(
        error.to_string().ends_with(
            "\n\tthe transposes fit: load with `LoadOptions::new().transpose(\
             Transpose::of_kind(\"Linear\").exclude(\"lm_head.weight\"))`"
        ),
        "{error}"
    );
    let rule = Transpose::of_kind("Linear").exclude("lm_head.weight");
    let options = options.transpose(rule);
    assert!(model.load_state_dict_with(&state, options).is_ok());
    let (now, expected) = (model.state_dict().unwrap(), other.state_dict().unwrap());
    assert_same(&now, &expected, "loaded");

    // A rule that covers too much is reported; no rule is suggested if one of several mismatches is not a transpose.
    let all = LoadOptions::new().remap(rules());
    let all = all.transpose(Transpose::of_kind("Linear"));
    let error = model.load_state_dict_with(&state, all).unwrap_err();
    assert!(
        error.to_string().ends_with(
            "these weights fit as they are: write `.exclude(\"lm_head.weight\")` after the \
             transposing rule"
        ),
        "{error}"
    );
    let mut odd = state.clone();
    odd.insert("transformer.h.0.ln_1.bias", Tensor::from([0.0_f32; 5]));
    odd.remove("transformer.h.0.norm_1.bias");
    let error = model.load_state_dict_with(&odd, LoadOptions::new().remap(rules()));
    assert_eq!(problems(&error.unwrap_err()).transpose, None);
}

#[test]
fn a_checkpoint_is_saved_in_the_form_in_which_it_was_loaded() {
    let model = gpt();
    let foreign = checkpoint(&gpt());
    let options = LoadOptions::new().remap(rules()).transpose(by_kind());
    let path = |name: &str| {
        let name = format!("{name}-{}.safetensors", std::process::id());
        std::env::temp_dir().join(name)
    };
    let [first, second] = ["gpt-first", "gpt-second"].map(path);
    foreign.save(&first).unwrap();
    assert!(
        model
            .load_with(&first, options.clone())
            .unwrap()
            .not_loaded
            .is_empty()
    );
    assert_same(&model.state_dict_as(&options).unwrap(), &foreign, "saved");
    model.save_as(&second, &options).unwrap();
    let bytes = [&first, &second].map(|path| std::fs::read(path).unwrap());
    assert!(bytes[0] == bytes[1], "the files differ");
    for path in [first, second] {
        std::fs::remove_file(path).unwrap();
    }
    // With a selection, only the selected keys.
    let part = options.select("h.1");
    let saved = model.state_dict_as(&part).unwrap();
    assert!(saved.keys().all(|key| key.starts_with("transformer.h.1.")) && saved.len() == 8);
}

#[test]
fn ties_survive_being_transposed() {
    let mut second = Linear::new(3, 5).unwrap();
    let first = Linear::new(3, 5).unwrap();
    second.tie_weight(first.weight()).unwrap();
    let model = [first, second];
    let options = LoadOptions::new().transpose(Transpose::of_kind("Linear"));
    let saved = model.state_dict_as(&options).unwrap();
    assert_eq!(saved.get("0.weight").unwrap().shape().to_string(), "[3, 5]");
    assert_eq!(saved.ties(), [["0.weight", "1.weight"]]);
    assert!(model.load_state_dict_with(&saved, options).is_ok());
}

#[test]
fn rules_without_a_way_back_are_errors_that_name_it() {
    let model = gpt();
    let unwrapped = LoadOptions::new().remap(Remap::strip_wrappers());
    let error = model.state_dict_as(&unwrapped).unwrap_err().to_string();
    assert!(
        error.contains("has no inverse") && error.contains("`Remap::inverse_for`"),
        "{error}"
    );
    // A rule that would not find its own keys again.
    let shadowed = Remap::new().rename("x", "wte.weight").prefix("x", "y");
    let shadowed = shadowed.rename("wte.weight", "other");
    let options = LoadOptions::new().remap(shadowed);
    let error = model.state_dict_as(&options).unwrap_err().to_string();
    assert!(
        error.starts_with("state_dict_as: key = wte.weight: the rules have no inverse there"),
        "{error}"
    );
    // Exact for the existing keys, whatever the rules.
    let foreign = model.state_dict().unwrap().add_prefix("module").unwrap();
    let back = Remap::strip_wrappers().inverse_for(foreign.keys()).unwrap();
    let saved = model.state_dict().unwrap().remap(&back).unwrap();
    assert_same(&saved, &foreign, "saved");
    let swap = Remap::new()
        .rename("a", "c")
        .rename("b", "a")
        .rename("c", "b");
    let back = swap.inverse_for(["a", "b"]).unwrap();
    assert_eq!((back.key("a"), back.key("b")), ("b".into(), "a".into()));
    let both = Remap::new().regex("[ab]$", "c").unwrap();
    let error = both.inverse_for(["x.a", "x.b"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "inverse_for: `x.a` and `x.b` would both become `x.c`"
    );
}
