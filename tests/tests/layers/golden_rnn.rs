//! Packing and padding of sequences compared with PyTorch, with gradients; and invalid arguments.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_core::{BackwardOptions, ErrorKind, Result, StateDict, Tensor};
use module_nn::rnn::{
    PackOptions, PackedSequence, PadPackedOptions, PadSequenceOptions, PaddingSide,
    invert_permutation, pack_padded_sequence, pack_sequence, pack_sequence_unsorted,
    pad_packed_sequence, pad_sequence, unpack_sequence, unpad_sequence, unpad_sequence_batch_first,
};
use module_tests::golden::{Case, Tolerance, assert_close, load};
use serde_json::Value;

fn list(numbers: &[usize]) -> Tensor {
    let numbers: Vec<i64> = numbers.iter().map(|&n| n as i64).collect();
    let count = numbers.len();
    Tensor::from_vec(numbers, count).unwrap()
}

/// Everything that a packed sequence holds.
fn packed(sequence: &PackedSequence) -> Vec<Tensor> {
    let indices = [sequence.sorted_indices(), sequence.unsorted_indices()];
    let sizes = list(sequence.batch_sizes());
    let parts = [sequence.data().clone(), sizes].into_iter();
    parts
        .chain(indices.into_iter().flatten().cloned())
        .collect()
}

fn run(op: &str, args: &Value, x: &[Tensor]) -> Result<Vec<Tensor>> {
    let batch_first = args["batch_first"] == true;
    let enforce_sorted = args["enforce_sorted"] == true;
    let pack = match enforce_sorted {
        true => pack_sequence,
        false => pack_sequence_unsorted,
    };
    let lengths = args["lengths"].as_array().into_iter().flatten();
    let lengths: Vec<usize> = lengths.map(|n| n.as_u64().unwrap() as usize).collect();
    let padding_value = args["padding_value"].as_f64().unwrap_or(0.0);
    Ok(match op {
        "pack_padded_sequence" => {
            let options = PackOptions::new()
                .batch_first(batch_first)
                .enforce_sorted(enforce_sorted);
            packed(&pack_padded_sequence(&x[0], &lengths, options)?)
        }
        "pad_packed_sequence" => {
            let options = PadPackedOptions::new()
                .batch_first(batch_first)
                .padding_value(padding_value)
                .total_length(args["total_length"].as_u64().map(|n| n as usize));
            let (padded, lengths) = pad_packed_sequence(&pack_sequence_unsorted(x)?, options)?;
            vec![padded, list(&lengths)]
        }
        "pad_sequence" => {
            let padding_side = match args["padding_side"].as_str() {
                Some("left") => PaddingSide::Left,
                _ => PaddingSide::Right,
            };
            let options = PadSequenceOptions::new()
                .batch_first(batch_first)
                .padding_value(padding_value)
                .padding_side(padding_side);
            vec![pad_sequence(x, options)?]
        }
        "unpad_sequence" if batch_first => unpad_sequence_batch_first(&x[0], &lengths)?,
        "unpad_sequence" => unpad_sequence(&x[0], &lengths)?,
        "pack_sequence" => packed(&pack(x)?),
        "unpack_sequence" => unpack_sequence(&pack(x)?)?,
        "invert_permutation" => vec![invert_permutation(&x[0])?],
        _ => panic!("an unknown operation: {op}"),
    })
}

