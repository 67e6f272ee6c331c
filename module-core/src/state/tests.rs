//! Tests of state dicts: rules that rename keys, differences, JSON.
#![allow(clippy::unwrap_used)]

use super::{Remap, StateDict};
use crate::{DType, Tensor};

fn state(keys: &[&str]) -> StateDict {
    let value = |(i, key): (usize, &&str)| ((*key).to_owned(), Tensor::from(i as i64));
    keys.iter().enumerate().map(value).collect()
}

#[track_caller]
fn assert_entries(state: &StateDict, expected: &[(&str, i64)]) {
    let entries = state.iter().map(|(key, x)| (key, x.item::<i64>().unwrap()));
    assert_eq!(entries.collect::<Vec<_>>(), expected);
}

#[test]
fn renaming_keeps_the_order_and_refuses_to_lose_a_tensor() {
    let mut it = state(&["a", "b", "c"]);
    it.rename("b", "z").unwrap();
    it.rename("a", "a").unwrap();
    assert_entries(&it, &[("a", 0), ("z", 1), ("c", 2)]);
    assert_eq!(
        it.rename("a", "c").unwrap_err().to_string(),
        "rename: `c` and `a` would both become `c`"
    );
    let mut named = state(&["weight"]);
    assert_eq!(
        named.rename("wieght", "x").unwrap_err().to_string(),
        "rename: the state dict has no key `wieght`; did you mean `weight`?"
    );
    assert_entries(&it, &[("a", 0), ("z", 1), ("c", 2)]);
}

#[test]
fn prefixes_are_paths_and_not_letters() {
    let it = state(&["module.a", "modules.b", "module"]);
    let stripped = it.strip_prefix("module.").unwrap();
    assert_entries(&stripped, &[("a", 0), ("modules.b", 1), ("module", 2)]);
    let added = it.add_prefix("net").unwrap();
    assert!(
        added
            .keys()
            .eq(["net.module.a", "net.modules.b", "net.module"])
    );
    assert!(it.strip_prefix("modul").is_err());
    let collision = state(&["module.a", "a"]).strip_prefix("module");
    assert_eq!(
        collision.unwrap_err().to_string(),
        "remap: `module.a` and `a` would both become `a`"
    );
}

#[test]
fn wrappers_are_removed_where_they_were_put() {
    let it = state(&[
        "module.a",
        "_orig_mod.module.b",
        "net._orig_mod.c",
        "net.module.d",
        "_orig_mod_x.e",
    ]);
    let plain = it.strip_wrappers().unwrap();
    assert!(
        plain
            .keys()
            .eq(["a", "b", "net.c", "net.module.d", "_orig_mod_x.e"])
    );
}

#[test]
fn rules_run_in_order_on_the_results_of_earlier_ones() {
    let rules = Remap::new()
        .prefix("bert", "encoder")
        .rename("encoder.pooler", "pool")
        .regex(r"^encoder\.(\d+)\.", "layers.$1.")
        .unwrap();
    let it = state(&["bert.0.w", "bert.pooler", "bertx.1.w"]);
    let keys = it.remap(&rules).unwrap();
    assert!(keys.keys().eq(["layers.0.w", "pool", "bertx.1.w"]));
    assert!(Remap::new().regex("(", "").is_err());
}

#[test]
fn a_difference_names_every_kind() {
    let left = StateDict::from_iter([
        ("same", Tensor::from([f32::NAN, 1.0])),
        ("gone", Tensor::from(1_i64)),
        ("shape", Tensor::from([1.0_f32])),
        ("dtype", Tensor::from(1_i64)),
        ("value", Tensor::from([1.0_f32, 2.0, f32::INFINITY])),
        ("nan", Tensor::from([1.0_f32, 2.0])),
    ]);
    let right = StateDict::from_iter([
        ("new", Tensor::from(1_i64)),
        ("same", Tensor::from([f32::NAN, 1.0])),
        ("shape", Tensor::from([[1.0_f32]])),
        ("dtype", Tensor::from(1_i32)),
        ("value", Tensor::from([1.5_f32, 2.0, f32::INFINITY])),
        ("nan", Tensor::from([f32::NAN, 5.0])),
    ]);
    let diff = left.diff(&right).unwrap();
    assert_eq!(
        diff.to_string(),
        "- gone\n+ new\n! shape: float32 [1] against float32 [1, 1]\n\
         ! dtype: int64 [] against int32 []\n~ value: 1 of 3 differ, at most by 5.000e-1\n\
         ~ nan: 2 of 2 differ, at most by NaN\n1 equal"
    );
    assert!(!diff.is_empty() && !left.equal(&right).unwrap());
    assert!(left.diff(&left.clone()).unwrap().is_empty());
    let reversed: StateDict = left
        .clone()
        .into_iter()
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    assert!(left.equal(&reversed).unwrap());
}

#[test]
fn json_brings_every_bit_back() {
    let values = Tensor::from([[1.5_f32, f32::NAN], [f32::NEG_INFINITY, -0.0]]);
    let mut it = StateDict::new();
    for dtype in DType::ALL {
        it.insert(dtype.name(), values.to_dtype(dtype).unwrap());
    }
    it.insert("transposed", values.t().unwrap());
    it.insert(
        "empty",
        Tensor::from_vec(Vec::<f32>::new(), [0, 3]).unwrap(),
    );
    it.insert("number", Tensor::from(7_i64));
    let text = serde_json::to_string(&it).unwrap();
    let back: StateDict = serde_json::from_str(&text).unwrap();
    assert!(back.keys().eq(it.keys()));
    assert!(it.diff(&back).unwrap().is_empty());
    let one = serde_json::to_string(&state(&["a"])).unwrap();
    assert_eq!(
        one,
        r#"{"a":{"dtype":"int64","shape":[],"data":"AAAAAAAAAAA="}}"#
    );
}

#[test]
fn what_is_no_tensor_is_an_error() {
    let entry = |dtype: &str, shape: &str, data: &str| {
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data":"{data}"}}}}"#)
    };
    let wrong = [
        entry("float31", "[1]", "AAAAAA=="),
        entry("float32", "[2]", "AAAAAA=="),
        entry("float32", "[4611686018427387905]", "AAAAAA=="),
        entry("float32", "[18446744073709551615,4]", ""),
        entry("float32", "[-1]", "AAAAAA=="),
        entry("float32", "[1]", "AAAA"),
        entry("float32", "[1]", "!"),
        r#"{"a":{"dtype":"int64"}}"#.to_owned(),
        "[]".to_owned(),
    ];
    for text in wrong {
        assert!(serde_json::from_str::<StateDict>(&text).is_err(), "{text}");
    }
    let one = entry("uint8", "[]", "AA==");
    let twice = format!("{},{}", &one[..one.len() - 1], &one[1..]);
    let error = serde_json::from_str::<StateDict>(&twice).unwrap_err();
    assert!(
        error.to_string().starts_with("key `a` appears twice"),
        "{error}"
    );
}
