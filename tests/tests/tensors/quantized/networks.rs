//! Networks with quantized weights: saving, loading, and layers that cannot read them.

use super::*;

fn net() -> Sequential {
    fork_rng(0, || {
        Ok::<_, Error>(
            Sequential::new()
                .push(Linear::new(64, 96)?)
                .push(ReLU::new())
                .push(LayerNorm::new([96])?)
                .push(LinearConfig::new(96, 10).bias(false).build()?),
        )
    })
    .unwrap()
}

#[test]
fn a_quantized_network_is_saved_and_loaded() {
    let path = std::env::temp_dir().join(format!("quantized-{}.safetensors", std::process::id()));
    let x = randn(1, &[4, 64]);
    for scheme in EVERY {
        let model = net();
        quantize(&model, Select::all(), scheme).unwrap();
        let y = model.call(x.clone()).unwrap();
        model.save(&path).unwrap();
        let state = model.state_dict().unwrap();
        let read = StateDict::load(&path).unwrap();
        assert!(read.len() > state.len() && read.join_packed().unwrap().equal(&state).unwrap());
        // Into a model that is not quantized, and into one that is, otherwise.
        let others = [net(), net(), net()];
        quantize(&others[1], Select::all(), Scheme::Int8).unwrap();
        quantize(&others[2], Select::all(), NESTED).unwrap();
        for other in others {
            let _report = other.load(&path).unwrap();
            let again = other.call(x.clone()).unwrap();
            assert!(again.equal(&y).unwrap(), "{scheme:?}");
        }
        let directory = path.with_extension("shards");
        state.save_sharded(&directory, 1000).unwrap();
        let read = StateDict::load(&directory).unwrap().join_packed().unwrap();
        assert!(read.equal(&state).unwrap());
        std::fs::remove_dir_all(directory).unwrap();
        // Parts that do not match each other.
        let mut broken = StateDict::load(&path).unwrap();
        let part = broken
            .keys()
            .find(|key| key.starts_with("0.weight.") && key.ends_with('s'));
        let part = part
            .map(str::to_owned)
            .unwrap_or_else(|| "0.weight.absmax".to_owned());
        broken.insert(&*part, Tensor::from([1.0_f32, 2.0, 3.0]));
        let before = model.state_dict().unwrap();
        let error = model.load_state_dict(&broken).unwrap_err().to_string();
        assert!(
            error.starts_with("join_packed: weight = 0.weight: "),
            "{error}"
        );
        broken.remove(&part);
        let error = model.load_state_dict(&broken).unwrap_err().to_string();
        assert!(error.contains("is missing beside"), "{error}");
        assert!(model.state_dict().unwrap().equal(&before).unwrap());
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_place_of_a_weight_stays() {
    let model = net();
    let before = model.state_dict().unwrap();
    let (paths, id) = (before.keys().map(str::to_owned).collect::<Vec<_>>(), || {
        model
            .named_parameters()
            .map(|(_, parameter)| parameter.id())
            .collect::<Vec<_>>()
    });
    let ids = id();
    let report = quantize(&model, Select::all(), NESTED).unwrap();
    assert_eq!(report.quantized, ["0.weight", "3.weight"]);
    let skipped = [
        ("0.bias", "Linear"),
        ("2.weight", "LayerNorm"),
        ("2.bias", "LayerNorm"),
    ];
    assert_eq!(
        report.skipped,
        skipped.map(|(path, kind)| (path.to_owned(), kind))
    );
    assert_eq!(report.bytes_before, 4 * (64 * 96 + 96 * 10));
    assert!(report.bytes_after * 7 < report.bytes_before, "{report}");
    assert_eq!(
        model.state_dict().unwrap().keys().collect::<Vec<_>>(),
        paths
    );
    assert_eq!(id(), ids);
    let weight = model.get_parameter("0.weight").unwrap();
    assert!(!weight.requires_grad() && weight.grad().is_none());
    weight.set_requires_grad(true);
    assert!(!weight.requires_grad() && !weight.tensor().requires_grad());
    // The other parameters are trained.
    let x = randn(1, &[2, 64]);
    model
        .call(x.clone())
        .unwrap()
        .sum(..)
        .unwrap()
        .backward()
        .unwrap();
    assert!(weight.grad().is_none() && model.get_parameter("0.bias").unwrap().grad().is_some());
    let mut optimizer = AdamWConfig::new(1e-2).build(&model).unwrap();
    optimizer.step(&model).unwrap();
    let packed = model.call(x.clone()).unwrap();
    assert_eq!(dequantize(&model, "0").unwrap(), ["0.weight"]);
    assert!(weight.requires_grad() && !weight.detach().is_packed());
    assert_near(&model.call(x).unwrap(), &packed, "dequantized");
}

#[test]
fn layers_that_read_no_packed_weight_are_named_with_the_cure() {
    let model = (
        Sequential::new().push(Embedding::new(8, 32).unwrap()),
        Sequential::new().push(Conv1d::new(1, 2, 32).unwrap()),
    );
    let mut state = model.state_dict().unwrap();
    for key in ["0.0.weight", "1.0.weight"] {
        let packed = BlockFormat::Q8_0.quantize(state.get(key).unwrap()).unwrap();
        state.insert(key, packed);
    }
    let _ = model.load_state_dict(&state).unwrap();
    let ids = Tensor::from([[1_i64, 7]]);
    let errors = [
        model.0.call(ids.clone()),
        model.1.call(randn(0, &[2, 1, 40])),
    ];
    for (result, layer) in errors.into_iter().zip(["0 (Embedding)", "0 (Conv1d)"]) {
        let error = result.unwrap_err().to_string();
        for part in [layer, "packed as", "get plain ones with `unpack`"] {
            assert!(error.contains(part), "{error}");
        }
    }
    // The suggested fix, for the model and for the load.
    assert_eq!(dequantize(&model, "0").unwrap(), ["0.0.weight"]);
    model.0.call(ids).unwrap();
    let _ = model
        .load_state_dict_with(&state, LoadOptions::new().unpack("**"))
        .unwrap();
    model.1.call(randn(0, &[2, 1, 40])).unwrap();
}

#[test]
fn what_cannot_be_packed_is_named_and_nothing_changes() {
    #[derive(Module)]
    struct Tied {
        words: Embedding,
        hidden: Linear,
        head: Linear,
    }
    let mut tied = Tied {
        words: Embedding::new(8, 64).unwrap(),
        hidden: Linear::new(64, 64).unwrap(),
        head: LinearConfig::new(64, 8).bias(false).build().unwrap(),
    };
    let int4 = |group_size| Scheme::Int4 { group_size };
    let message = |tied: &Tied, select: &str, scheme| {
        let before = tied.state_dict().unwrap();
        let error = quantize(tied, Select::glob(select).unwrap(), scheme).unwrap_err();
        assert!(tied.state_dict().unwrap().equal(&before).unwrap());
        assert!(
            tied.parameters()
                .all(|parameter| !parameter.detach().is_packed())
        );
        error.to_string()
    };
    let found = message(&tied, "words.*", NESTED);
    assert!(found.contains("`words.weight` of a Embedding"), "{found}");
    let found = message(&tied, "nothing", NESTED);
    assert!(found.contains("nothing"), "{found}");
    let found = message(&tied, "h*", int4(96));
    assert!(
        found.contains("hidden.weight") && found.contains("group_size = 96"),
        "{found}"
    );
    let found = message(&tied, "h*", int4(16));
    assert!(
        found.contains("group_size = 16: must be a multiple of 32"),
        "{found}"
    );
    tied.head.tie_weight(tied.words.weight()).unwrap();
    let found = message(&tied, "h*", NESTED);
    assert!(
        found.contains("head.weight") && found.contains("tied to `words.weight` of a Embedding"),
        "{found}"
    );
    let unpacked = dequantize(&tied, Select::all()).unwrap_err().to_string();
    assert!(unpacked.contains("none of them is packed"), "{unpacked}");
    quantize(&tied, "hidden", NESTED).unwrap();
    let again = quantize(&tied, "hidden", NESTED).unwrap_err().to_string();
    assert!(again.contains("packed as nf4"), "{again}");
    tied.hidden.weight().unpack().unwrap();
    let mut values = tied.hidden.weight().detach().to_vec::<f32>().unwrap();
    values[7] = f32::NAN;
    tied.hidden
        .weight()
        .set(Tensor::from_vec(values, [64, 64]).unwrap())
        .unwrap();
    for scheme in EVERY {
        let error = quantize(&tied, "hidden", scheme).unwrap_err().to_string();
        assert!(error.contains("element = NaN: must be finite"), "{error}");
    }
    tied.to_dtype(DType::F64).unwrap();
    let error = quantize(&tied, "hidden", NESTED).unwrap_err().to_string();
    assert!(error.contains("float64"), "{error}");
}
