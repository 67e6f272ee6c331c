//! Values are packed as ggml packs them.

use super::*;

#[test]
fn values_are_packed_as_ggml_packs_them() {
    let (case, expected) = recorded();
    let count = case["quantized"].as_u64().unwrap();
    assert!(count >= 11);
    for i in 0..count {
        let x = expected.get(&format!("quantized/{i}")).unwrap();
        for (format, name) in FORMATS {
            let packed = format.quantize(x).unwrap();
            let theirs = bytes(expected.get(&format!("quantized/{i}/{name}")).unwrap());
            let ours = BlockFormat::bytes_of(&packed).unwrap();
            let size = format.size_in_bytes();
            let other = ours
                .chunks(size)
                .zip(theirs.chunks(size))
                .position(|(a, b)| a != b);
            assert_eq!((other, ours.len()), (None, theirs.len()), "{name} of {i}");
        }
    }
}

#[test]
fn tensors_are_converted_before_they_are_written() {
    let x = fork_rng(0, || Tensor::randn([4, 256], ())).unwrap();
    let state = || {
        let norm = x.narrow(0, 0..1).unwrap().squeeze(0).unwrap();
        StateDict::from_iter([
            ("a.weight", x.clone()),
            ("b.weight", x.clone()),
            ("a.norm", norm),
        ])
    };
    let mut file = Gguf::new(state());
    file.convert("a.weight", BlockFormat::Q4K).unwrap();
    file.convert("b.weight", DType::BF16).unwrap();
    file.convert("*.weight", BlockFormat::Q6K).unwrap();
    file.convert("a.norm", DType::F16).unwrap();
    let read = Gguf::from_bytes(file.to_bytes().unwrap()).unwrap().tensors;
    let kinds: Vec<String> = read
        .iter()
        .map(|(_, x)| GgufType::of(x).unwrap().to_string())
        .collect();
    assert_eq!(kinds, ["Q6_K", "Q6_K", "F16"]);
    // Rows of a packed tensor are whole blocks, columns are not.
    let packed = read.get("b.weight").unwrap();
    let rows = packed.narrow(0, 1..3).unwrap();
    let file = Gguf::new(StateDict::from_iter([("rows", rows.clone())]));
    let again = Gguf::from_bytes(file.to_bytes().unwrap()).unwrap();
    let again = again.tensors.get("rows").unwrap().unpack().unwrap();
    assert!(again.equal(&rows.unpack().unwrap()).unwrap());
    let refused = |tensor: Tensor| {
        let file = Gguf::new(StateDict::from_iter([("x", tensor)]));
        file.to_bytes().unwrap_err().to_string()
    };
    assert!(refused(packed.t().unwrap()).contains("`unpack` it"));
    assert!(refused(Tensor::from([true])).contains("bool"));
    let deep = refused(Tensor::zeros([1, 1, 1, 1, 1], ()).unwrap());
    assert!(deep.contains("5 dimensions"), "{deep}");

    // Nothing changes if one of the selected tensors cannot be converted.
    let mut file = Gguf::new(state());
    file.tensors
        .insert("c.weight", Tensor::ones([2, 33], ()).unwrap());
    let error = file.convert("*.weight", BlockFormat::Q8_0).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape(_)), "{error}");
    assert!(
        error.to_string().contains("multiple of 32") && error.to_string().contains("33"),
        "{error}"
    );
    assert!(!file.tensors.get("a.weight").unwrap().is_packed());
    assert!(file.convert("d.weight", DType::F16).is_err());
    assert!(file.convert("a.weight", DType::Bool).is_err());
    file.metadata
        .insert("general.alignment".to_owned(), 24_u32.into());
    assert!(
        file.to_bytes()
            .unwrap_err()
            .to_string()
            .contains("power of two")
    );
    for bad in [f32::NAN, f32::INFINITY, 1e30] {
        let x = Tensor::full([1, 256], bad, DType::F32).unwrap();
        for (format, name) in FORMATS {
            let error = format.quantize(&x).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("finite"), "{error}");
        }
    }
}

#[test]
fn the_error_of_rounding_is_that_of_the_format() {
    let x = fork_rng(0, || Tensor::randn([64, 512], ())).unwrap();
    let mean = |x: Tensor| {
        x.square()
            .unwrap()
            .mean(..)
            .unwrap()
            .sqrt()
            .unwrap()
            .item::<f32>()
            .unwrap()
    };
    // Steps of 1/127, 1/8 and, with scales for few elements, some 1/15 and 1/32 of the extremes of a block, of which
    // rounding keeps the 12th part of the square.
    for ((format, name), bound) in FORMATS.into_iter().zip([0.006, 0.1, 0.08, 0.02]) {
        let unpacked = format.quantize(&x).unwrap().unpack().unwrap();
        let error = mean(unpacked.sub(&x).unwrap());
        assert!(error < bound && error > bound / 2.0, "{name}: {error}");
    }
}
