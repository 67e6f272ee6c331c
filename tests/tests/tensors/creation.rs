//! Sequences and random draws, compared with PyTorch's.
#![allow(clippy::unwrap_used, clippy::panic)]

use module_core::{DType, Device, Result, Scalar, StateDict, Tensor, fork_rng};
use module_tests::golden::{self, Tolerance};
use serde_json::Value;

fn dtype(name: &str) -> DType {
    match name {
        "f64" => DType::F64,
        "f32" => DType::F32,
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        "i64" => DType::I64,
        "i32" => DType::I32,
        "u8" => DType::U8,
        "bool" => DType::Bool,
        other => panic!("an unknown dtype: {other}"),
    }
}

fn scalar(value: &Value) -> Scalar {
    match value.as_i64() {
        Some(value) => value.into(),
        None => value.as_f64().unwrap().into(),
    }
}

fn create(case: &Value, tensors: &StateDict) -> Result<Tensor> {
    let (args, cpu) = (&case["args"], Device::cpu());
    let dtype = dtype(case["dtype"].as_str().unwrap());
    let int = |name: &str| args[name].as_i64().unwrap();
    let number = |name: &str| args[name].as_f64().unwrap();
    let shape = || -> Vec<usize> {
        let sizes = args["shape"].as_array().unwrap().iter();
        sizes.map(|size| size.as_u64().unwrap() as usize).collect()
    };
    match case["op"].as_str().unwrap() {
        "arange" => {
            let [start, end, step] = ["start", "end", "step"].map(|name| scalar(&args[name]));
            Tensor::arange_step(start, end, step, (dtype, &cpu))
        }
        "linspace" => {
            let steps = int("steps") as usize;
            Tensor::linspace(number("start"), number("end"), steps, (dtype, &cpu))
        }
        "eye" => Tensor::eye(int("n") as usize, int("m") as usize, (dtype, &cpu)),
        "randint" => Tensor::randint(int("low"), int("high"), shape(), dtype),
        "randperm" => Tensor::randperm(int("n") as usize, ()),
        "bernoulli_with" => Tensor::bernoulli_with(shape(), number("p"), dtype),
        "bernoulli" => {
            let key = format!("{}.in0", case["key"].as_str().unwrap());
            let layout = args["layout"].as_str().unwrap();
            golden::lay_out(tensors.get(&key).unwrap(), layout).bernoulli()
        }
        other => panic!("an unknown operation: {other}"),
    }
}

