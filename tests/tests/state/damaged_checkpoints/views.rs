//! Tensors that claim more elements than the file holds, or different ones.

use super::Attempt;
use super::archive::{Entry, archive};
use super::pickles::{good, legacy, refuse_value, zip};
use super::programs::*;

/// Several elements at one position, as many as `sizes` requires.
fn file(sizes: &[i128], strides: &[i128]) -> [Vec<u8>; 2] {
    let pickle = program(&[&dict("w", &tensor(storage("0", 2), 0, sizes, strides))]);
    [zip(&pickle), legacy(&pickle, &["0"])]
}

#[test]
fn more_elements_than_the_storage_has_need_leave() {
    let mut attempt = Attempt::new("amplified");
    for (sizes, strides) in [
        (&[1 << 40][..], &[0][..]),
        (&[3], &[0]),
        (&[2, 2], &[1, 0]),
        (&[2, 2], &[0, 1]),
        (&[1 << 20, 1 << 20], &[0, 0]),
        (&[1, 1 << 30, 1], &[1, 0, 1]),
        (&[2; 40], &[0; 40]),
    ] {
        let numel = sizes.iter().product::<i128>();
        for file in file(sizes, strides) {
            assert!(file.len() < 5000);
            attempt.expanded = false;
            let message = attempt.refuse("amplified", &file);
            for words in [
                &format!("make {numel} elements of the 2 "),
                "`w`",
                "ReadOptions::new().expanded(true)",
                "does not load as a state dict",
            ] {
                assert!(message.contains(words), "{message}");
            }
            // One element repeated many times is a valid PyTorch tensor; nothing is allocated for it.
            attempt.expanded = true;
            let state = attempt.load("allowed", &file, None).unwrap();
            assert_eq!(state.get("w").unwrap().numel() as i128, numel);
        }
    }
    attempt.expanded = false;
    // As many elements as the storage has can still be fewer that are seen twice.
    for file in file(&[2], &[0]) {
        let state = attempt.load("the first twice", &file, None).unwrap();
        assert_eq!(state.get("w").unwrap().to_vec::<f32>().unwrap(), [1.0, 1.0]);
    }
    for file in file(&[1 << 40, 0], &[0, 0]) {
        attempt.load("nothing, widely", &file, None).unwrap();
    }
}

#[test]
fn many_views_of_one_storage_need_leave() {
    let mut attempt = Attempt::new("views");
    // A storage of a million bytes, and different views of all but a few elements.
    let elements = 1 << 18;
    let made = |count: usize, distinct: bool| {
        let mut pairs = b"}(".to_vec();
        for i in 0..count {
            let less = if distinct { i } else { 0 } as i128;
            let size = elements - less;
            pairs.extend(text(&format!("view{i}")));
            pairs.extend(tensor(storage("0", elements), less, &[size], &[1]));
        }
        archive(&[
            Entry::new("net/data.pkl", program(&[&pairs, b"u"])),
            Entry::new("net/data/0", vec![0; 4 << 18]),
        ])
    };
    let load = |attempt: &mut Attempt, count, distinct| {
        let file = made(count, distinct);
        attempt.load("views", &file, None).map(|state| state.len())
    };
    assert_eq!(load(&mut attempt, 8, true).unwrap(), 8);
    assert_eq!(load(&mut attempt, 500, false).unwrap(), 500);
    for count in [9, 20, 500] {
        let message = load(&mut attempt, count, true).unwrap_err().to_string();
        assert!(message.contains("views of more than"), "{count}: {message}");
        assert!(message.contains("expanded(true)"), "{count}: {message}");
    }
    attempt.expanded = true;
    assert_eq!(load(&mut attempt, 500, true).unwrap(), 500);
}

