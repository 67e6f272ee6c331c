//! Objects that only Python can construct, next to tensors that are wanted: they are never constructed, and accessing them
//! is an error.

use super::Attempt;
use super::pickles::{HARMFUL, good, legacy, zip};
use super::programs::*;

/// `{"state": {"w": tensor}, "x": object}`, in either order.
fn beside(object: &[u8], first: bool) -> Vec<u8> {
    let state = [text("state"), dict("w", &good())].concat();
    let object = [&text("x"), object].concat();
    match first {
        true => program(&[b"}(", &object, &state, b"u"]),
        false => program(&[b"}(", &state, &object, b"u"]),
    }
}

/// The tensor loads although there is an object next to it; that object and the whole file do not.
fn ignored(attempt: &mut Attempt, what: &str, words: &str, object: &[u8]) {
    for first in [true, false] {
        let pickle = beside(object, first);
        for file in [zip(&pickle), legacy(&pickle, &["0"])] {
            let state = attempt.load(what, &file, Some("state"));
            let state = state.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(state.get("w").unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
            assert_eq!(state.len(), 1);
            for entry in ["x", "x.y", "x.__dict__", "x.0"] {
                let error = attempt.load(what, &file, Some(entry)).unwrap_err();
                let message = error.to_string();
                assert!(message.contains(words), "{what}, {entry}: {message}");
            }
            let message = attempt.refuse(what, &file);
            assert!(message.contains(words), "{what}: {message}");
            assert!(message.contains("`state` (1 tensor)"), "{what}: {message}");
            assert!(!message.contains("not a valid"), "{what}: {message}");
        }
    }
}

#[test]
fn nothing_beside_an_entry_is_executed() {
    let mut attempt = Attempt::new("beside");
    let trace = std::env::temp_dir().join(format!("beside-{}", std::process::id()));
    let command = text(&format!("touch {}", trace.display()));
    for (module, name) in HARMFUL {
        let words = format!("`{module}.{name}`");
        for call in [
            [&global(module, name)[..], &command, b"\x85R"].concat(),
            [&global(module, name)[..], &command, b"\x85\x81"].concat(),
            [&global(module, name)[..], &command, b"\x85}\x92"].concat(),
            [
                &stack_global(module, name)[..],
                &command,
                b"\x85",
                &dict("a", b"N"),
                b"\x92",
            ]
            .concat(),
            [&stack_global(module, name)[..], b")R}b"].concat(),
            global(module, name),
        ] {
            ignored(&mut attempt, &words, &words, &call);
        }
    }
    assert!(!trace.exists(), "a command was executed");
    assert!(attempt.refused >= 200);
}

#[test]
fn whatever_is_done_to_an_opaque_object_leaves_it_one() {
    let mut attempt = Attempt::new("opaque");
    let class = global("a.b", "C");
    let words = "`a.b.C`";
    for after in [
        &b")R"[..],
        b")\x81",
        b")}\x92",
        b")R)R)R",
        b"}b",
        b"Nb",
        b"})\x86b",
        b"Na",
        b"(NNe",
        b"NNs",
        b"(NNNNu",
        b"(NN\x90",
        b")R}bNa(NNe(NNu(N\x90",
        // It is remembered, and refers to itself.
        b")Rq\x07h\x07a}Nh\x07sb",
    ] {
        ignored(&mut attempt, "an object", words, &[&class, after].concat());
        // Tensors inside are never used, and may be anything.
        let held = [&class[..], b")R", &text("t"), &good(), b"s", after].concat();
        ignored(&mut attempt, "an object with tensors", words, &held);
    }
    // Passed to functions that do not accept it.
    for function in [
        global("torch._utils", "_rebuild_parameter"),
        global("torch._tensor", "_rebuild_from_type_v2"),
        global("torch", "Size"),
        global("collections", "OrderedDict"),
    ] {
        let call = [&function[..], &tuple(&[class.clone(), int(1)]), b"R"].concat();
        ignored(&mut attempt, "an argument", words, &call);
    }
    // A storage of an unknown class, and a module with its source.
    let parts = [
        text("storage"),
        class.clone(),
        text("9"),
        text("cpu"),
        int(2),
    ];
    let storage = [tuple(&parts), b"Q".to_vec()].concat();
    ignored(&mut attempt, "a storage", words, &storage);
    let parts = [
        text("module"),
        class.clone(),
        text("a.py"),
        text("class C: ..."),
    ];
    let module = [&tuple(&parts)[..], b"Q)\x81}b"].concat();
    ignored(&mut attempt, "a module", words, &module);
    // A tensor in an opaque object cannot supply elements, sizes, or a dtype.
    for value in [
        rebuild(&[class.clone(), int(0), ints(&[2]), ints(&[1])]),
        tensor(storage.clone(), 0, &[2], &[1]),
        rebuild(&[
            storage_of("FloatStorage", "0", 2),
            class.clone(),
            ints(&[2]),
            ints(&[1]),
        ]),
        rebuild(&[
            storage_of("FloatStorage", "0", 2),
            int(0),
            class.clone(),
            ints(&[1]),
        ]),
        with_metadata(storage_of("FloatStorage", "0", 2), &class),
    ] {
        let pickle = program(&[&dict("state", &dict("w", &value))]);
        let error = attempt
            .load("no tensor", &zip(&pickle), Some("state"))
            .unwrap_err();
        let message = error.to_string();
        assert!(message.contains("`w`"), "{message}");
    }
    // It cannot be a key.
    let keyed = [&b"}"[..], &class, &good(), b"s"].concat();
    let pickle = program(&[&dict("state", &keyed)]);
    let error = attempt
        .load("a key", &zip(&pickle), Some("state"))
        .unwrap_err();
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn only_the_objects_that_an_entry_needs_must_be_valid() {
    let mut attempt = Attempt::new("needed");
    // Extra state may be anything, in an entry as in the whole.
    let state = [
        &b"}("[..],
        &text("w"),
        &good(),
        &text("_extra_state"),
        &global("io", "BytesIO"),
        b")Ru",
    ];
    let pickle = program(&[&dict("state", &state.concat())]);
    let state = attempt
        .load("extra state", &zip(&pickle), Some("state"))
        .unwrap();
    assert_eq!(state.keys().collect::<Vec<_>>(), ["w"]);
    // Pickles other than that of the tensors contain only numbers and strings.
    let whole = legacy(&program(&[&dict("state", &dict("w", &good()))]), &["0"]);
    attempt.load("the truth", &whole, Some("state")).unwrap();
    let info = program(&[&dict("little_endian", b"\x88")]);
    let at = whole
        .windows(info.len())
        .position(|part| part == info)
        .unwrap();
    let bad = program(&[&dict(
        "little_endian",
        &[&global("os", "system")[..], b")R"].concat(),
    )]);
    let file = [&whole[..at], &bad, &whole[at + info.len()..]].concat();
    let error = attempt
        .load("the third pickle", &file, Some("state"))
        .unwrap_err();
    assert!(error.to_string().contains("`os.system`"), "{error}");
}

#[test]
fn many_opaque_objects_take_no_more_memory_than_the_file_allows() {
    let mut attempt = Attempt::new("many-opaque");
    const MANY: usize = 300_000;
    for (what, part) in [
        ("names", &b"ca\nb\n0"[..]),
        ("names by the stack", b"\x8c\x01a\x8c\x01b\x930"),
        ("calls", b"ca\nb\n)R0"),
        ("called again and again", b"h\0)Rq\x000"),
        ("filled", b"h\0(NNNNNNNNu0"),
        ("named arguments", b"h\0)}\x920"),
    ] {
        let many = [
            &b"ca\nb\nq\x000"[..],
            &repeated(part, MANY),
            &dict("state", &dict("w", &good())),
        ];
        let file = zip(&program(&[&many.concat()]));
        let _ = attempt.load(what, &file, Some("state"));
        attempt.refuse(what, &file);
        // Without an end.
        attempt.refuse(what, &zip(&many.concat()));
    }
    // A path that leads nowhere, of the maximum length.
    let file = zip(&beside(&global("a", "b"), true));
    let path = vec!["x"; 100_000].join(".");
    let message = attempt
        .load("a long path", &file, Some(&path))
        .unwrap_err()
        .to_string();
    assert!(message.contains("`a.b`"), "{message}");
}
