//! Storage-only dtypes: files of PyTorch, NumPy and safetensors, casts and printing, compared with the results of those
//! libraries.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_core::backend::HostData;
use module_core::{Complex, DType, DTypeError, Device, ErrorKind, LoadOptions, StateDict, Tensor};
use module_mirror::mirror;
use module_nn::prelude::*;
use module_tests::files::mapped;
use module_tests::golden;
use serde_json::Value;

fn recorded() -> (Value, StateDict) {
    golden::load("stored_dtypes/expected.safetensors")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn dtype(name: &Value) -> DType {
    let found = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
    found.unwrap_or_else(|| panic!("{name}"))
}

fn shape(sizes: &Value) -> Vec<usize> {
    let size = |size: &Value| usize::try_from(size.as_u64().unwrap()).unwrap();
    list(sizes).iter().map(size).collect()
}

/// The bytes of elements in row-major order.
fn bytes(x: &Tensor) -> Vec<u8> {
    x.to_host().unwrap().to_le_bytes()
}

/// A tensor of recorded bytes.
fn tensor(dtype: DType, shape: &[usize], raw: &Tensor) -> Tensor {
    Tensor::from_host(HostData::from_le_bytes(dtype, &bytes(raw)), shape).unwrap()
}

/// Whether elements are equal bit for bit, except for the payload of NaN.
fn same(actual: &Tensor, expected: &[u8]) -> bool {
    let actual_bytes = bytes(actual);
    let nan = |part: &[u8]| match *part {
        [a] if actual.dtype() == DType::F8E4M3 => a & 0x7f == 0x7f,
        [a] => a & 0x7f > 0x7c,
        [a, b] if actual.dtype() == DType::F16 => half_nan(u16::from_le_bytes([a, b]), 0x7c00),
        [a, b] => half_nan(u16::from_le_bytes([a, b]), 0x7f80),
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).is_nan(),
        _ => f64::from_le_bytes(part.try_into().unwrap()).is_nan(),
    };
    let size = match actual.dtype() {
        DType::Complex64 => 4,
        dtype => dtype.size_in_bytes(),
    };
    let floating = actual.dtype().is_floating_point() || actual.dtype().is_complex();
    let equal = |(a, b): (&[u8], &[u8])| a == b || (floating && nan(a) && nan(b));
    actual_bytes.len() == expected.len()
        && actual_bytes
            .chunks(size)
            .zip(expected.chunks(size))
            .all(equal)
}

fn half_nan(bits: u16, infinity: u16) -> bool {
    bits & 0x7fff > infinity
}