#[test]
fn metadata_is_applied_or_refused() {
    let mut attempt = Attempt::new("metadata");
    let (yes, no) = (b"\x88", b"\x89");
    let negated = dict("neg", yes);
    for (metadata, expected) in [
        (b"N".to_vec(), [1.0, 2.0]),
        (b"}".to_vec(), [1.0, 2.0]),
        (negated.clone(), [-1.0, -2.0]),
        (dict("conj", yes), [1.0, 2.0]),
        (
            [&b"}("[..], &text("conj"), yes, &text("neg"), yes, b"u"].concat(),
            [-1.0, -2.0],
        ),
    ] {
        let value = with_metadata(storage("0", 2), &metadata);
        // Also with the other forms of tensors.
        let parameter = [
            &global("torch._utils", "_rebuild_parameter")[..],
            &tuple(&[value.clone(), yes.to_vec(), b"}".to_vec()]),
            b"R",
        ];
        for value in [value.clone(), parameter.concat()] {
            let pickle = program(&[b"}(", &text("w"), &value, &text("plain"), &good(), b"u"]);
            for file in [zip(&pickle), legacy(&pickle, &["0"])] {
                let state = attempt.load("metadata", &file, None).unwrap();
                let values = |key| state.get(key).unwrap().to_vec::<f32>().unwrap();
                assert_eq!(values("w"), expected);
                assert_eq!(values("plain"), [1.0, 2.0]);
            }
        }
    }
    for (metadata, words) in [
        (dict("neg", no), "`neg`: False"),
        (dict("conj", no), "`conj`: False"),
        (dict("neg", &int(1)), "`neg`: the number 1"),
        (dict("neg", b"N"), "`neg`: None"),
        (dict("fake", yes), "`fake`: True"),
        (dict("", yes), "``: True"),
        (
            [&b"}"[..], &int(3), yes, b"s"].concat(),
            "the number 3: True",
        ),
        (
            [&b"}("[..], &text("neg"), yes, &text("more"), yes, b"u"].concat(),
            "`more`: True",
        ),
        (b"]".to_vec(), "its metadata is a list"),
        (text("neg"), "its metadata is a text"),
        (yes.to_vec(), "its metadata is a boolean"),
        (good(), "its metadata is a tensor"),
        (
            [
                &b"}("[..],
                &repeated(&[&text("neg")[..], yes].concat(), 1000),
                b"u",
            ]
            .concat(),
            "1000 entries",
        ),
    ] {
        let value = with_metadata(storage("0", 2), &metadata);
        refuse_value(&mut attempt, "metadata", words, &value);
    }
    // One more than any version of PyTorch writes.
    let all = [
        storage("0", 2),
        int(0),
        ints(&[2]),
        ints(&[1]),
        no.to_vec(),
        b"}".to_vec(),
        negated.clone(),
        b"N".to_vec(),
        b"N".to_vec(),
    ];
    let value = |function: &str, count: usize| {
        let function = global("torch._utils", function);
        [&function[..], &tuple(&all[..count]), b"R"].concat()
    };
    refuse_value(
        &mut attempt,
        "eight",
        "8 arguments",
        &value("_rebuild_tensor_v2", 8),
    );
    refuse_value(
        &mut attempt,
        "nine",
        "9 arguments",
        &value("_rebuild_tensor_v3", 9),
    );
    refuse_value(
        &mut attempt,
        "six",
        "6 arguments",
        &value("_rebuild_tensor_v3", 6),
    );
    // A dtype that does not exist.
    refuse_value(
        &mut attempt,
        "no dtype",
        "its dtype is a dict",
        &value("_rebuild_tensor_v3", 7),
    );
    // Bools cannot be negated.
    let bytes = storage_of("BoolStorage", "0", 8);
    refuse_value(&mut attempt, "not", "`w`", &with_metadata(bytes, &negated));
    // Each dtype of a storage has a negative of its own, which the file pays for.
    let mut pairs = b"}(".to_vec();
    for i in 0..3000 {
        pairs.extend(text(&format!("{i}")));
        pairs.extend(with_metadata(storage("0", 2), &negated));
    }
    let state = attempt
        .load("many", &zip(&program(&[&pairs, b"u"])), None)
        .unwrap();
    let (first, last) = (state.get("0").unwrap(), state.get("2999").unwrap());
    assert!(first.shares_memory_with(last) && first.layout() == last.layout());
}

#[test]
fn ranks_are_refused_before_they_take_memory() {
    let mut attempt = Attempt::new("ranks");
    let words = |rank: usize| format!("{rank} dimensions are more than 64");
    for rank in [64, 65, 1000, 90_000] {
        // A tuple of numbers, each of which takes two bytes.
        let ones = [b"(".to_vec(), repeated(b"K\x01", rank), b"t".to_vec()].concat();
        let pickle = program(&[&dict(
            "w",
            &rebuild(&[storage("0", 2), int(0), ones.clone(), ones]),
        )]);
        for file in [zip(&pickle), legacy(&pickle, &["0"])] {
            let read = attempt.load("rank", &file, None);
            match rank {
                64 => assert_eq!(read.unwrap().get("w").unwrap().shape().rank(), 64),
                _ => {
                    let message = read.unwrap_err().to_string();
                    assert!(message.contains(&words(rank)), "{message}");
                }
            }
        }
    }
    for (rank, fine) in [(64, true), (65, false), (5_000_000, false)] {
        let shape = format!("({})", "1,".repeat(rank));
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        let array = [&b"\x93NUMPY\x02\0"[..], &length, header.as_bytes(), &[0; 4]].concat();
        let read = attempt.load("rank", &archive(&[Entry::new("x.npy", array)]), None);
        match fine {
            true => assert_eq!(read.unwrap().get("x").unwrap().shape().rank(), rank),
            false => {
                let message = read.unwrap_err().to_string();
                assert!(message.contains("more than 64 dimensions"), "{message}");
            }
        }
    }
}
