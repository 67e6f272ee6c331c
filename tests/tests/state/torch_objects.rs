//! Objects other than state dicts that `torch.save` saves, read and written.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::io::Cursor;
use std::path::Path;

use module_nn::prelude::*;
use module_nn::{Complex, TorchObject};
use module_tests::golden::{self, Tolerance, assert_close};

fn tensor(object: &TorchObject) -> &Tensor {
    match object {
        TorchObject::Tensor(tensor) => tensor,
        other => panic!("{other} is not a tensor"),
    }
}

#[test]
fn a_training_checkpoint_of_pytorch_is_read_whole() {
    for file in [
        "training.pt",
        "training.legacy.pt",
        "training.protocol4.pt",
        "training.protocol5.legacy.pt",
    ] {
        let whole = TorchObject::load(golden::path(format!("checkpoints/{file}"))).unwrap();
        assert!(
            matches!(whole.get("epoch"), Some(TorchObject::Int(3))),
            "{file}"
        );
        let state = StateDict::load_with(
            golden::path(format!("checkpoints/{file}")),
            &ReadOptions::new().entry("model"),
        )
        .unwrap();
        let model = whole.get("model").unwrap();
        for (key, expected) in &state {
            let found = tensor(model.get(key).unwrap());
            assert_close(found, expected, Tolerance::EXACT, key);
        }
        let Some(TorchObject::List(names)) = whole.get("names") else {
            panic!("no list")
        };
        let described: Vec<String> = names.iter().map(TorchObject::describe).collect();
        let expected = [
            "the text `a`",
            "a tuple",
            "None",
            "True",
            "the number 1.5",
            "bytes",
            "bytes",
            "a complex number",
        ];
        assert_eq!(described, expected, "{file}");
        // 2⁸⁰ does not fit in `i64`.
        assert!(matches!(whole.get("big"), Some(TorchObject::Other(_))));
        let Some(TorchObject::Tuple(shape)) = whole.get("shape") else {
            panic!("no tuple")
        };
        assert!(matches!(
            shape[..],
            [TorchObject::Int(2), TorchObject::Int(3)]
        ));
        let rate = whole.get("optimizer").unwrap().get("param_groups").unwrap();
        let TorchObject::List(groups) = rate else {
            panic!("no list")
        };
        assert!(matches!(groups[0].get("lr"), Some(TorchObject::Float(lr)) if *lr == 0.1));
        // The tie is one memory.
        let of = |key: &str| tensor(model.get(key).unwrap()).storage().address();
        assert_eq!(of("embedding.weight"), of("head.weight"));
        let error = whole.to_bytes().unwrap_err().to_string();
        assert!(error.contains("which is only read"), "{error}");
    }
}

/// An object with everything that can be written.
fn every_object() -> TorchObject {
    let base = Tensor::arange(0, 12, DType::F32)
        .unwrap()
        .reshape([3, 4])
        .unwrap();
    let of = |dtype: DType| base.narrow(0, 0..1).unwrap().to_dtype(dtype).unwrap();
    let dtypes = DType::ALL
        .into_iter()
        .filter(|dtype| *dtype != DType::Complex64);
    let mut tensors: Vec<(TorchObject, TorchObject)> =
        dtypes.map(|d| (d.name().into(), of(d).into())).collect();
    let complex = Tensor::from_vec(vec![Complex::new(1.0_f32, -2.0)], [1]).unwrap();
    let mut add = |name: &str, x: Tensor| tensors.push((name.into(), x.into()));
    add("complex64", complex);
    add("tie", base.clone());
    add("tied", base.clone());
    add("transposed", base.t().unwrap());
    add(
        "expanded",
        base.narrow(0, 1..2).unwrap().expand([2, 4]).unwrap(),
    );
    add("scalar", Tensor::from(7_i64));
    add("empty", Tensor::zeros([3, 0, 2], DType::F64).unwrap());
    let ints = [
        0,
        255,
        256,
        -1,
        70_000,
        i64::from(i32::MIN),
        1 << 40,
        i64::MAX,
        i64::MIN,
    ];
    let floats = [0.1, -0.0, f64::INFINITY, 1e-300];
    let list = |items: Vec<TorchObject>| TorchObject::List(items);
    TorchObject::from_iter([
        ("tensors", TorchObject::Dict(tensors)),
        ("ints", list(ints.map(TorchObject::Int).into())),
        ("floats", list(floats.map(TorchObject::Float).into())),
        (
            "texts",
            list(vec!["".into(), "größer\n".into(), "x".repeat(300).into()]),
        ),
        (
            "tuple",
            TorchObject::Tuple(vec![TorchObject::None, true.into(), false.into()]),
        ),
        ("none", TorchObject::Tuple(Vec::new())),
        (
            "lists",
            list(vec![
                list(Vec::new()),
                list(vec![TorchObject::Dict(Vec::new())]),
            ]),
        ),
        (
            "keys",
            TorchObject::Dict(vec![
                (TorchObject::Int(3), "int".into()),
                (
                    TorchObject::Tuple(vec![TorchObject::Int(1), "b".into()]),
                    "tuple".into(),
                ),
            ]),
        ),
    ])
}

