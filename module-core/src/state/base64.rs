//! Bytes as text, for human-readable formats: RFC 4648 with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * i)) as usize % 64];
            text.push(if i <= chunk.len() { digit.into() } else { '=' });
        }
    }
    text
}

/// `None` for input that [`encode`] does not produce.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let (digits, rest) = text.as_bytes().as_chunks::<4>();
    let mut bytes = Vec::with_capacity(digits.len() * 3);
    for (i, chunk) in digits.iter().enumerate() {
        let padding = chunk
            .iter()
            .rev()
            .take_while(|digit| **digit == b'=')
            .count();
        if padding > 2 || (padding > 0 && i + 1 < digits.len()) {
            return None;
        }
        let mut bits = 0;
        for digit in &chunk[..4 - padding] {
            bits = bits << 6 | value(*digit)?;
        }
        bits <<= 6 * padding;
        let [_, decoded @ ..] = bits.to_be_bytes();
        let (decoded, cut) = decoded.split_at(3 - padding);
        if cut.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(decoded);
    }
    rest.is_empty().then_some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    Some(
        match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        }
        .into(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{decode, encode};

    #[test]
    fn text_is_as_the_standard_has_it() {
        let known = [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
        ];
        for (length, text) in known.iter().enumerate() {
            assert_eq!(encode(&b"foobar"[..length]), *text);
            assert_eq!(decode(text).unwrap(), &b"foobar"[..length]);
        }
        let every: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&every)).unwrap(), every);
        for wrong in [
            "Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zh==", "Zm9=", "Zm!v",
        ] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