fn check(case: &Case, tensors: &StateDict) {
    let get = |part: &str| case.tensor(tensors, part);
    let inputs = case.inputs(tensors);
    let tracked = get("gin0").is_some();
    let inputs: Vec<Tensor> = match tracked {
        true => inputs.iter().map(|x| x.with_grad().unwrap()).collect(),
        false => inputs,
    };
    let outputs = run(&case.op, &case.args, &inputs).unwrap();
    let label = format!("{} {} {}", case.key, case.op, case.args);
    assert!(get(&format!("out{}", outputs.len())).is_none(), "{label}");
    for (i, output) in outputs.iter().enumerate() {
        let expected = get(&format!("out{i}")).unwrap_or_else(|| panic!("{label}: output {i}"));
        assert_close(&output.detach(), expected, Tolerance::EXACT, &label);
    }
    let followed: Vec<&Tensor> = outputs.iter().filter(|x| x.requires_grad()).collect();
    for (i, output) in followed.iter().enumerate() {
        let options = BackwardOptions::new().retain_graph(i + 1 < followed.len());
        let grad = get(&format!("gout{i}")).unwrap();
        output.backward_with(grad, options).unwrap();
    }
    for (i, input) in inputs.iter().enumerate().filter(|_| tracked) {
        let expected = get(&format!("gin{i}")).unwrap();
        let grad = input
            .grad()
            .unwrap_or_else(|| panic!("{label}: no gradient of {i}"));
        assert_close(&grad, expected, Tolerance::EXACT, &label);
    }
}

#[test]
fn sequences_are_packed_and_padded_as_by_pytorch() {
    let (cases, tensors) = load("rnn_sequences.safetensors");
    let cases = cases.as_array().unwrap();
    assert!(cases.len() > 100, "only {}", cases.len());
    for case in cases {
        check(&Case::new(case), &tensors);
    }
}

#[track_caller]
fn refused<T>(result: Result<T>, quotes: &[&str]) {
    let Err(error) = result else {
        panic!("it was accepted");
    };
    assert!(!matches!(error.kind(), ErrorKind::Custom(_)));
    let message = error.to_string();
    for quote in quotes {
        assert!(message.contains(quote), "{message} does not quote {quote}");
    }
}

#[test]
fn what_is_no_sequence_is_refused() {
    let x = Tensor::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let pack = |lengths: &[usize]| pack_padded_sequence(&x, lengths, PackOptions::default());
    refused(pack(&[2, 1]), &["[2, 1]", "3 sequences"]);
    refused(pack(&[2, 1, 0]), &["[2, 1, 0]", "at least 1"]);
    refused(pack(&[3, 1, 1]), &["[3, 1, 1]", "2 steps"]);
    refused(pack(&[1, 2, 1]), &["[1, 2, 1]", "enforce_sorted"]);
    let flat = Tensor::from([1.0_f32]);
    let options = PackOptions::default();
    refused(pack_padded_sequence(&flat, [1], options), &["[1]"]);
    let none = x.narrow(1, 0..0).unwrap();
    refused(pack_padded_sequence(&none, [], options), &["[]"]);

    let packed = pack(&[2, 1, 1]).unwrap();
    let options = PadPackedOptions::new().total_length(1);
    refused(
        pad_packed_sequence(&packed, options),
        &["total_length = 1", "2"],
    );
    refused(packed.with_data(flat.clone()), &["4 rows", "[1]"]);
    refused(pack_sequence(&[]), &["[]"]);
    refused(
        pack_sequence_unsorted(&[flat.clone(), x.clone()]),
        &["[2, 3]"],
    );
    refused(unpad_sequence(&x, [2, 3, 1]), &["[2, 3, 1]", "2 steps"]);
    refused(
        invert_permutation(&Tensor::from([0_i64, 0])),
        &["0", "once"],
    );
    refused(invert_permutation(&Tensor::from([2_i64, 0])), &["2"]);

    let rows = Tensor::from([1.0_f32, 2.0, 3.0]);
    let new = |sizes: &[usize], sorted| PackedSequence::new(rows.clone(), sizes, sorted);
    refused(new(&[1, 2], None), &["[1, 2]"]);
    refused(new(&[2, 2], None), &["[2, 2]", "[3]"]);
    refused(new(&[3, 0], None), &["[3, 0]"]);
    refused(new(&[], None), &["[]"]);
    refused(new(&[2, 1], Some(list(&[0]))), &["2 sequences"]);
    refused(new(&[2, 1], Some(list(&[1, 1]))), &["1"]);
    assert!(new(&[2, 1], Some(list(&[1, 0]))).is_ok());
}