#[test]
fn sequences_and_draws_are_those_of_pytorch() {
    let (cases, tensors) = golden::load("creation.safetensors");
    let cases = cases.as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let key = case["key"].as_str().unwrap();
        let part = |part: &str| tensors.get(&format!("{key}.{part}"));
        let (out, next) = fork_rng(case["seed"].as_u64().unwrap_or(0), || {
            (create(case, &tensors), Tensor::rand([2], DType::F32))
        });
        let tolerance = match case["op"].as_str().unwrap() {
            "arange" => Tolerance::ELEMENTWISE,
            _ => Tolerance::EXACT,
        };
        let found = match out {
            Ok(out) => golden::compare(&out, part("out").unwrap(), tolerance),
            Err(error) => Err(error.to_string()),
        };
        failures.extend(found.err().map(|problem| format!("{case}: {problem}")));
        // The next draw shows that the same number of values was consumed.
        if let Some(expected) = part("next") {
            let found = golden::compare(&next.unwrap(), expected, Tolerance::EXACT);
            failures.extend(
                found
                    .err()
                    .map(|problem| format!("{case}, next: {problem}")),
            );
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(cases.len(), 615, "cases went missing or are new");
}

#[test]
fn a_draw_does_not_cut_the_graph_silently() {
    let p = Tensor::from([0.5_f32, 0.25]).with_grad().unwrap();
    let y = p.bernoulli().unwrap().sum(..).unwrap();
    assert_eq!(
        y.backward().unwrap_err().to_string(),
        "backward: `bernoulli` has no gradient; use `detach` before it if none is wanted"
    );
}

#[test]
fn integers_from_one_end_to_the_other_are_a_range() {
    let (start, end) = (i64::MIN, i64::MAX);
    let x = Tensor::arange_step(start, end, end, DType::I64).unwrap();
    assert_eq!(x.to_vec::<i64>().unwrap(), [start, -1, end - 1]);
}

#[test]
fn wrong_arguments_are_named() {
    let cpu = Device::cpu();
    for (result, message) in [
        (
            Tensor::arange_step(0, 5, 0, (DType::I64, &cpu)),
            "arange_step: (start, end, step) = (0, 5, 0): has a step of 0 or one that leads away from the end",
        ),
        (
            Tensor::arange_step(0.0, 5.0, -1.0, (DType::F32, &cpu)),
            "arange_step: (start, end, step) = (0.0, 5.0, -1.0): has a step of 0 or one that leads away from the end",
        ),
        (
            Tensor::arange_step(0.0, f64::NAN, 1.0, (DType::F32, &cpu)),
            "arange_step: (start, end, step) = (0.0, NaN, 1.0): must be finite",
        ),
        (
            Tensor::arange_step(0, 2, 0.5, (DType::I64, &cpu)),
            "arange_step: not available for int64; it needs a floating-point dtype for floating-point numbers",
        ),
        (
            Tensor::randint(3, 3, [2], DType::I64),
            "randint expects low < high, but found low=3 >= high=3",
        ),
        (
            Tensor::randint(0, 300, [2], DType::U8),
            "randint draws from [0, 300), but the dtype holds only 0 to 255",
        ),
    ] {
        assert_eq!(result.unwrap_err().to_string(), message);
    }
}

/// The values that PyTorch's `full` accepts and refuses, except for integers outside the range of half precision, which it
/// turns into infinity.
#[test]
fn a_value_that_does_not_fit_is_refused_and_quoted() {
    let cpu = Device::cpu();
    let full = |value: Scalar, dtype| Tensor::full([2], value, (dtype, &cpu));
    for (value, dtype) in [
        (Scalar::Int(300), DType::U8),
        (Scalar::Int(-256), DType::U8),
        (Scalar::Float(-0.5), DType::U8),
        (Scalar::Int(1 << 31), DType::I32),
        (Scalar::Float(1e30), DType::I32),
        (Scalar::Float(2.0_f64.powi(63)), DType::I64),
        (Scalar::Float(f64::NAN), DType::I64),
        (Scalar::Float(f64::INFINITY), DType::I64),
        (Scalar::Float(70_000.0), DType::F16),
        (Scalar::Int(70_000), DType::F16),
        (Scalar::Float(1e60), DType::BF16),
        (Scalar::Float(1e39), DType::F32),
    ] {
        assert_eq!(
            full(value, dtype).unwrap_err().to_string(),
            format!("full: value = {value}: does not fit {dtype}; choose a wider dtype")
        );
    }
    for (value, dtype, held) in [
        (Scalar::Int(-1), DType::U8, 255.0),
        (Scalar::Int(-255), DType::U8, 1.0),
        (Scalar::Float(255.9), DType::U8, 255.0),
        (Scalar::Float(1.5), DType::I64, 1.0),
        (Scalar::Int(2), DType::Bool, 1.0),
        (Scalar::Float(f64::NAN), DType::Bool, 1.0),
        (Scalar::Float(65_510.0), DType::F16, 65_504.0),
        (Scalar::Float(f64::INFINITY), DType::F16, f64::INFINITY),
        (
            Scalar::Float(f64::NEG_INFINITY),
            DType::F32,
            f64::NEG_INFINITY,
        ),
    ] {
        let held_as = full(value, dtype).unwrap().to_dtype(DType::F64).unwrap();
        assert_eq!(
            held_as.to_vec::<f64>().unwrap(),
            [held; 2],
            "{value} as {dtype}"
        );
    }
    // Beside a tensor, the operation is named.
    let x = Tensor::from([44_u8, 0]);
    let mask = Tensor::from([true, false]);
    let error = |result: Result<Tensor>| result.unwrap_err().to_string();
    assert!(error(x.masked_fill(&mask, 300)).starts_with("masked_fill: value = 300: "));
    assert!(error(x.eq(300)).starts_with("eq: value = 300: "));
    assert!(
        error(x.pad([1, 1], module_core::PadMode::Constant(300.into())))
            .starts_with("pad: value = 300: ")
    );
}

#[test]
fn arrays_go_both_ways() {
    use module_core::ndarray::{Array2, ArrayD, ArrayViewD, s};
    let array = Array2::from_shape_fn((3, 4), |(i, j)| (4 * i + j) as f64);
    let expected: Vec<f64> = (0..12).map(f64::from).collect();
    let values = |x: Tensor| x.to_vec::<f64>().unwrap();
    assert_eq!(values(Tensor::try_from(array.view()).unwrap()), expected);
    // Transposed and sliced arrays, and one that owns more than its elements.
    assert_eq!(
        values(Tensor::try_from(array.t()).unwrap()),
        values(Tensor::try_from(array.clone()).unwrap().t().unwrap())
    );
    let reversed = array.slice(s![..;-1, 1..;2]);
    assert_eq!(
        values(Tensor::try_from(reversed).unwrap()),
        [9.0, 11.0, 5.0, 7.0, 1.0, 3.0]
    );
    let cut = array.clone().slice_move(s![1..2, ..]);
    assert_eq!(values(Tensor::try_from(cut).unwrap()), expected[4..8]);
    let turned = array.clone().reversed_axes();
    assert_eq!(
        Tensor::try_from(turned).unwrap().shape().to_string(),
        "[4, 3]"
    );

    let x = Tensor::try_from(array.clone()).unwrap();
    let view = ArrayViewD::<f64>::try_from(&x).unwrap();
    assert_eq!(view, array.view().into_dyn());
    let part = x.slice(1, 1.., 2).unwrap().t().unwrap();
    let view = ArrayViewD::<f64>::try_from(&part).unwrap();
    assert_eq!(view, ArrayD::<f64>::try_from(&part).unwrap().view());
    assert_eq!((view.shape(), view[[1, 2]]), (&[2, 3][..], 11.0));
    assert!(ArrayViewD::<f32>::try_from(&x).is_err());
    assert!(ArrayD::<f32>::try_from(&x).is_err());
    let empty = x.narrow(0, 3..3).unwrap();
    assert_eq!(ArrayViewD::<f64>::try_from(&empty).unwrap().shape(), [0, 4]);
    // Sizes next to a zero must still be countable.
    let absurd = ArrayD::<f64>::from_shape_vec(vec![0, 1 << 61], vec![]).unwrap();
    assert!(Tensor::try_from(absurd).is_err());
}

#[test]
fn vectors_and_nested_arrays_are_tensors() {
    let x = Tensor::from(vec![1_i64, 2, 3]);
    assert_eq!(x.to_string(), "tensor([1, 2, 3])");
    assert_eq!(Tensor::from(&[1.5_f32, 2.5][..]).shape().to_string(), "[2]");
    let x = Tensor::from([[[1_u8, 2], [3, 4], [5, 6]]]);
    assert_eq!(x.shape().to_string(), "[1, 3, 2]");
    assert_eq!(x.to_vec::<u8>().unwrap(), [1, 2, 3, 4, 5, 6]);
}