#[test]
fn files_load_exactly() {
    let (case, expected) = recorded();
    let mut tensors = 0;
    for file in list(&case["files"]) {
        let name = text(&file["file"]);
        let path = golden::path("stored_dtypes").join(name);
        for options in [ReadOptions::new(), mapped()] {
            let state =
                StateDict::load_with(&path, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(state.len(), list(&file["tensors"]).len(), "{name}");
            for entry in list(&file["tensors"]) {
                let key = text(&entry[0]);
                let x = state.get(key).unwrap_or_else(|| panic!("{name}: {key}"));
                assert_eq!(
                    (x.dtype(), &**x.shape()),
                    (dtype(&entry[1]), &shape(&entry[2])[..]),
                    "{name}: {key}"
                );
                let raw = expected.get(&format!("{name}/{key}")).unwrap();
                assert!(bytes(x) == bytes(raw), "{name}: {key} is {x}");
                if x.dtype() == DType::Complex64 {
                    let parts = x.view_as_real().unwrap();
                    assert!(bytes(&parts) == bytes(raw), "{name}: {key}");
                    assert_eq!(parts.rank(), x.rank() + 1);
                    let back = parts.view_as_complex().unwrap();
                    assert!(back.shape() == x.shape() && bytes(&back) == bytes(raw));
                }
                tensors += 1;
            }
            if name.starts_with("every") && name.ends_with("pt") {
                for dtype in DType::ALL
                    .into_iter()
                    .filter(|dtype| dtype.is_storage_only())
                {
                    let [whole, row, tied] = [".transposed", ".row", ".tied"]
                        .map(|end| state.get(&format!("{dtype}{end}")).unwrap());
                    assert!(
                        row.shares_memory_with(tied) && row.shares_memory_with(whole),
                        "{dtype}"
                    );
                }
            }
        }
    }
    assert!(tensors > 300, "{tensors}");
}

#[test]
fn saved_files_come_back_and_are_those_of_safetensors() {
    let path = golden::path("stored_dtypes/every.safetensors");
    let state = StateDict::load(&path).unwrap();
    let folder = std::env::temp_dir().join(format!("stored-dtypes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("copy.safetensors");
    state.save(&copy).unwrap();
    assert!(StateDict::load(&copy).unwrap().equal(&state).unwrap());
    // Except for the metadata, which the library writes only if there is any, the files are equal.
    let elements = |path: &std::path::Path| {
        let bytes = std::fs::read(path).unwrap();
        let (length, rest) = bytes.split_first_chunk().unwrap();
        let (header, elements) =
            rest.split_at(usize::try_from(u64::from_le_bytes(*length)).unwrap());
        let mut header: Value = serde_json::from_slice(header).unwrap();
        header.as_object_mut().unwrap().remove("__metadata__");
        (header, elements.to_vec())
    };
    assert_eq!(elements(&copy), elements(&path));
    let shards = folder.join("shards");
    state.save_sharded(&shards, 100).unwrap();
    assert!(StateDict::load(&shards).unwrap().equal(&state).unwrap());
    let json = serde_json::to_string(&state).unwrap();
    let back: StateDict = serde_json::from_str(&json).unwrap();
    assert!(back.diff(&state).unwrap().is_empty());
    // Views are written in row-major order.
    let views = StateDict::load(golden::path("stored_dtypes/every.pt")).unwrap();
    views.save(&copy).unwrap();
    assert!(StateDict::load(&copy).unwrap().equal(&views).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn casts_agree_with_pytorch() {
    let (case, expected) = recorded();
    let device = mirror(&[]).unwrap();
    for (i, cast) in list(&case["casts"]).iter().enumerate() {
        let (from, to) = (dtype(&cast["from"]), dtype(&cast["to"]));
        let raw = |side: &str| expected.get(&format!("cast/{i}/{side}")).unwrap();
        let count = raw("from").numel() / from.size_in_bytes();
        let x = tensor(from, &[count], raw("from"));
        let cast = x.to_dtype(to).unwrap();
        let wanted = || tensor(to, &[count], raw("to"));
        assert!(
            same(&cast, &bytes(raw("to"))),
            "{x} to {to}: {cast} instead of {}",
            wanted()
        );
        let there = x.to_device(&device).unwrap().to_dtype(to).unwrap();
        assert!(bytes(&there) == bytes(&cast), "{x} to {to} on {device}");
        // Elements that are not in row-major order are cast one by one.
        let pairs = Tensor::stack(&[&x, &x], 1).unwrap().t().unwrap();
        let rows = pairs.to_dtype(to).unwrap();
        assert!(
            bytes(&rows) == [bytes(&cast), bytes(&cast)].concat(),
            "{x} to {to}"
        );
    }
    let halves: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let halves =
        Tensor::from_host(HostData::from_le_bytes(DType::F16, &halves), [1 << 16]).unwrap();
    for to in [DType::F8E4M3, DType::F8E5M2] {
        let raw = expected.get(&format!("halves/{to}")).unwrap();
        assert!(same(&halves.to_dtype(to).unwrap(), &bytes(raw)), "{to}");
    }
}

#[test]
fn tensors_print_as_in_pytorch() {
    let (case, expected) = recorded();
    for (i, print) in list(&case["prints"]).iter().enumerate() {
        let raw = expected.get(&format!("print/{i}")).unwrap();
        let x = tensor(dtype(&print["dtype"]), &shape(&print["shape"]), raw);
        assert_eq!(x.to_string(), text(&print["text"]), "{i}");
    }
}

#[test]
fn modules_keep_them_in_buffers_and_never_in_parameters() {
    #[derive(Module)]
    struct Packed {
        scale: Parameter,
        codes: Buffer,
    }
    let codes = Tensor::from([1.5_f32, -0.3])
        .to_dtype(DType::F8E4M3)
        .unwrap();
    let net = Packed {
        scale: Parameter::new(Tensor::from([1.0_f32, 2.0])).unwrap(),
        codes: Buffer::new(codes.clone()),
    };
    let state = net.state_dict().unwrap();
    assert_eq!(state.get("codes").unwrap().dtype(), DType::F8E4M3);
    // A file's dtype is taken where a gradient can flow, and else cast.
    let mut file = state.clone();
    file.insert("scale", codes.clone());
    let _ = net
        .load_state_dict_with(&file, LoadOptions::new().assign_dtype(true))
        .unwrap();
    assert_eq!(net.scale.tensor().dtype(), DType::F32);
    assert_eq!(net.scale.tensor().to_vec::<f32>().unwrap(), [1.5, -0.3125]);
    // No part of a complex number is dropped.
    file.insert("scale", Tensor::from([Complex::new(1.0_f32, 2.0); 2]));
    let error = net.load_state_dict(&file).unwrap_err();
    assert!(error.to_string().contains("view_as_real"), "{error}");
    assert_eq!(net.scale.tensor().to_vec::<f32>().unwrap(), [1.5, -0.3125]);
    net.to_dtype(DType::BF16).unwrap();
    assert_eq!(net.codes.tensor().dtype(), DType::BF16);
    for dtype in DType::ALL
        .into_iter()
        .filter(|dtype| dtype.is_storage_only())
    {
        let x = Tensor::zeros([2], dtype).unwrap();
        for error in [
            Parameter::new(x).unwrap_err(),
            net.to_dtype(dtype).unwrap_err(),
        ] {
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::DType(DTypeError::Unsupported { .. })
                ),
                "{error}"
            );
        }
        let made = module_core::with_default_dtype(dtype, || Linear::new(2, 2));
        assert!(made.is_err(), "{dtype}");
        let x = Tensor::zeros([2, 2], dtype).unwrap();
        let error = Linear::new(2, 2).unwrap().forward(x).unwrap_err();
        assert!(error.to_string().contains("to_dtype"), "{error}");
    }
    assert_eq!(Device::cpu(), net.codes.tensor().device());
}
