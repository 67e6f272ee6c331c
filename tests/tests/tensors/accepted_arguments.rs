//! Argument forms that PyTorch accepts, with its results, and those that it refuses.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_core::{AvgPoolOptions, NllLossOptions, PadMode, PoolOptions};
use module_nn::functional::{
    CrossEntropyOptions, EmbeddingBagOptions, Reduction, ctc_loss, embedding_bag,
    multi_margin_loss, multilabel_soft_margin_loss,
};
use module_nn::functional::{LpPoolOptions, lp_pool};
use module_nn::prelude::*;
use module_nn::rnn::{PackOptions, pack_padded_sequence, unpad_sequence_batch_first};
use module_nn::{CTCLoss, CTCLossConfig, CrossEntropyLossConfig};
use module_tests::golden::{self, Tolerance};
use module_tests::layers::{RoundTrip, find};
use serde_json::Value;

/// Our call of a case; `parts` are its name.
fn run(parts: &[&str], x: &[Tensor], all: &StateDict) -> Result<Tensor> {
    let reduction = match parts.last() {
        Some(&"none") => Reduction::None,
        _ => Reduction::Mean,
    };
    let number = |text: &str| text.parse::<f64>().unwrap();
    match *parts {
        ["gather", _] => x[0].gather(0, &x[1]),
        ["scatter", ..] => x[0].scatter(0, &x[1], x.get(2).unwrap_or(&x[0])),
        ["scatter_add", ..] => x[0].scatter_add(0, &x[1], x.get(2).unwrap_or(&x[0])),
        ["index_select", _] => x[0].index_select(0, &x[1]),
        ["index_add", _] => match x.get(2) {
            Some(source) => x[0].index_add(0, &x[1], source),
            None => x[0].index_add(0, &x[1], &x[0].narrow(0, 0..3)?),
        },
        ["embedding", _] => x[0].embedding(&x[1], None),
        ["embedding_bag", _] => embedding_bag(&x[1], &x[0], EmbeddingBagOptions::default()),
        ["take_along_dim", "negative"] => x[0].take_along_dim(&x[1], 0),
        ["take_along_dim", _] => x[0].take_along_dim(&x[1], 1),
        ["cross_entropy", "probabilities" | "ignored_probabilities"] => {
            let ignore_index = if parts[1] == "probabilities" { -1 } else { 0 };
            let target = x[1].detach();
            let criterion = CrossEntropyLossConfig::new().ignore_index(ignore_index);
            criterion.build()?.call((x[0].clone(), target))
        }
        ["cross_entropy", ..] => {
            let options = CrossEntropyOptions::new().reduction(reduction);
            x[0].cross_entropy(&x[1], options)
        }
        ["nll_loss", ..] => {
            let options = NllLossOptions::new().reduction(reduction);
            x[0].nll_loss(&x[1], options)
        }
        ["multi_margin_loss", _, p, _] => {
            multi_margin_loss(&x[0], &x[1], p.parse().unwrap(), 1.0, None, reduction)
        }
        ["multi_margin_loss", _] => multi_margin_loss(&x[0], &x[1], 1, 1.0, None, reduction),
        ["one_hot", _] => x[0].one_hot(6),
        ["multilabel_soft_margin_loss", _] => {
            multilabel_soft_margin_loss(&x[0], &x[1], None, reduction)
        }
        ["ctc_loss", "lengths_f32"] => {
            let log = all.get("ctc_loss.log").unwrap();
            ctc_loss(log, &x[0], &x[1], [3, 2], &CTCLossConfig::new())
        }
        ["ctc_loss", _] => {
            let log = all.get("ctc_loss.log").unwrap();
            ctc_loss(log, &x[0], &x[1], &x[2], &CTCLossConfig::new())
        }
        ["linear", _] => x[0].linear(&x[1], x.get(2)),
        ["truths", "add"] => x[0].add(&x[1]),
        ["truths", "mul"] => x[0].mul(&x[1]),
        ["truths", "sub"] => x[0].sub(&x[1]),
        ["truths", "maximum"] => x[0].maximum(&x[1]),
        ["truths", "minimum"] => x[0].minimum(&x[1]),
        ["truths", "add_true"] => x[0].add(true),
        ["truths", "mul_true"] => x[0].mul(true),
        ["truths", "amax"] => x[0].amax(1),
        ["truths", "amin"] => x[0].amin(1),
        ["truths", "amax_all"] => x[0].amax(..),
        ["truths", "amin_all"] => x[0].amin(..),
        ["truths", "max"] => Ok(x[0].max(1)?.0),
        ["truths", "min"] => Ok(x[0].min(1)?.0),
        ["truths", "max_places"] => Ok(x[0].max(1)?.1),
        ["truths", "min_places"] => Ok(x[0].min(1)?.1),
        ["hardtanh", "equal"] => x[0].hardtanh(0.0, 0.0),
        ["hardtanh", _] => x[0].hardtanh(1.0, 0.0),
        ["pad", mode, before, after] => {
            let mode = match mode {
                "constant" => PadMode::default(),
                "reflect" => PadMode::Reflect,
                _ => PadMode::Replicate,
            };
            x[0].pad([number(before) as isize, number(after) as isize], mode)
        }
        ["batch_norm", "eps_0"] => x[0].batch_norm(&x[1].detach(), &x[2].detach(), None, None, 0.0),
        ["batch_norm", "eps_0_training"] => Ok(x[0].batch_norm_train(None, None, 0.0)?.0),
        ["batch_norm", _] => {
            let zeros = x[0].mean([0, 2])?.zeros_like()?;
            x[0].batch_norm(&zeros, &zeros.ones_like()?, None, None, -1.0)
        }
        ["isclose" | "allclose", ..] => {
            // A fraction has a point of its own.
            let (name, value) = (parts[1], number(&parts[2..].join(".")));
            let [rtol, atol] = ["rtol", "atol"].map(|of| if of == name { value } else { 0.1 });
            match parts[0] {
                "isclose" => {
                    x[0].isclose(&x[0], module_core::Tolerance::new().rtol(rtol).atol(atol))
                }
                _ => x[0]
                    .allclose(&x[0], module_core::Tolerance::new().rtol(rtol).atol(atol))
                    .map(Tensor::from),
            }
        }
        ["group_norm", ..] => x[0].group_norm(2, None, None, 1e-5),
        [pool, _] => match pool.as_bytes().get(pool.len() - 2) {
            Some(b'1') => pooled::<1>(pool, &x[0]),
            Some(b'2') => pooled::<2>(pool, &x[0]),
            _ => pooled::<3>(pool, &x[0]),
        },
        _ => panic!("an unknown case: {parts:?}"),
    }
}

