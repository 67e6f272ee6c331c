//! GGUF files written by llama.cpp's package: we read the same metadata, elements and blocks as it does, and pack the same
//! as ggml.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod packing;

use module_core::checkpoint::{Gguf, GgufArray, GgufType, GgufValue};
use module_core::{BlockFormat, ErrorKind, FileError, LoadOptions, Remap};
use module_nn::prelude::*;
use module_tests::files::{adler32, mapped};
use module_tests::golden;
use serde_json::Value;

const FORMATS: [(BlockFormat, &str); 4] = [
    (BlockFormat::Q8_0, "q8_0"),
    (BlockFormat::Q4_0, "q4_0"),
    (BlockFormat::Q4K, "q4_k"),
    (BlockFormat::Q6K, "q6_k"),
];

fn recorded() -> (Value, StateDict) {
    golden::load("gguf/expected.safetensors")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn bytes(x: &Tensor) -> Vec<u8> {
    x.to_host().unwrap().to_le_bytes()
}

fn open(name: &str) -> Gguf {
    Gguf::open(golden::path("gguf").join(name)).unwrap()
}

#[test]
fn files_of_the_package_are_read_to_the_bit() {
    let (case, expected) = recorded();
    let mut tensors = 0;
    for file in list(&case["files"]) {
        let name = text(&file["file"]);
        let path = golden::path("gguf").join(name);
        let copied = std::fs::read(&path).unwrap();
        for read in [
            Gguf::open(&path).unwrap(),
            Gguf::open_with(&path, &mapped()).unwrap(),
            Gguf::from_bytes(copied).unwrap(),
        ] {
            let described = list(&file["tensors"]);
            assert_eq!(read.tensors.len(), described.len(), "{name}");
            for (tensor, (key, x)) in described.iter().zip(&read.tensors) {
                assert_eq!(text(&tensor[0]), key);
                let kind = GgufType::of(x).unwrap();
                assert_eq!(text(&tensor[1]), kind.to_string(), "{key}");
                let sizes = list(&tensor[2]).iter();
                let sizes: Vec<usize> = sizes.map(|n| n.as_u64().unwrap() as usize).collect();
                assert_eq!(**x.shape(), sizes, "{key}");
                assert_eq!(x.is_packed(), matches!(kind, GgufType::Blocks(_)), "{key}");
                if let Some(blocks) = BlockFormat::bytes_of(x) {
                    let written = bytes(expected.get(&format!("{name}/{key}/bytes")).unwrap());
                    assert_eq!(blocks, written, "{key}");
                    assert_eq!(x.nbytes(), blocks.len());
                }
                // The package returns bf16 numbers as f32.
                let mut values = x.unpack().unwrap();
                if values.dtype() == DType::BF16 {
                    values = values.to_dtype(DType::F32).unwrap();
                }
                let theirs = bytes(expected.get(&format!("{name}/{key}")).unwrap());
                assert_eq!(bytes(&values), theirs, "{name}: {key}");
                tensors += 1;
            }
            // The state dict alone.
            let state = StateDict::load(&path).unwrap();
            assert!(state.keys().eq(read.tensors.keys()));
        }
    }
    assert_eq!(tensors, 3 * (10 + 8 + 4 + 3));
}

#[test]
fn metadata_is_that_of_the_package() {
    let (case, _) = recorded();
    let metadata = open("plain.gguf").metadata;
    assert_eq!(metadata["general.architecture"].as_str(), Some("test"));
    let (scalars, arrays) = (list(&case["metadata"]), list(&case["arrays"]));
    assert_eq!(metadata.len(), 2 + scalars.len() + arrays.len());
    for entry in scalars {
        let (key, theirs) = (text(&entry[0]), &entry[2]);
        let value = &metadata[key];
        let ours = match value {
            GgufValue::U8(_) | GgufValue::U16(_) | GgufValue::U32(_) | GgufValue::U64(_) => {
                value.as_u64() == theirs.as_u64() && theirs.is_u64()
            }
            GgufValue::I8(_) | GgufValue::I16(_) | GgufValue::I32(_) | GgufValue::I64(_) => {
                value.as_i64() == theirs.as_i64() && theirs.is_i64()
            }
            GgufValue::F32(x) => theirs.as_f64().map(|x| x as f32) == Some(*x),
            GgufValue::F64(x) => theirs.as_f64() == Some(*x),
            GgufValue::Bool(x) => theirs.as_bool() == Some(*x),
            GgufValue::Str(x) => theirs.as_str() == Some(x),
            GgufValue::Array(_) => false,
        };
        let kind = format!("{value:?}").to_uppercase();
        let named = text(&entry[1])
            .replace("UINT", "U")
            .replace("INT", "I")
            .replace("FLOAT", "F")
            .replace("STRING", "STR");
        assert!(
            ours && kind.starts_with(&named),
            "{key}: {value:?} {theirs}"
        );
    }
    let array = |key: &str| metadata[key].as_array().unwrap();
    let tokens = ["<s>", "", "\u{4f60}", "a b"].map(str::to_owned);
    assert_eq!(metadata["tokens"].as_strings(), Some(&tokens[..]));
    assert_eq!(*array("scores"), GgufArray::F32(vec![0.5, -1.25, 0.0]));
    assert_eq!(*array("types"), GgufArray::I32(vec![1, -2, 3]));
    assert_eq!(*array("bytes"), GgufArray::U8(vec![0, 255]));
    assert_eq!(*array("truths"), GgufArray::Bool(vec![true, false]));
    assert_eq!(*array("wide"), GgufArray::U64(vec![u64::MAX, 0]));
    let nested = [vec![1, 2], vec![3]].map(GgufArray::I32);
    assert_eq!(*array("nested"), GgufArray::Array(nested.to_vec()));
    assert_eq!(
        open("aligned.gguf").metadata["general.alignment"].as_u64(),
        Some(128)
    );
}

#[test]
fn files_are_written_as_the_package_writes_them() {
    for name in ["plain.gguf", "blocks.gguf", "aligned.gguf", "nothing.gguf"] {
        let theirs = std::fs::read(golden::path("gguf").join(name)).unwrap();
        assert!(open(name).to_bytes().unwrap() == theirs, "{name}");
    }
    // Files of version 2 are written as version 3.
    let path = golden::path("gguf").join("version2.gguf");
    let mut theirs = std::fs::read(path).unwrap();
    assert_eq!(std::mem::replace(&mut theirs[4], 3), 2);
    assert!(open("version2.gguf").to_bytes().unwrap() == theirs);
}

#[derive(Module)]
struct Net {
    query: Linear,
    output: Linear,
}

#[test]
fn a_model_loads_packed_values_under_its_own_names() {
    let net = |seed| {
        let (query, output) = fork_rng(seed, || {
            (Linear::new(64, 32).unwrap(), Linear::new(32, 64).unwrap())
        });
        Net { query, output }
    };
    let (from, to) = (net(0), net(1));
    let names = Remap::new().regex(r"^blk\.0\.attn_q\.", "query.").unwrap();
    let keys = [
        "blk.0.attn_q.weight",
        "blk.0.attn_q.bias",
        "output.weight",
        "output.bias",
    ];
    let state = from.state_dict().unwrap();
    let back = names.inverse_for(keys).unwrap();
    let mut file = Gguf::new(state.remap(&back).unwrap());
    file.convert("**.weight", BlockFormat::Q4_0).unwrap();
    let path = std::env::temp_dir().join(format!("packed-{}.gguf", std::process::id()));
    file.save(&path).unwrap();
    assert!(file.tensors.keys().eq(keys));
    let options = LoadOptions::new().remap(names);
    let report = to.load_with(&path, options.clone()).unwrap();
    assert_eq!(report.loaded.len(), 4);
    // Linear layers compute with weights that stay packed.
    let (packed, x) = (to.state_dict().unwrap(), Tensor::ones([2, 64], ()).unwrap());
    let weight = packed.get("query.weight").unwrap();
    assert!(weight.is_packed() && !packed.get("query.bias").unwrap().is_packed());
    let y = to.query.call(x.clone()).unwrap();
    let report = to.load_with(&path, options.unpack("**.weight")).unwrap();
    std::fs::remove_file(path).unwrap();
    let near = module_core::Tolerance::new().atol(1e-5);
    assert!(y.allclose(&to.query.call(x).unwrap(), near).unwrap());
    assert_eq!(report.loaded.len(), 4);
    let loaded = to.state_dict().unwrap();
    let (weight, packed) = (
        loaded.get("query.weight").unwrap(),
        file.tensors.get(keys[0]).unwrap(),
    );
    assert!(packed.is_packed() && !weight.is_packed());
    assert!(weight.equal(&packed.unpack().unwrap()).unwrap());
    assert!(!weight.equal(state.get("query.weight").unwrap()).unwrap());
    let bias = loaded.get("query.bias").unwrap();
    assert!(bias.equal(state.get("query.bias").unwrap()).unwrap());
}

#[test]
fn products_are_computed_from_blocks() {
    let x = fork_rng(3, || Tensor::randn([3, 512], ())).unwrap();
    let w = fork_rng(4, || Tensor::randn([5, 512], ())).unwrap();
    let bias = Tensor::from([1.0_f32, 2.0, 3.0, 4.0, 5.0]);
    for (format, name) in FORMATS {
        let packed = format.quantize(&w).unwrap();
        let plain = packed.unpack().unwrap();
        let x = x.clone().with_grad().unwrap();
        let y = x.linear(&packed, Some(&bias)).unwrap();
        let expected = x.detach().linear(&plain, Some(&bias)).unwrap();
        let near = module_core::Tolerance::new().atol(1e-4);
        assert!(y.allclose(&expected, near).unwrap(), "{name}");
        y.sum(..).unwrap().backward().unwrap();
        let expected = plain.sum_keepdim(0).unwrap().expand([3, 512]).unwrap();
        assert!(
            x.grad().unwrap().allclose(&expected, near).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn other_files_are_refused_by_name() {
    let path = golden::path("gguf/expected.safetensors");
    let error = Gguf::open(&path).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(FileError::Format { .. })),
        "{error}"
    );
    assert!(
        error.to_string().contains("it does not begin with `GGUF`"),
        "{error}"
    );
    let mut file = open("blocks.gguf").to_bytes().unwrap();
    file[4] = 1;
    let error = Gguf::from_bytes(file.clone()).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(FileError::NoStateDict { .. })),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("its version is 1, but 2 and 3 are read"),
        "{error}"
    );
    file[4..8].copy_from_slice(&[0, 0, 0, 3]);
    let error = Gguf::from_bytes(file).unwrap_err().to_string();
    assert!(error.contains("it is big-endian"), "{error}");
}

