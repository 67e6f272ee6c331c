//! Files with false metadata or false descriptions of tensors.

use super::*;

#[test]
fn crafted_metadata_is_refused() {
    let attempt = Attempt::new("metadata");
    let alone = |entries: &[Vec<u8>]| Parts::of(entries, &[], 0).file();
    let array = |kind: u32, count: u64, rest: &[u8]| {
        entry(
            "a",
            9,
            &[&kind.to_le_bytes(), &count.to_le_bytes()[..], rest].concat(),
        )
    };
    attempt.refuse(
        &alone(&[entry("a", 13, &[0; 8])]),
        "`a`: the type 13 of a value is unknown",
    );
    attempt.refuse(&alone(&[entry("a", 7, &[2])]), "a boolean is 2");
    attempt.refuse(
        &alone(&[entry("a", 8, &text(b"x\xff"))]),
        "is not UTF-8 from its byte 1 on",
    );
    attempt.refuse(
        &alone(&[entry("a", 0, &[1]), entry("a", 0, &[1])]),
        "the key of the metadata `a` occurs twice",
    );
    let key = [&text(b"\xc3"), &0_u32.to_le_bytes()[..], &[0; 8]].concat();
    attempt.refuse(&alone(&[key]), "the key `\u{fffd}` is not UTF-8");
    for count in [9, 1 << 20, 1 << 32, 1 << 62, u64::MAX] {
        attempt.refuse(
            &alone(&[array(0, count, &[0; 8])]),
            &format!("{count} elements in an array"),
        );
        attempt.refuse(
            &alone(&[array(8, count, &[0; 8])]),
            &format!("{count} elements in an array"),
        );
        attempt.refuse(
            &alone(&[array(9, count, &[0; 12])]),
            &format!("{count} elements in an array"),
        );
        attempt.refuse(
            &alone(&[entry("a", 8, &count.to_le_bytes())]),
            "the file ends early (truncated?)",
        );
    }
    for kind in [10, 11, 12] {
        attempt.refuse(
            &alone(&[array(kind, 2, &[0; 15])]),
            "the file ends early (truncated?)",
        );
    }
    attempt.refuse(&alone(&[array(13, 0, &[])]), "the type 13");
    attempt.refuse(&alone(&[array(7, 2, &[1, 3])]), "a boolean is 3");
    // Nested arrays, deeper than any stack.
    let one = [9_u32.to_le_bytes().to_vec(), 1_u64.to_le_bytes().to_vec()].concat();
    let deep = one.repeat(100_000);
    attempt.refuse(
        &alone(&[entry("a", 9, &deep)]),
        "arrays lie more than 8 deep in each other",
    );
    for (kind, value) in [
        (4, vec![0, 0, 0, 0]),
        (4, vec![24, 0, 0, 0]),
        (4, vec![255; 4]),
        (5, vec![32, 0, 0, 0]),
        (10, vec![32, 0, 0, 0, 0, 0, 0, 0]),
        (8, text(b"32")),
    ] {
        let file = alone(&[entry("general.alignment", kind, &value)]);
        attempt.refuse(&file, "and not a power of two of the type u32");
    }
    // An alignment as large as there are leaves no room for tensors.
    let huge = entry("general.alignment", 4, &(1_u32 << 31).to_le_bytes());
    let file = Parts::of(&[huge], &[tensor("x", &[2], 0, 0)], 8).file();
    attempt.refuse(
        &file,
        "`x` takes 8 bytes, starting 0 bytes after the header",
    );
    for (tensors, entries) in [
        (u64::MAX, 0),
        (0, u64::MAX),
        (1, 0),
        (0, 1),
        (1 << 60, 1 << 60),
    ] {
        let (header, elements) = (Vec::new(), 0);
        let parts = Parts {
            tensors,
            entries,
            header,
            elements,
        };
        attempt.refuse(&parts.file(), "(truncated?)");
    }
}

#[test]
fn crafted_tensors_are_refused() {
    let attempt = Attempt::new("tensors");
    let file = |tensors: &[Vec<u8>], elements| Parts::of(&[], tensors, elements).file();
    let one = |sizes: &[u64], kind, start| file(&[tensor("x", sizes, kind, start)], 64);
    attempt.refuse(
        &one(&[2; 5], 0, 0),
        "`x` has 5 dimensions, and not at most 4",
    );
    attempt.refuse(
        &one(&[16], 3, 0),
        "`x`: the type Q4_1 is not supported, but these are: F32, F16, Q4_0",
    );
    attempt.refuse(&one(&[16], 99, 0), "`x`: the type 99 is not supported");
    attempt.refuse(
        &one(&[16], 2, 0),
        "its rows of 16 elements are not whole blocks of 32, as Q4_0 has them",
    );
    attempt.refuse(&one(&[32, 2], 12, 0), "not whole blocks of 256");
    attempt.refuse(&one(&[], 2, 0), "its rows of 1 elements");
    attempt.refuse(
        &one(&[16], 0, 32),
        "`x` begins at 32 after the header, and not at 0",
    );
    attempt.refuse(
        &one(&[16], 0, 1),
        "`x` begins at 1 after the header, and not at 0",
    );
    attempt.refuse(
        &one(&[16], 0, u64::MAX),
        "`x` begins at 18446744073709551615",
    );
    attempt.refuse(&one(&[8], 0, 0), "bytes follow the last tensor");
    attempt.refuse(
        &one(&[17], 0, 0),
        "`x` takes 68 bytes, starting 0 bytes after the header",
    );
    for sizes in [
        vec![u64::MAX],
        vec![1 << 63, 2],
        vec![1 << 32, 1 << 32],
        vec![1 << 16; 4],
        vec![0, u64::MAX, u64::MAX],
        vec![u64::MAX / 4 + 1],
    ] {
        attempt.refuse(&one(&sizes, 0, 0), "are too large");
    }
    for sizes in [vec![1 << 40], vec![1 << 20, 1 << 20]] {
        attempt.refuse(&one(&sizes, 0, 0), "the file ends early (truncated?)");
        attempt.refuse(&one(&sizes, 14, 0), "the file ends early (truncated?)");
    }
    // Two in the same place, overlapping, with a gap between them, out of place.
    for (second, length) in [(0, 32), (16, 64), (64, 128), (33, 96)] {
        let both = [tensor("x", &[8], 0, 0), tensor("y", &[8], 0, second)];
        let why = format!("begins at {second} after the header, and not at 32");
        attempt.refuse(&file(&both, length), &why);
    }
    let twice = [tensor("x", &[8], 0, 0), tensor("x", &[8], 0, 32)];
    attempt.refuse(&file(&twice, 64), "the name of a tensor `x` occurs twice");
    let name = [&text(b"\xff")[..], &[0; 16]].concat();
    attempt.refuse(&file(&[name], 64), "the name `\u{fffd}` is not UTF-8");
    // Names that would control a terminal, or fill it.
    let long = "\u{1b}[2J".repeat(1000);
    let error = attempt
        .read(&file(&[tensor(&long, &[16], 3, 0)], 64))
        .unwrap_err()
        .to_string();
    assert!(error.len() < 1000 && !error.contains('\u{1b}'), "{error}");
}
