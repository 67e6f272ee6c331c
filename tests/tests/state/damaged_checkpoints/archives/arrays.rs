//! Arrays of NumPy with false headers.

use super::*;

/// An entry that holds a `.npy` file.
fn array(name: &str, header: &str, elements: &[u8]) -> Entry {
    Entry::new(name, npy(1, header, elements))
}

fn npy(version: u8, header: &str, elements: &[u8]) -> Vec<u8> {
    let length = u32::try_from(header.len()).unwrap().to_le_bytes();
    let length = if version == 1 { &length[..2] } else { &length };
    [
        &b"\x93NUMPY"[..],
        &[version, 0],
        length,
        header.as_bytes(),
        elements,
    ]
    .concat()
}

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

#[test]
fn lies_about_arrays_are_refused() {
    let mut attempt = Attempt::new("arrays");
    let plain = header("<f4", "(2,)");
    for version in 1..=3 {
        let file = archive(&[Entry::new("x.npy", npy(version, &plain, &[0; 8]))]);
        let state = attempt.load("the truth", &file, None).unwrap();
        assert_eq!(state.get("x").unwrap().shape()[..], [2]);
    }
    let mut refuse = |what: &str, entries: &[Entry]| {
        let message = attempt.refuse(what, &archive(entries));
        assert!(message.contains("npz"), "{what}: {message}");
    };
    for version in [0, 4, 255] {
        refuse(
            "version",
            &[Entry::new("x.npy", npy(version, &plain, &[0; 8]))],
        );
    }
    for shape in [
        "(3,)",
        "(1,)",
        "()",
        "(-2,)",
        "(2)",
        "2",
        "(2",
        "(2,,)",
        "(,)",
        "(2.0,)",
        "(1e9,)",
        "(0x2,)",
        "(18446744073709551615,)",
        "(18446744073709551616,)",
        "(9223372036854775807, 2)",
        "(4294967296, 4294967296)",
        "(9223372036854775807, 9223372036854775807, 0)",
        "[2]",
        "'2'",
        "(2, __import__('os'))",
        "None",
    ] {
        refuse(shape, &[array("x.npy", &header("<f4", shape), &[0; 8])]);
    }
    let deep = format!("({})", "1,".repeat(5000));
    refuse(
        "dimensions",
        &[array("x.npy", &header("<f4", &deep), &[0; 4])],
    );
    let nested = format!("{}{}", "(".repeat(30_000), ")".repeat(30_000));
    refuse(
        "nested",
        &[array("x.npy", &header("<f4", &nested), &[0; 4])],
    );
    for descr in [
        "|O", "<c8", "<i2", "<u8", "<f16", "|S4", "<U1", "<M8[s]", "|V2", "f4", "", "<", "?f4",
        "|f4", "é4", "<f4<f4",
    ] {
        refuse(descr, &[array("x.npy", &header(descr, "(2,)"), &[0; 8])]);
    }
    for text in [
        "",
        "{}",
        "{",
        "[]",
        "{'descr': '<f4'}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr' '<f4'}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f\\x34', 'fortran_order': False, 'shape': (2,)}",
        "{'descr: '<f4', 'fortran_order': False, 'shape': (2,)}",
        "__import__('os').system('true')",
    ] {
        refuse(text, &[array("x.npy", text, &[0; 8])]);
    }
    refuse("no magic", &[Entry::new("x.npy", b"NUMPY")]);
    refuse(
        "no header",
        &[Entry::new("x.npy", b"\x93NUMPY\x01\0\xff\xff")],
    );
    refuse(
        "a long header",
        &[Entry::new("x.npy", b"\x93NUMPY\x02\0\xff\xff\xff\xff")],
    );
    refuse(
        "bytes",
        &[Entry::new("x.npy", b"\x93NUMPY\x01\0\x02\0\xff\xff")],
    );
    refuse(
        "no array",
        &[array("x.npy", &plain, &[0; 8]), Entry::new("readme", "")],
    );
    refuse(
        "twice",
        &[
            array("x.npy", &plain, &[0; 8]),
            array("x.npy", &plain, &[0; 8]),
        ],
    );
    refuse(
        "path",
        &[
            array("x.npy", &plain, &[0; 8]),
            array("../y.npy", &plain, &[0; 8]),
        ],
    );
    let mut wrong = array("x.npy", &plain, &[0; 8]);
    wrong.crc = Some(1);
    refuse("checksum", &[wrong]);
}