fn pooled<const N: usize>(name: &str, x: &Tensor) -> Result<Tensor> {
    let two = [2_usize; N];
    match &name[..name.len() - 2] {
        "max_pool" => x.max_pool(PoolOptions::new(two)),
        "avg_pool" => x.avg_pool(AvgPoolOptions::new(two)),
        "lp_pool" => {
            let options = LpPoolOptions::new(two);
            match N {
                1 => lp_pool(x, 2.0, LpPoolOptions::new([options.kernel_size[0]])),
                2 => lp_pool(x, 2.0, LpPoolOptions::new([2, 2])),
                _ => lp_pool(x, 2.0, LpPoolOptions::new([2, 2, 2])),
            }
        }
        "adaptive_max_pool" => x.adaptive_max_pool(two),
        "adaptive_avg_pool" => x.adaptive_avg_pool(two),
        "fractional_max_pool" => {
            let (batch, channels) = match x.rank() - N {
                2 => (x.size(0)?, x.size(1)?),
                _ => (1, x.size(0)?),
            };
            let samples = Tensor::rand([batch, channels, N], x.dtype())?;
            Ok(x.fractional_max_pool(two, two, &samples)?.0)
        }
        "max_unpool" => {
            let places = x.zeros_like()?.to_dtype(DType::I64)?;
            x.max_unpool(&places, [8; N])
        }
        other => panic!("an unknown pool: {other}"),
    }
}