/// Set to rewrite the file, after which `golden/check_rust_objects.py` must be run again.
const WRITE: &str = "WRITE_GOLDEN";

#[test]
fn what_is_written_was_read_by_pytorch_and_is_read_here() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/rust/objects.pt");
    let every = every_object();
    if std::env::var_os(WRITE).is_some() {
        every.save(&path).unwrap();
    }
    let bytes = every.to_bytes().unwrap();
    assert_eq!(
        bytes,
        std::fs::read(&path).unwrap(),
        "run golden/check_rust_objects.py"
    );
    let check = std::fs::read_to_string(path.with_extension("check.json")).unwrap();
    let check: serde_json::Value = serde_json::from_str(&check).unwrap();
    assert_eq!(
        check["crc32"],
        crc32(&bytes),
        "run golden/check_rust_objects.py"
    );

    let from_file = TorchObject::load(&path).unwrap();
    let options = ReadOptions::new();
    let read = TorchObject::from_reader(Cursor::new(bytes.clone()), &options).unwrap();
    // Written again, they are the same bytes: nothing was lost.
    assert_eq!(from_file.to_bytes().unwrap(), bytes);
    assert_eq!(read.to_bytes().unwrap(), bytes);
    let entry = TorchObject::from_bytes_with(bytes, &options.entry("keys.3")).unwrap();
    assert_eq!(entry.describe(), "the text `int`");
    let tensors = from_file.get("tensors").unwrap();
    let of = |key: &str| tensor(tensors.get(key).unwrap());
    assert_eq!(
        of("tie").storage().address(),
        of("tied").storage().address()
    );
    let transposed = of("transposed").to_vec::<f32>().unwrap();
    assert_eq!(
        transposed,
        [0., 4., 8., 1., 5., 9., 2., 6., 10., 3., 7., 11.]
    );
}

fn crc32(bytes: &[u8]) -> u32 {
    let table = |byte: u32| {
        (0..8).fold(byte, |c, _| {
            if c & 1 == 1 {
                0xedb8_8320 ^ (c >> 1)
            } else {
                c >> 1
            }
        })
    };
    let last = bytes.iter().fold(u32::MAX, |crc, &byte| {
        table((crc ^ u32::from(byte)) & 0xff) ^ (crc >> 8)
    });
    !last
}

#[test]
fn what_python_does_not_have_is_refused() {
    let one = Tensor::ones([1], DType::F32).unwrap();
    for key in [
        TorchObject::List(Vec::new()),
        TorchObject::Tensor(one),
        TorchObject::Dict(Vec::new()),
    ] {
        let error = TorchObject::Dict(vec![(key, TorchObject::None)])
            .to_bytes()
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("a dict has numbers, texts or tuples for keys"),
            "{error}"
        );
    }
    let deep = (0..80).fold(TorchObject::None, |inner, _| TorchObject::List(vec![inner]));
    let error = deep.to_bytes().unwrap_err().to_string();
    assert!(error.contains("more than 64 deep"), "{error}");
    for (bytes, problem) in [
        (
            b"<!DOCTYPE html><html></html>".to_vec(),
            "`torch.save` did not write it",
        ),
        (
            StateDict::new().to_bytes().unwrap(),
            "`torch.save` did not write it",
        ),
        (
            every_object().to_bytes().unwrap()[..900].to_vec(),
            "truncated",
        ),
    ] {
        let error = TorchObject::from_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
