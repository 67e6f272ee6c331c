//! Wrong arguments, and deep or large objects.

use super::*;

#[test]
fn allowed_functions_with_wrong_arguments_are_refused() {
    let mut attempt = Attempt::new("calls");
    let functions = [
        global("collections", "OrderedDict"),
        global("torch", "Size"),
        global("torch", "FloatStorage"),
        global("torch", "float32"),
        global("torch", "Tensor"),
        global("torch.nn.parameter", "Parameter"),
        global("torch._utils", "_rebuild_parameter"),
        global("torch._utils", "_rebuild_tensor_v2"),
        global("torch._utils", "_rebuild_tensor_v3"),
        global("torch._tensor", "_rebuild_from_type_v2"),
        global("torch", "UntypedStorage"),
        global("torch", "device"),
        b"N".to_vec(),
        text("text"),
        b"]".to_vec(),
        b"}".to_vec(),
        good(),
        storage("0", 2),
    ];
    let arguments_of_tensors = tuple(&[good(), good(), good(), good()]);
    let arguments = [
        b")".to_vec(),
        b"N".to_vec(),
        b"]".to_vec(),
        b"}".to_vec(),
        text("text"),
        b"N\x85".to_vec(),
        b"]N\x86".to_vec(),
        b"NNNNNNN(t".to_vec(),
        b"](Ne\x85".to_vec(),
        global("torch", "Tensor"),
        tuple(&[int(1), int(2), int(3), int(4)]),
        arguments_of_tensors.clone(),
    ];
    for function in &functions {
        for arguments in &arguments {
            for code in [b"R", b"\x81"] {
                let call = [&function[..], arguments, code].concat();
                let pickle = program(&[&dict("w", &call)]);
                let read = attempt.load("a call", &zip(&pickle), None);
                // The valid one: a parameter from a tensor.
                if function == &functions[6] && arguments == &arguments_of_tensors {
                    continue;
                }
                assert!(read.is_err(), "{}", String::from_utf8_lossy(&call));
            }
        }
    }
    // Results of calls that are themselves called.
    let chain = [
        &global("collections", "OrderedDict")[..],
        &repeated(b")R", 100),
    ]
    .concat();
    refuse_value(&mut attempt, "chain", "not a function", &chain);
    let chain = [&global("torch", "device")[..], &repeated(b")R", 100_000)].concat();
    refuse_value(&mut attempt, "chain", "not a function", &chain);
    for object in [
        b"]".to_vec(),
        b")".to_vec(),
        good(),
        global("torch", "Tensor"),
        text("text"),
    ] {
        let built = [&object[..], b"}b"].concat();
        refuse_value(&mut attempt, "attributes", "attributes", &built);
    }
}

#[test]
fn deep_and_large_objects_are_refused() {
    let mut attempt = Attempt::new("deep");
    const MANY: usize = 1_000_000;
    let around = |part: &[u8], tail: &[u8]| program(&[&repeated(part, MANY), tail]);
    for (what, pickle) in [
        ("lists", around(b"]", b"")),
        (
            "closed lists",
            program(&[&repeated(b"]", 50_000), &repeated(b"a", 49_999)]),
        ),
        ("lists and marks", around(b"](", &repeated(b"e", MANY))),
        ("marks", around(b"(", b"")),
        ("marks closed", around(b"(", &repeated(b"t", MANY))),
        ("dicts", around(b"}N", &repeated(b"s", MANY))),
        ("dicts by marks", around(b"}(N", &repeated(b"u", MANY))),
        ("tuples of one", program(&[b"N", &repeated(b"\x85", MANY)])),
        ("tuples of two", program(&[b"N", &repeated(b"N\x86", MANY)])),
        (
            "tuples of three",
            program(&[b"N", &repeated(b"NN\x87", MANY)]),
        ),
        (
            "lists of lists",
            program(&[b"]q\0", &repeated(b"]h\0aq\0", MANY)]),
        ),
        ("calls", around(b"ctorch\ndevice\n", &repeated(b")R", MANY))),
        (
            "parameters",
            program(&[
                &good(),
                b"q\x010",
                &global("torch._utils", "_rebuild_parameter"),
                b"q\x020h\x01",
                &repeated(b"q\x010h\x02h\x01\x88N\x87R", 200_000),
            ]),
        ),
        (
            "parts of a dict",
            around(b"}q\0", &repeated(b"0", MANY - 1)),
        ),
        (
            "lists that are thrown away",
            program(&[&repeated(b"]0", MANY), b"N"]),
        ),
        (
            "dicts that are thrown away",
            program(&[&repeated(b"}0", MANY), b"N"]),
        ),
        (
            "texts that are thrown away",
            program(&[&repeated(b"\x8c\x000", MANY), b"N"]),
        ),
        (
            "tuples that are thrown away",
            program(&[&repeated(b")0", MANY), b"N"]),
        ),
        (
            "numbers that are thrown away",
            program(&[&repeated(&int(1 << 40), 100_000), b"N"]),
        ),
        (
            "a long list",
            program(&[b"](", &repeated(b"N", 90_000), b"e"]),
        ),
        (
            "long lists",
            program(&[
                b"]",
                &repeated(
                    &[b"(".to_vec(), repeated(b"N", 1000), b"e".to_vec()].concat(),
                    1000,
                ),
            ]),
        ),
        (
            "a list item by item",
            program(&[b"]", &repeated(b"Na", MANY)]),
        ),
        (
            "a dict item by item",
            program(&[b"}", &repeated(b"NNs", MANY)]),
        ),
        ("twice the top", program(&[b"N", &repeated(b"2", MANY)])),
        ("many memories", program(&[b"N", &repeated(b"\x94", MANY)])),
        (
            "memories far away",
            program(&[b"N", &repeated(b"r\0\0\0\0", 100_000)]),
        ),
    ] {
        for file in [zip(&pickle), legacy(&pickle, &[])] {
            attempt.refuse(what, &file);
            let _ = attempt.load(what, &file, Some("a.b.c"));
        }
    }
    // Each contains the previous one twice: small in the file, endless to traverse.
    let doubled = program(&[b")q\0", &repeated(b"h\0\x86q\0", 200)]);
    attempt.refuse("doubled tuples", &zip(&doubled));
    let doubled = [
        &b"}q\0"[..],
        &repeated(
            &[
                &b"0}q\x01("[..],
                &text("a"),
                b"h\0",
                &text("b"),
                b"h\0u0h\x01q\0",
            ]
            .concat(),
            200,
        ),
    ]
    .concat();
    attempt.refuse("doubled dicts", &zip(&program(&[&doubled])));
    let inside = [&b"}q\0"[..], &text("a"), b"h\0s"].concat();
    attempt.refuse("a dict in itself", &zip(&program(&[&inside])));
    let path = vec!["a"; 100_000].join(".");
    let read = attempt.load(
        "a dict in itself, by path",
        &zip(&program(&[&inside])),
        Some(&path),
    );
    assert!(read.is_err());
}
