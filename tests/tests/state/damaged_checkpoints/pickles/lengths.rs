//! Lengths, counts and sizes that are false.

use super::*;

#[test]
fn false_lengths_are_refused() {
    let mut attempt = Attempt::new("lengths");
    let lengths = [
        1_u64,
        300,
        1 << 16,
        1 << 31,
        u32::MAX.into(),
        1 << 32,
        1 << 63,
        u64::MAX,
    ];
    for length in lengths {
        for code in [b"X", b"T", b"B", b"\x8b"] {
            let short = u32::try_from(length).unwrap_or(u32::MAX);
            let lie = [&code[..], &short.to_le_bytes()].concat();
            refuse_value(&mut attempt, "length", "", &lie);
        }
        for code in [b"\x8d", b"\x8e", b"\x96", b"\x95"] {
            let lie = [&code[..], &length.saturating_add(20).to_le_bytes(), b"N"].concat();
            refuse_value(&mut attempt, "long length", "", &lie);
        }
        for code in [b"r", b"j"] {
            let short = u32::try_from(length.max(1000)).unwrap_or(u32::MAX);
            let lie = [&b"N"[..], code, &short.to_le_bytes()].concat();
            refuse_value(&mut attempt, "memory", "remembered", &lie);
        }
    }
    for code in [b"U", b"C", b"\x8c", b"\x8a"] {
        refuse_value(
            &mut attempt,
            "short length",
            "",
            &[&code[..], b"\xff"].concat(),
        );
    }
    for line in [
        &b"c"[..],
        b"ctorch",
        b"ctorch\n",
        b"ctorch\nSize",
        b"c\xff\xff\n\xff\n",
    ] {
        refuse_value(&mut attempt, "lines", "", line);
    }
    let long = [
        global(&"m".repeat(100_000), &"n".repeat(100_000)),
        b")R".to_vec(),
    ]
    .concat();
    refuse_value(&mut attempt, "a long name", "mmm", &long);
    refuse_value(&mut attempt, "no text", "utf-8", b"X\x02\0\0\0\xff\xff");
    refuse_value(&mut attempt, "not remembered", "not remembered", b"h\xff");
    for pickle in [
        &b"."[..],
        b"",
        b"\x80\x02.",
        b"NN.",
        b"(N.",
        b"0.",
        b"1.",
        b"2.",
        b"a.",
        b"s.",
        b"u.",
        b"e.",
        b"t.",
        b"d.",
        b"l.",
        b"R.",
        b"b.",
        b"Q.",
        b"\x85.",
        b"N\x86.",
        b"(N\x85",
        b"]N(e.",
        b"}N.",
        b"}(Nu.",
        b"(Nd.",
        b")Na.",
        b"N(Nt.",
        b"]NNs.",
        b"N]a.",
    ] {
        let pickle = [b"\x80\x02", pickle].concat();
        refuse_program(&mut attempt, "no program", "", &pickle);
    }
}

