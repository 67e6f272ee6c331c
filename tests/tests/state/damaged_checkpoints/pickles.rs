//! Pickles that would harm whoever executes them, exhaust the reader, or do not describe tensors.

use super::Attempt;
use super::archive::{Entry, archive};
use super::programs::*;

/// A zip checkpoint with this pickle and a storage `0` of two 32-bit numbers.
pub(crate) fn zip(pickle: &[u8]) -> Vec<u8> {
    archive(&[
        Entry::new("net/data.pkl", pickle),
        Entry::new("net/data/0", [0, 0, 128, 63, 0, 0, 0, 64]),
    ])
}

/// The same before PyTorch 1.6, with the list of keys as given.
pub(crate) fn legacy(pickle: &[u8], keys: &[&str]) -> Vec<u8> {
    let list = [b"]".to_vec(), tuple_items(keys)].concat();
    let mut file = [
        program(&[&int(0x1950_a86a_20f9_469c_fc6c)]),
        program(&[&int(1001)]),
        program(&[&dict("little_endian", b"\x88")]),
        pickle.to_vec(),
        program(&[&list]),
    ]
    .concat();
    for _ in keys {
        file.extend(2_u64.to_le_bytes());
        file.extend([0, 0, 128, 63, 0, 0, 0, 64]);
    }
    file
}

fn tuple_items(keys: &[&str]) -> Vec<u8> {
    let items: Vec<_> = keys.iter().map(|key| text(key)).collect();
    [b"(", &items.concat()[..], b"e"].concat()
}

/// Both files with the pickle of a state that contains only `value`.
pub(crate) fn refuse_value(attempt: &mut Attempt, what: &str, words: &str, value: &[u8]) {
    refuse_program(attempt, what, words, &program(&[&dict("w", value)]));
}

pub(crate) fn refuse_program(attempt: &mut Attempt, what: &str, words: &str, pickle: &[u8]) {
    for file in [zip(pickle), legacy(pickle, &[])] {
        let message = attempt.refuse(what, &file);
        assert!(message.contains(words), "{what}: {message}");
    }
}

pub(crate) fn good() -> Vec<u8> {
    tensor(storage("0", 2), 0, &[2], &[1])
}

