//! Handwritten pickles.

/// A line of a pickle of protocol 2 or later, composed of its opcodes.
pub(crate) fn program(parts: &[&[u8]]) -> Vec<u8> {
    [b"\x80\x02", &parts.concat()[..], b"."].concat()
}

pub(crate) fn global(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

/// The same with the names on the stack, as in protocol 4.
pub(crate) fn stack_global(module: &str, name: &str) -> Vec<u8> {
    [&text(module)[..], &text(name), b"\x93"].concat()
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [b"X", &length.to_le_bytes()[..], text.as_bytes()].concat()
}

/// An integer of any size, as in `LONG1`.
pub(crate) fn int(number: i128) -> Vec<u8> {
    [b"\x8a\x10", &number.to_le_bytes()[..]].concat()
}

pub(crate) fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(", &items.concat()[..], b"t"].concat()
}

pub(crate) fn ints(numbers: &[i128]) -> Vec<u8> {
    tuple(&numbers.iter().map(|&n| int(n)).collect::<Vec<_>>())
}

/// `{key: value}`.
pub(crate) fn dict(key: &str, value: &[u8]) -> Vec<u8> {
    [b"}", &text(key)[..], value, b"s"].concat()
}

/// A storage of 32-bit numbers.
pub(crate) fn storage(key: &str, count: i128) -> Vec<u8> {
    storage_of("FloatStorage", key, count)
}

pub(crate) fn storage_of(class: &str, key: &str, count: i128) -> Vec<u8> {
    let id = [
        text("storage"),
        global("torch", class),
        text(key),
        text("cpu"),
        int(count),
    ];
    [tuple(&id), b"Q".to_vec()].concat()
}

/// A tensor in a storage.
pub(crate) fn tensor(storage: Vec<u8>, offset: i128, size: &[i128], stride: &[i128]) -> Vec<u8> {
    rebuild(&[storage, int(offset), ints(size), ints(stride)])
}

/// A tensor with arbitrary arguments.
pub(crate) fn rebuild(arguments: &[Vec<u8>]) -> Vec<u8> {
    let more = [b"\x89".to_vec(), b"}".to_vec()];
    let arguments = [arguments, &more].concat();
    [
        global("torch._utils", "_rebuild_tensor_v2"),
        tuple(&arguments),
        b"R".to_vec(),
    ]
    .concat()
}

/// A tensor with all arguments up to the metadata, which is given.
pub(crate) fn with_metadata(storage: Vec<u8>, metadata: &[u8]) -> Vec<u8> {
    let (no, hooks, metadata) = (b"\x89".to_vec(), b"}".to_vec(), metadata.to_vec());
    let arguments = [storage, int(0), ints(&[2]), ints(&[1]), no, hooks, metadata];
    [
        global("torch._utils", "_rebuild_tensor_v2"),
        tuple(&arguments),
        b"R".to_vec(),
    ]
    .concat()
}

/// `part` repeated.
pub(crate) fn repeated(part: &[u8], count: usize) -> Vec<u8> {
    part.repeat(count)
}