#[test]
fn tensors_that_reach_past_their_storage_are_refused() {
    let mut attempt = Attempt::new("tensors");
    let most = i128::from(i64::MAX);
    for (offset, size, stride) in [
        (0, &[3][..], &[1][..]),
        (1, &[2], &[1]),
        (2, &[1], &[1]),
        (2, &[], &[]),
        (-1, &[1], &[1]),
        (0, &[-1], &[1]),
        (0, &[2], &[-1]),
        (0, &[2], &[2]),
        (0, &[2], &[]),
        (0, &[], &[1]),
        (0, &[1, 1], &[1]),
        (0, &[2, 2], &[2, 1]),
        (most, &[1], &[1]),
        (0, &[most], &[1]),
        (0, &[2], &[most]),
        (0, &[most], &[most]),
        (most, &[most], &[most]),
        (0, &[1 << 32, 1 << 32], &[0, 0]),
        (0, &[most, 2], &[0, 0]),
        (0, &[most, 0], &[1, 1]),
        (0, &[most, most, 0], &[1, 1, 1]),
        (1 << 64, &[1], &[1]),
        (i128::MAX, &[1], &[1]),
        (0, &[i128::MAX], &[1]),
        (0, &[2], &[i128::MAX]),
        (i128::MIN, &[1], &[1]),
    ] {
        let value = tensor(storage("0", 2), offset, size, stride);
        let message = attempt.refuse("a tensor", &zip(&program(&[&dict("w", &value)])));
        assert!(message.contains("`w`"), "{message}");
        let pickle = program(&[&dict("w", &value)]);
        attempt.refuse("a tensor", &legacy(&pickle, &["0"]));
    }
    for count in [0, 1, 3, -1, most, most / 4, 1 << 62, 1 << 64, i128::MAX] {
        let value = tensor(storage("0", count), 0, &[1], &[1]);
        refuse_value(&mut attempt, "a storage", "", &value);
        let pickle = program(&[&dict("w", &value)]);
        attempt.refuse("a storage", &legacy(&pickle, &["0"]));
    }
    for key in [
        "1",
        "",
        "../data.pkl",
        "0/../0",
        "/etc/passwd",
        "0\0",
        "\u{130}",
    ] {
        let value = tensor(storage(key, 2), 0, &[1], &[1]);
        refuse_value(&mut attempt, "a key", "lacks its storage", &value);
    }
    for class in ["DoubleStorage", "HalfStorage", "LongStorage", "BoolStorage"] {
        let value = tensor(storage_of(class, "0", 2), 0, &[1], &[1]);
        refuse_value(&mut attempt, class, "", &value);
        // The same storage twice, described in two ways.
        let both = [&b"}("[..], &text("a"), &good(), &text("b"), &value, b"u"].concat();
        refuse_program(&mut attempt, class, "two ways", &program(&[&both]));
    }
    let id = |parts: &[Vec<u8>]| [tuple(parts), b"Q".to_vec()].concat();
    let (class, cpu) = (global("torch", "FloatStorage"), text("cpu"));
    let view = tuple(&[text("0"), int(0), int(2)]);
    for storage in [
        b"N".to_vec(),
        b"NQ".to_vec(),
        b")Q".to_vec(),
        text("0"),
        good(),
        id(&[text("storage")]),
        id(&[
            text("module"),
            class.clone(),
            text("0"),
            cpu.clone(),
            int(2),
        ]),
        id(&[text("storage"), class.clone(), int(0), cpu.clone(), int(2)]),
        id(&[
            text("storage"),
            class.clone(),
            text("0"),
            cpu.clone(),
            text("2"),
        ]),
        id(&[
            text("storage"),
            text("FloatStorage"),
            text("0"),
            cpu.clone(),
            int(2),
        ]),
        id(&[
            text("storage"),
            global("torch", "Tensor"),
            text("0"),
            cpu.clone(),
            int(2),
        ]),
        id(&[
            text("storage"),
            class.clone(),
            text("0"),
            cpu.clone(),
            int(2),
            view.clone(),
        ]),
        id(&[
            text("storage"),
            class.clone(),
            text("0"),
            cpu.clone(),
            int(2),
            view,
            int(1),
        ]),
        storage_of("UntypedStorage", "0", 8),
    ] {
        let value = tensor(storage, 0, &[1], &[1]);
        refuse_value(&mut attempt, "no storage", "", &value);
    }
    for arguments in [
        vec![],
        vec![storage("0", 2)],
        vec![storage("0", 2), int(0), ints(&[1])],
        vec![storage("0", 2), text("0"), ints(&[1]), ints(&[1])],
        vec![storage("0", 2), int(0), int(1), int(1)],
        vec![storage("0", 2), int(0), tuple(&[text("1")]), ints(&[1])],
        vec![storage("0", 2), int(0), ints(&[1]), tuple(&[b"N".to_vec()])],
        vec![storage("0", 2), int(0), ints(&[1; 65]), ints(&[1; 65])],
        vec![
            storage("0", 2),
            int(0),
            ints(&vec![1; 50_000]),
            ints(&vec![1; 50_000]),
        ],
    ] {
        refuse_value(&mut attempt, "arguments", "`w`", &rebuild(&arguments));
    }
    let twice = [&b"}("[..], &text("w"), &good(), &text("w"), &good(), b"u"].concat();
    attempt.refuse("twice", &zip(&program(&[&twice])));
    assert!(attempt.refused >= 150, "only {}", attempt.refused);
}

#[test]
fn many_tensors_take_no_more_memory_than_the_file_allows() {
    let mut attempt = Attempt::new("many");
    let shape = ints(&[1; 64]);
    let wide = rebuild(&[storage("0", 2), int(0), shape.clone(), shape]);
    for (what, value) in [("ties", good()), ("tensors of 64 dimensions", wide)] {
        let mut dict = [&b"}("[..], &text(""), &value, b"q\0"].concat();
        for i in 0..100_000 {
            let key = format!("{i:x}");
            dict.extend(
                [
                    &[0x8c, u8::try_from(key.len()).unwrap()],
                    key.as_bytes(),
                    b"h\0",
                ]
                .concat(),
            );
        }
        dict.push(b'u');
        // Too many on the stack for one batch is an error too; these come in batches.
        attempt.refuse(what, &zip(&program(&[&dict])));
        let batches = dict.split_off(dict.len() / 2);
        drop(batches);
        let _ = attempt.load(what, &zip(&program(&[&dict, b"u"])), None);
    }
    // A thousand at a time, as Python writes them: keys of a realistic length load.
    let mut dict = [&b"}("[..], &text("first"), &good(), b"q\0u"].concat();
    for batch in 0..100 {
        dict.push(b'(');
        for i in 0..1000 {
            let key = format!("layers.{batch}.blocks.{i}.weight");
            dict.extend([&text(&key)[..], b"q\x01", b"h\0"].concat());
        }
        dict.push(b'u');
    }
    let state = attempt
        .load("true ties", &zip(&program(&[&dict])), None)
        .unwrap();
    assert_eq!(state.len(), 100_001);
}