#[test]
fn the_same_programs_without_harm_load() {
    let mut attempt = Attempt::new("harmless");
    let pickle = program(&[&dict("w", &good())]);
    for file in [zip(&pickle), legacy(&pickle, &["0"])] {
        let state = attempt.load("harmless", &file, None).unwrap();
        assert_eq!(state.get("w").unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
    }
    // A dict as written by Python 2, and a tensor under a name of bytes.
    let pair = tuple(&[b"U\x01w".to_vec(), good()]);
    let ordered = [
        global("collections", "OrderedDict"),
        b"](".to_vec(),
        pair,
        b"e\x85R".to_vec(),
    ];
    let state = attempt
        .load("Python 2", &zip(&program(&[&ordered.concat()])), None)
        .unwrap();
    assert_eq!(state.keys().collect::<Vec<_>>(), ["w"]);
    // The oldest function, and extra state that is no tensor.
    let old = [
        global("torch._utils", "_rebuild_tensor"),
        tuple(&[storage("0", 2), int(1), ints(&[]), ints(&[])]),
        b"R".to_vec(),
    ]
    .concat();
    let pickle = program(&[b"}(", &text("w"), &old, &text("_extra_state"), b"}", b"u"]);
    let state = attempt.load("old", &zip(&pickle), None).unwrap();
    assert_eq!(state.get("w").unwrap().item::<f32>().unwrap(), 2.0);
    assert_eq!(state.len(), 1);
}

/// Names of functions, most of which would do harm if called.
pub(crate) const HARMFUL: [(&str, &str); 65] = [
    ("os", "system"),
    ("posix", "system"),
    ("nt", "system"),
    ("os", "popen"),
    ("os", "execv"),
    ("builtins", "eval"),
    ("__builtin__", "eval"),
    ("builtins", "exec"),
    ("builtins", "compile"),
    ("builtins", "getattr"),
    ("builtins", "__import__"),
    ("builtins", "open"),
    ("builtins", "map"),
    ("builtins", "print"),
    ("builtins", "type"),
    ("builtins", "object"),
    ("builtins", "list"),
    ("subprocess", "Popen"),
    ("subprocess", "check_output"),
    ("pty", "spawn"),
    ("runpy", "run_path"),
    ("importlib", "import_module"),
    ("socket", "create_connection"),
    ("shutil", "rmtree"),
    ("webbrowser", "open"),
    ("ctypes", "CDLL"),
    ("pickle", "loads"),
    ("_pickle", "loads"),
    ("marshal", "loads"),
    ("types", "FunctionType"),
    ("types", "CodeType"),
    ("functools", "partial"),
    ("functools", "reduce"),
    ("operator", "attrgetter"),
    ("operator", "methodcaller"),
    ("copyreg", "_reconstructor"),
    ("copy_reg", "_reconstructor"),
    ("codecs", "decode"),
    ("_codecs", "decode"),
    ("collections", "namedtuple"),
    ("collections", "defaultdict"),
    ("torch", "load"),
    ("torch", "save"),
    ("torch", "compile"),
    ("torch.hub", "load"),
    ("torch.storage", "_load_from_bytes"),
    ("torch.jit", "load"),
    ("torch.nn.modules.linear", "Linear"),
    ("torch._utils", "_rebuild_sparse_tensor"),
    ("torch._utils", "_rebuild_qtensor"),
    ("torch._utils", "_rebuild_device_tensor_from_numpy"),
    ("torch.distributed.rpc", "rpc_sync"),
    ("torch.serialization", "load"),
    ("torch._utils", ""),
    ("torch", ""),
    ("", ""),
    ("", "system"),
    ("numpy", "load"),
    ("numpy", "fromfile"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.testing._private.utils", "runstring"),
    ("__main__", "Net"),
    ("os.path", "join"),
    ("torch._utils._rebuild_tensor_v2", "__globals__"),
    ("collections.OrderedDict", "__reduce__"),
];

#[test]
fn nothing_is_executed() {
    let mut attempt = Attempt::new("executed");
    let trace = std::env::temp_dir().join(format!("executed-{}", std::process::id()));
    let command = text(&format!("touch {}", trace.display()));
    for (module, name) in HARMFUL {
        let words = format!("`{module}.{name}`");
        let calls = [
            [&global(module, name)[..], &command, b"\x85R"].concat(),
            [&global(module, name)[..], &command, b"\x85\x81"].concat(),
            [&stack_global(module, name)[..], &command, b"\x85R"].concat(),
            [&stack_global(module, name)[..], b")}b"].concat(),
            global(module, name),
        ];
        for call in calls {
            refuse_value(&mut attempt, &words, &words, &call);
            // Before, after and instead of the tensors, and in unused places.
            refuse_program(&mut attempt, &words, &words, &program(&[&call]));
            refuse_program(
                &mut attempt,
                &words,
                &words,
                &program(&[&call, b"0", &dict("w", &good())]),
            );
        }
    }
    // The opcodes that call in other ways.
    let path = &command;
    for call in [
        [b"(", &path[..], b"ios\nsystem\n"].concat(),
        [b"(", &global("os", "system")[..], path, b"o"].concat(),
        [&global("os", "system")[..], path, b"\x85}\x92"].concat(),
        [&b"(cos\nsystem\n"[..], path, b"tR"].concat(),
    ] {
        refuse_value(&mut attempt, "another call", "", &call);
    }
    assert!(!trace.exists(), "a command was executed");
    assert!(attempt.refused >= 200);
}

#[test]
fn operations_that_no_checkpoint_needs_are_refused() {
    let mut attempt = Attempt::new("operations");
    for code in 0..=u8::MAX {
        // Without arguments few opcodes can succeed; none may do worse than fail.
        for before in [
            &b""[..],
            b"(",
            b"N",
            b"]",
            b"}",
            b"((",
            b")",
            b"]}N",
            b"}NN",
        ] {
            for after in [
                &b""[..],
                b"\0",
                b"\xff\xff\xff\xff\xff\xff\xff\xff",
                b"a\nb\n",
                b"0\n",
            ] {
                let pickle = [b"\x80\x02", before, &[code], after, b"."].concat();
                let _ = attempt.load(&format!("operation {code:#x}"), &zip(&pickle), None);
            }
        }
    }
    assert!(attempt.refused >= 200);
    for (what, code) in [
        ("of protocol 0", &b"I1\n"[..]),
        ("of protocol 0", b"L1L\n"),
        ("of protocol 0", b"F1.0\n"),
        ("of protocol 0", b"S'a'\n"),
        ("of protocol 0", b"Va\n"),
        ("of protocol 0", b"p0\n"),
        ("of protocol 0", b"g0\n"),
        ("outside, by name", b"P0\n"),
        ("extension", b"\x82\x01"),
        ("extension", b"\x83\x01\0"),
        ("extension", b"\x84\x01\0\0\0"),
        ("out of band", b"\x97"),
        ("read only", b"N\x98"),
        ("nothing", b"\0"),
    ] {
        refuse_value(&mut attempt, what, "is none that checkpoints need", code);
    }
    for protocol in [0, 1, 6, 255] {
        let pickle = [&[0x80, protocol][..], b"}."].concat();
        attempt.refuse("protocol", &zip(&pickle));
        attempt.refuse("protocol", &legacy(&pickle, &[]));
    }
}

#[test]
fn calls_of_what_is_allowed_with_wrong_arguments_are_refused() {
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
    refuse_value(&mut attempt, "chain", "no function", &chain);
    let chain = [&global("torch", "device")[..], &repeated(b")R", 100_000)].concat();
    refuse_value(&mut attempt, "chain", "no function", &chain);
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

#[test]
fn lengths_that_lie_are_refused() {
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

#[test]
fn parts_of_legacy_files_that_lie_are_refused() {
    let mut attempt = Attempt::new("legacy");
    let pickle = program(&[&dict("w", &good())]);
    let whole = legacy(&pickle, &["0"]);
    attempt.load("the truth", &whole, None).unwrap();
    for keys in [&[][..], &["1"], &["0", "0"], &["0", "1"], &["", "0"]] {
        attempt.refuse("keys", &legacy(&pickle, keys));
    }
    attempt.refuse("more", &[&whole[..], b"\0"].concat());
    let start = whole.len() - 16;
    for count in [0, 1, 3, 1 << 32, 1 << 62, u64::MAX] {
        let mut lie = whole.clone();
        lie[start..start + 8].copy_from_slice(&count.to_le_bytes());
        attempt.refuse("count", &lie);
    }
    let magic = program(&[&int(0x1950_a86a_20f9_469c_fc6c)]);
    for wrong in [
        program(&[&int(1)]),
        program(&[b"N"]),
        magic.clone(),
        [magic.clone(), program(&[&int(1002)])].concat(),
        [magic.clone(), program(&[b"N"])].concat(),
        [
            magic,
            program(&[&int(1001)]),
            b"\x80\x02cos\nsystem\n.".to_vec(),
        ]
        .concat(),
    ] {
        attempt.refuse("first pickles", &wrong);
    }
    let message = attempt.refuse("a plain pickle", &program(&[&dict("w", b"N")]));
    assert!(message.contains("`torch.save` did not write"), "{message}");
}
