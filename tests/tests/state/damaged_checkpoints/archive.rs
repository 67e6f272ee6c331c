//! Zip archives, written with arbitrary false information.

/// An entry; `None` stands for the true value.
#[derive(Clone, Default)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) crc: Option<u32>,
    pub(crate) packed: Option<u32>,
    pub(crate) size: Option<u32>,
    pub(crate) offset: Option<u32>,
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) extra: Vec<u8>,
    /// Only listed in the directory.
    pub(crate) unwritten: bool,
}

impl Entry {
    pub(crate) fn new(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            data: data.as_ref().to_vec(),
            ..Self::default()
        }
    }
}

/// The fields that the local header and the directory share.
fn common(entry: &Entry, name: &[u8], extra: usize) -> Vec<u8> {
    let length = u32::try_from(entry.data.len()).unwrap();
    [
        &entry.flags.to_le_bytes()[..],
        &entry.method.to_le_bytes(),
        &[0; 4],
        &entry.crc.unwrap_or_else(|| crc(&entry.data)).to_le_bytes(),
        &entry.packed.unwrap_or(length).to_le_bytes(),
        &entry.size.unwrap_or(length).to_le_bytes(),
        &u16::try_from(name.len()).unwrap().to_le_bytes(),
        &u16::try_from(extra).unwrap().to_le_bytes(),
    ]
    .concat()
}

pub(crate) fn archive(entries: &[Entry]) -> Vec<u8> {
    let count = u16::try_from(entries.len()).unwrap();
    counted(entries, count)
}

/// An archive that claims to have `count` entries.
pub(crate) fn counted(entries: &[Entry], count: u16) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let at = u32::try_from(file.len()).unwrap();
        if !entry.unwritten {
            let name = entry.local_name.as_ref().unwrap_or(&entry.name);
            file.extend_from_slice(b"PK\x03\x04\x14\0");
            file.extend(common(entry, name, 0));
            file.extend_from_slice(name);
            file.extend_from_slice(&entry.data);
        }
        directory.extend_from_slice(b"PK\x01\x02\x14\0\x14\0");
        directory.extend(common(entry, &entry.name, entry.extra.len()));
        directory.extend_from_slice(&[0; 10]);
        directory.extend(entry.offset.unwrap_or(at).to_le_bytes());
        directory.extend_from_slice(&entry.name);
        directory.extend_from_slice(&entry.extra);
    }
    let start = u32::try_from(file.len()).unwrap().to_le_bytes();
    let length = u32::try_from(directory.len()).unwrap().to_le_bytes();
    let count = count.to_le_bytes();
    let end = [
        b"PK\x05\x06\0\0\0\0",
        &count[..],
        &count,
        &length,
        &start,
        b"\0\0",
    ];
    file.extend(directory);
    file.extend(end.concat());
    file
}

/// The checksum of zip archives, bit by bit.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

/// A deflate stream of `count` zero bytes, about a thousandth of that in size: one block of fixed codes, a zero and then
/// repetitions of 258 zeros.
pub(crate) fn deflated_zeros(count: usize) -> (Vec<u8>, usize) {
    let (mut bits, mut out) = ((0_u64, 0), Vec::new());
    let mut put = |value: u64, length: u32| {
        bits.0 |= value << bits.1;
        bits.1 += length;
        while bits.1 >= 8 {
            out.push((bits.0 & 0xff) as u8);
            bits = (bits.0 >> 8, bits.1 - 8);
        }
    };
    // The last block, fixed codes; the literal 0 is 00110000, most significant bit first.
    put(0b011, 3);
    put(0b0000_1100, 8);
    let repetitions = count / 258;
    for _ in 0..repetitions {
        // Length 258 is code 285, 11000101; distance 1 is code 0 of five bits.
        put(0b1010_0011, 8);
        put(0, 5);
    }
    put(0, 7);
    put(0, 8);
    (out, 1 + 258 * repetitions)
}