#[test]
fn arguments_are_accepted_and_refused_as_in_pytorch() {
    let (case, tensors) = golden::load("arguments.safetensors");
    let (mut accepted, mut refused, mut failures) = (0, 0, Vec::new());
    for case in case["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let count = case["inputs"].as_u64().unwrap();
        let input = |i: u64| {
            let x = tensors.get(&format!("{name}.in{i}")).unwrap().clone();
            x.with_grad().unwrap_or(x)
        };
        let inputs: Vec<Tensor> = (0..count).map(input).collect();
        let parts: Vec<&str> = name.split('.').collect();
        let out = run(&parts, &inputs, &tensors);
        match (&case["torch"], out) {
            (Value::Null, Ok(out)) => {
                accepted += 1;
                failures.extend(differences(name, &inputs, &out, &tensors));
            }
            (Value::String(_), Err(error)) => {
                refused += 1;
                assert!(
                    !matches!(error.kind(), ErrorKind::Custom(_)),
                    "{name}: {error}"
                );
            }
            (Value::Null, Err(error)) => failures.push(format!("{name}: {error}")),
            (torch, Ok(out)) => failures.push(format!("{name}: {out} where PyTorch says {torch}")),
            (other, _) => panic!("{name}: {other}"),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(
        accepted > 80 && refused > 60,
        "{accepted} accepted, {refused} refused"
    );
}

/// The differences of the output and the gradients from those of PyTorch.
fn differences(name: &str, inputs: &[Tensor], out: &Tensor, tensors: &StateDict) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |part: &str, actual: &Tensor| {
        let expected = tensors.get(&format!("{name}.{part}")).unwrap();
        if let Err(difference) = golden::compare(actual, expected, Tolerance::CONTRACTION) {
            found.push(format!("{name}: {part}: {difference}"));
        }
    };
    check("out", out);
    if !out.requires_grad() {
        return found;
    }
    let weights = Tensor::arange(1, out.numel() as i64 + 1, ()).unwrap();
    let weights = weights.to_dtype(out.dtype()).unwrap().reshape(out.shape());
    let loss = out.mul(weights.unwrap()).unwrap().sum(..).unwrap();
    loss.backward().unwrap();
    for (i, input) in inputs.iter().enumerate() {
        let part = format!("gin{i}");
        match (input.grad(), tensors.get(&format!("{name}.{part}"))) {
            (Some(gradient), Some(_)) => check(&part, &gradient),
            (Some(_), None) | (None, None) => {}
            (None, Some(_)) => check(&part, &input.detach().zeros_like().unwrap()),
        }
    }
    found
}

#[test]
fn numbers_print_as_they_were_given() {
    let (case, _) = golden::load("arguments.safetensors");
    let printed = case["printed"].as_array().unwrap();
    for case in printed {
        let (name, kwargs) = (case["layer"].as_str().unwrap(), &case["kwargs"]);
        let entry = find(name);
        let built = entry.build(kwargs).unwrap();
        let repr = built.module().tree().to_string();
        assert_eq!(repr, case["repr"], "{name} {kwargs}");
        // What is written and read back prints the same.
        let RoundTrip::Same(written) = entry.round_trip(kwargs).unwrap() else {
            panic!("{name} {kwargs} changes");
        };
        let again = entry.build(&written).unwrap();
        assert_eq!(again.module().tree().to_string(), repr);
    }
    assert!(printed.len() > 100, "{}", printed.len());

    let in_rust = [
        (
            LPPool2d::new(2, 3).unwrap().tree().to_string(),
            "norm_type=2, ",
        ),
        (
            LPPool2d::new(2.0, 3).unwrap().tree().to_string(),
            "norm_type=2.0, ",
        ),
        (Dropout::new(0).unwrap().tree().to_string(), "p=0, "),
        (
            BatchNorm1dConfig::new(3)
                .momentum(1)
                .build()
                .unwrap()
                .tree()
                .to_string(),
            "momentum=1, ",
        ),
        (
            BatchNorm1dConfig::new(3)
                .momentum(None)
                .build()
                .unwrap()
                .tree()
                .to_string(),
            "momentum=None, ",
        ),
    ];
    for (printed, part) in in_rust {
        assert!(printed.contains(part), "{printed}");
    }
}

#[test]
fn a_wrong_dtype_alone_is_called_by_its_name() {
    let x = Tensor::zeros([2, 3], DType::F32).unwrap();
    let classes = Tensor::from([0.0_f32, 1.0]);
    let errors = [
        x.cross_entropy(&classes, CrossEntropyOptions::default()),
        x.nll_loss(&classes, NllLossOptions::default()),
        multi_margin_loss(&x, &classes, 1, 1.0, None, Reduction::Mean),
        x.gather(0, &x),
        x.index_select(0, &classes),
        x.take_along_dim(&x, 0),
        x.embedding(&classes, None),
        classes.one_hot(3),
    ];
    for error in errors.map(Result::unwrap_err) {
        let ErrorKind::DType(DTypeError::Unsupported { dtype, .. }) = error.kind() else {
            panic!("{error}");
        };
        assert_eq!(*dtype, DType::F32);
        assert!(error.to_string().contains("int64"), "{error}");
    }
}

#[test]
fn an_index_before_the_first_element_is_quoted_as_it_was_given() {
    let x = Tensor::from([1_i64, 2, 3]);
    let error = x.take_along_dim(&Tensor::from([-4_i64]), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "take_along_dim: index -4 is out of range for size 3"
    );
    // PyTorch wraps this one too, silently.
    assert!(x.take_along_dim(&Tensor::from([3_i64]), 0).is_err());
}

#[test]
fn lengths_are_lists_or_tensors_of_any_integers() {
    let log = Tensor::randn([4, 2, 3], DType::F64)
        .unwrap()
        .log_softmax(-1)
        .unwrap();
    let targets = Tensor::from([[1_i64, 2], [2, 1]]);
    let criterion = CTCLossConfig::new().build().unwrap();
    let expected = {
        let lengths = (Tensor::from([4_i64, 3]), Tensor::from([2_i64, 1]));
        criterion
            .call((log.clone(), targets.clone(), lengths.0, lengths.1))
            .unwrap()
    };
    let with_lists = CTCLoss::new().call((log.clone(), targets.clone(), [4, 3], vec![2, 1]));
    assert!(expected.equal(&with_lists.unwrap()).unwrap());
    let mixed = (log.clone(), targets, Tensor::from([4_u8, 3]), [2, 1]);
    assert!(expected.equal(&criterion.call(mixed).unwrap()).unwrap());

    let options = PackOptions::new().batch_first(true);
    let padded = Tensor::from([[1_i64, 2, 3], [4, 0, 0]]);
    let list = pack_padded_sequence(&padded, [3, 1], options).unwrap();
    let tensor = pack_padded_sequence(&padded, Tensor::from([3_i32, 1]), options).unwrap();
    assert!(list.data().equal(tensor.data()).unwrap());
    let error = pack_padded_sequence(&padded, Tensor::from([3_i64, -1]), options).unwrap_err();
    assert!(error.to_string().contains("lengths = -1"), "{error}");
    let error = unpad_sequence_batch_first(&padded, Tensor::from([3.0_f32, 1.0])).unwrap_err();
    assert!(error.to_string().contains("float32"), "{error}");
}

#[test]
fn batch_norm_without_eps_is_refused_where_it_uses_the_batch() {
    let x = Tensor::randn([4, 3], DType::F32).unwrap();
    let norm = BatchNorm1dConfig::new(3).eps(0.0).build().unwrap();
    let error = norm.call(x.clone()).unwrap_err();
    assert!(error.to_string().contains("eps = 0"), "{error}");
    norm.eval();
    norm.call(x.clone()).unwrap();
    // Without running statistics evaluation uses the batch too.
    let norm = BatchNorm1dConfig::new(3)
        .eps(0.0)
        .track_running_stats(false);
    let norm = norm.build().unwrap();
    norm.eval();
    norm.call(x).unwrap_err();
}
