//! Archives with false information.

mod arrays;

use super::Attempt;
use super::archive::{Entry, archive, counted, crc, deflated_zeros};
use super::programs::{dict, program, storage, tensor};

/// The entries of a checkpoint `{"w": tensor of two numbers}`.
fn entries() -> Vec<Entry> {
    let pickle = program(&[&dict("w", &tensor(storage("0", 2), 0, &[2], &[1]))]);
    vec![
        Entry::new("net/data.pkl", pickle),
        Entry::new("net/byteorder", "little"),
        Entry::new("net/data/0", [0, 0, 128, 63, 0, 0, 0, 64]),
        Entry::new("net/version", "3\n"),
    ]
}

const DATA: usize = 2;

/// The checkpoint with one entry changed.
fn changed(place: usize, change: impl FnOnce(&mut Entry)) -> Vec<u8> {
    let mut entries = entries();
    change(&mut entries[place]);
    archive(&entries)
}

fn with(more: Entry) -> Vec<u8> {
    archive(&[&entries()[..], &[more]].concat())
}

#[test]
fn lies_about_entries_of_checkpoints_are_refused() {
    let mut attempt = Attempt::new("archives");
    let whole = attempt
        .load("the truth", &archive(&entries()), None)
        .unwrap();
    let values = whole.get("w").unwrap().to_vec::<f32>().unwrap();
    assert_eq!(values, [1.0, 2.0]);
    // PyTorch can omit checksums.
    attempt
        .load(
            "another checksum",
            &changed(DATA, |e| e.crc = Some(0)),
            None,
        )
        .unwrap();

    let mut refuse = |what: &str, words: &str, bytes: Vec<u8>| {
        let message = attempt.refuse(what, &bytes);
        assert!(message.contains(words), "{what}: {message}");
    };
    refuse("deflated", "is compressed", changed(DATA, |e| e.method = 8));
    refuse(
        "deflated pickle",
        "is compressed",
        changed(0, |e| e.method = 8),
    );
    refuse(
        "unknown method",
        "is not supported",
        changed(DATA, |e| e.method = 99),
    );
    refuse(
        "bzip2",
        "is not supported",
        changed(DATA, |e| e.method = 12),
    );
    refuse("encrypted", "encrypted", changed(DATA, |e| e.flags = 1));
    refuse("strongly encrypted", "", changed(DATA, |e| e.flags = 0x41));
    refuse(
        "longer than stored",
        "hold 9",
        changed(DATA, |e| e.size = Some(9)),
    );
    refuse(
        "past the end",
        "reach past",
        changed(DATA, |e| {
            (e.packed, e.size) = (Some(u32::MAX - 1), Some(u32::MAX - 1));
        }),
    );
    refuse(
        "into the next entry",
        "overlap",
        changed(DATA, |e| {
            (e.packed, e.size) = (Some(20), Some(20));
        }),
    );
    refuse(
        "shorter",
        "4 bytes instead of 8",
        changed(DATA, |e| {
            (e.packed, e.size) = (Some(4), Some(4));
        }),
    );
    refuse(
        "header elsewhere",
        "differ",
        changed(DATA, |e| e.offset = Some(1)),
    );
    refuse(
        "header past the end",
        "differ",
        changed(DATA, |e| e.offset = Some(1 << 30)),
    );
    refuse(
        "another name before the data",
        "differ",
        changed(DATA, |e| {
            e.local_name = Some(b"net/data/1".to_vec());
        }),
    );
    refuse(
        "a longer name before the data",
        "differ",
        changed(DATA, |e| {
            e.local_name = Some(b"net/data/0/".to_vec());
        }),
    );
    refuse("twice", "", with(Entry::new("net/data/0", [0; 8])));
    refuse(
        "two pickles",
        "both",
        with(Entry::new("other/data.pkl", "")),
    );
    refuse(
        "a program",
        "TorchScript",
        with(Entry::new("net/constants.pkl", "")),
    );
    for name in [
        "../net/data/1",
        "/net/data/1",
        "net/../../data",
        "net\\data",
        "net//data",
        "net/./data",
        "net/data\0",
        "",
        "..",
        "net/",
    ] {
        refuse(name, "the path", with(Entry::new(name, "")));
    }
    refuse("no pickle", "no entry `data.pkl`", archive(&entries()[1..]));
    refuse(
        "a pickle at the top",
        "no entry `data.pkl`",
        changed(0, |e| {
            e.name = b"data.pkl".to_vec();
        }),
    );
    refuse(
        "no storage",
        "lacks its storage",
        archive(&entries()[..DATA]),
    );
    for version in ["", "0", "11", "99999999999999999999", "-1", "three"] {
        refuse(version, "version", changed(3, |e| e.data = version.into()));
    }
    refuse(
        "byte order",
        "middle",
        changed(1, |e| e.data = "middle".into()),
    );
    refuse(
        "more after the pickle",
        "follow",
        changed(0, |e| e.data.push(b'.')),
    );
    refuse("more entries than there are", "", counted(&entries(), 200));
    refuse(
        "zip64 without its record",
        "",
        counted(&entries(), u16::MAX),
    );
    // A zip64 field with its own sizes and offset.
    let huge = |value: u64| {
        let fields = [1_u16.to_le_bytes(), 24_u16.to_le_bytes()].concat();
        [fields, value.to_le_bytes().repeat(3)].concat()
    };
    for value in [u64::MAX, u64::MAX - 8, 1 << 63, 1 << 40] {
        refuse(
            "zip64 sizes",
            "",
            changed(DATA, |e| {
                e.extra = huge(value);
                (e.packed, e.size, e.offset) = (Some(u32::MAX), Some(u32::MAX), Some(u32::MAX));
            }),
        );
    }
    // Other readers also see fewer entries than there are.
    attempt
        .load("fewer entries", &counted(&entries(), 3), None)
        .unwrap();
}

