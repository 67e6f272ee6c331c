//! Pickles: the input is a legacy file, the pickle of a zip archive, and the pickle of a legacy file.
#![no_main]

#[path = "../common.rs"]
mod common;

/// The pickles before that of the tensors, and after it the list of the only storage, `0`.
const START: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";
const END: &[u8] = b"\x80\x02]X\x01\0\0\00a.";

/// Eight bytes of elements.
const ELEMENTS: &[u8] = b"\0\0\x80?\0\0\0@";

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    common::read("file.pt", input.to_vec(), None);
    let count = 2_u64.to_le_bytes();
    let legacy = [START, input, END, &count, ELEMENTS].concat();
    common::read("file.pt", legacy.clone(), None);
    common::read("file.pt", legacy, Some("a.b"));
    let zip = archive(&[(b"n/data.pkl", input), (b"n/data/0", ELEMENTS)]);
    common::read("file.pt", zip.clone(), None);
    // Where objects other than tensors may be opaque.
    common::read("file.pt", zip, Some("state"));
});

/// A zip archive of stored entries.
fn archive(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let size = (data.len() as u32).to_le_bytes();
        let name_size = (name.len() as u16).to_le_bytes();
        let common = [&[0; 12], &size[..], &size, &name_size, &[0; 2]].concat();
        let offset = (file.len() as u32).to_le_bytes();
        directory.extend([b"PK\x01\x02\x14\0\x14\0", &common[..], &[0; 10], &offset, name].concat());
        file.extend([b"PK\x03\x04\x14\0", &common[..], name, data].concat());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let size = (directory.len() as u32).to_le_bytes();
    let start = (file.len() as u32).to_le_bytes();
    let end = [b"PK\x05\x06\0\0\0\0", &count[..], &count, &size, &start, &[0; 2]].concat();
    [file, directory, end].concat()
}
