//! Pickles that would harm whoever executes them, exhaust the reader, or do not describe tensors.

mod lengths;
mod objects;

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
    // The oldest function, and extra state that is not a tensor.
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
fn false_parts_of_legacy_files_are_refused() {
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