#[test]
fn archives_that_are_not_checkpoints_are_named() {
    let mut attempt = Attempt::new("foreign");
    for (names, words) in [
        (
            &[
                "a/archive_format",
                "a/models/model.json",
                "a/data/weights/weight_0",
            ][..],
            "torch.export.load(path).state_dict",
        ),
        (
            &[
                "serialized_exported_program.json",
                "serialized_state_dict.pt",
            ],
            "torch.export.load(path).state_dict",
        ),
        (
            &["a/data.pkl", "a/constants.pkl"],
            "torch.jit.load(path).state_dict()",
        ),
        (
            &["model.safetensors", "README.md", "a", "b"],
            "but `model.safetensors`, `README.md`, `a` and 1 more: `torch.save` did not write it",
        ),
    ] {
        let entries: Vec<_> = names.iter().map(|name| Entry::new(name, "pt2")).collect();
        let message = attempt.refuse(words, &archive(&entries));
        assert!(message.contains(words), "{message}");
        assert!(!message.contains("not a valid"), "{message}");
    }
}

#[test]
fn many_entries_over_the_same_bytes_are_refused() {
    let mut attempt = Attempt::new("overlap");
    let mut many = entries();
    for i in 0..5000 {
        let mut entry = Entry::new(format!("net/data/{}", i + 1), []);
        entry.offset = Some(0);
        entry.unwritten = true;
        (entry.packed, entry.size) = (Some(1000), Some(1000));
        many.push(entry);
    }
    attempt.refuse("one header for all", &archive(&many));
    let many: Vec<_> = (0..60_000)
        .map(|i| Entry::new(format!("n/{i}"), []))
        .collect();
    attempt.refuse("nothing but entries", &archive(&many));
    let message = attempt.refuse("names", &archive(&[Entry::new(vec![b'n'; 65_000], [])]));
    assert!(message.contains("no entry"), "{message}");
}

/// A compressed entry that claims to inflate to `size` bytes.
fn deflated(stream: Vec<u8>, size: usize) -> Entry {
    let mut entry = Entry::new("x.npy", stream);
    entry.method = 8;
    entry.size = Some(u32::try_from(size).unwrap());
    entry
}

#[test]
fn bombs_do_not_go_off() {
    let mut attempt = Attempt::new("bombs");
    // Zeros are not an array, but they must not be inflated to find that out.
    for size in [1 << 20, 1 << 26, 1 << 30] {
        let (stream, size) = deflated_zeros(size);
        let message = attempt.refuse("zeros", &archive(&[deflated(stream.clone(), size)]));
        assert!(message.contains("inflate"), "{message}");
        // It claims less, and less is allocated.
        let lie = archive(&[deflated(stream, 1000)]);
        let message = attempt.refuse("more zeros than said", &lie);
        assert!(message.contains("compressed bytes"), "{message}");
    }
    let (stream, size) = deflated_zeros(10_000);
    let cut = deflated(stream[..stream.len() / 2].to_vec(), size);
    attempt.refuse("cut", &archive(&[cut]));
    let short = deflated(stream.clone(), size + 1);
    attempt.refuse("more than there is", &archive(&[short]));
    let mut zeros = deflated(stream, size);
    zeros.crc = Some(crc(&vec![0; size]));
    let message = attempt.refuse("a true stream of zeros", &archive(&[zeros.clone()]));
    assert!(message.contains("not a `.npy` file"), "{message}");
    zeros.size = Some(u32::MAX - 1);
    attempt.refuse("four gigabytes", &archive(&[zeros.clone()]));
    // Each alone is small enough.
    let many: Vec<_> = (0..50)
        .map(|i| {
            let mut entry = zeros.clone();
            (entry.name, entry.size) = (format!("{i}.npy").into_bytes(), Some(200_000));
            entry
        })
        .collect();
    let message = attempt.refuse("many", &archive(&many));
    assert!(message.contains("inflate"), "{message}");
    for stream in [
        &b""[..],
        b"\x07",
        b"\xff\xff\xff",
        b"\x01\x05\0\xfa\xff12345",
    ] {
        attempt.refuse(
            "a broken stream",
            &archive(&[deflated(stream.to_vec(), 128)]),
        );
    }
}