/// Set to rewrite the file, after which `golden/check_rust_gguf.py` must be run again.
const WRITE: &str = "WRITE_GOLDEN";

/// A file of every type of elements and of values.
fn written_here() -> Gguf {
    let read = open("plain.gguf");
    let metadata = read.metadata.into_iter();
    let mut file = Gguf::new(read.tensors);
    // The package reads no arrays of arrays as such.
    file.metadata = metadata.filter(|(key, _)| key != "nested").collect();
    let (_, expected) = recorded();
    for (i, (format, name)) in FORMATS.into_iter().enumerate() {
        let x = expected.get(&format!("quantized/{i}")).unwrap();
        file.tensors.insert(name, format.quantize(x).unwrap());
    }
    file
}

#[test]
fn the_package_read_the_committed_file_as_it_is_read_here() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/rust/every.gguf");
    let today = written_here();
    if std::env::var_os(WRITE).is_some() {
        today.save(&path).unwrap();
    }
    let committed = std::fs::read(&path).unwrap();
    assert!(committed == today.to_bytes().unwrap());
    let check = std::fs::read_to_string(path.with_extension("check.json")).unwrap();
    let check: Value = serde_json::from_str(&check).unwrap();
    assert_eq!(
        check["adler32"],
        adler32(&committed),
        "run golden/check_rust_gguf.py"
    );
    let tensors = list(&check["tensors"]);
    assert_eq!(tensors.len(), today.tensors.len());
    for (theirs, (key, x)) in tensors.iter().zip(&today.tensors) {
        let sizes: Vec<usize> = x.shape().to_vec();
        let mut values = x.unpack().unwrap();
        if values.dtype() == DType::BF16 {
            values = values.to_dtype(DType::F32).unwrap();
        }
        let kind = GgufType::of(x).unwrap().to_string();
        let ours = serde_json::json!([key, kind, sizes, adler32(&bytes(&values))]);
        assert_eq!(*theirs, ours);
    }
    assert_eq!(list(&check["metadata"]).len(), today.metadata.len());
    for (theirs, (key, value)) in list(&check["metadata"]).iter().zip(&today.metadata) {
        assert_eq!(text(&theirs[0]), key);
        let theirs = &theirs[1];
        let same = match value {
            GgufValue::Str(ours) => theirs.as_str() == Some(ours),
            GgufValue::Bool(ours) => theirs.as_bool() == Some(*ours),
            GgufValue::Array(ours) => theirs.as_array().map(Vec::len) == Some(ours.len()),
            GgufValue::U64(ours) => theirs.as_u64() == Some(*ours),
            ours => theirs.as_f64() == ours.as_f64(),
        };
        assert!(same, "{key}: {value:?} {theirs}");
    }
}
