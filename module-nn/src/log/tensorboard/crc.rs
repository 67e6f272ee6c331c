//! 32-bit cyclic redundancy checks: that of PNG, and Castagnoli's, of TFRecord.

/// For each byte, the remainder of its division by a polynomial whose lowest bit is the coefficient of the highest power.
const fn table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = match rest & 1 {
                1 => rest >> 1 ^ polynomial,
                _ => rest >> 1,
            };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
}

static CRC32: [u32; 256] = table(0xedb8_8320);
static CRC32C: [u32; 256] = table(0x82f6_3b78);

fn crc<'b>(table: &[u32; 256], bytes: impl IntoIterator<Item = &'b u8>) -> u32 {
    let step = |crc: u32, byte: &u8| crc >> 8 ^ table[usize::from(crc as u8 ^ byte)];
    !bytes.into_iter().fold(!0, step)
}

pub(super) fn crc32<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u32 {
    crc(&CRC32, bytes)
}

pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    crc(&CRC32C, bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn checks_are_those_of_the_catalog() {
        // The check values of CRC-32/ISO-HDLC and CRC-32/ISCSI.
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::crc32c(b"123456789"), 0xe306_9283);
    }
}
