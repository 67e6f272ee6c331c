//! The bytes of a pickle, read from front to back.

/// A position in a pickle.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The name of the data, for errors about a premature end.
    whole: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], whole: &'static str) -> Self {
        let at = 0;
        Self { bytes, at, whole }
    }

    /// Another reader at the same position.
    pub(super) fn fork(&self) -> Self {
        Self { ..*self }
    }

    /// The number of bytes read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => Err(format!(
                "{} ends early (truncated?); download or save it again: \
                 at byte {} the pickle has {} bytes left and needs {count}",
                self.whole,
                self.at,
                self.bytes.len() - self.at
            )),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8, String> {
        self.array().map(u8::from_le_bytes)
    }

    /// An `N`-byte length, little-endian, unsigned.
    pub(super) fn length<const N: usize>(&mut self) -> Result<usize, String> {
        let bytes: [u8; N] = self.array()?;
        let number = bytes.iter().rev().try_fold(0_usize, |number, &byte| {
            number.checked_mul(256).map(|n| n | usize::from(byte))
        });
        number.ok_or_else(|| format!("a length before byte {} overflows", self.at))
    }

    /// Bytes after their `N`-byte length.
    pub(super) fn read_counted<const N: usize>(&mut self) -> Result<&'a [u8], String> {
        let length = self.length::<N>()?;
        self.take(length)
    }

    /// The text up to the end of the line.
    pub(super) fn line(&mut self) -> Result<&'a str, String> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&byte| byte == b'\n');
        let line = self.take(end.unwrap_or(rest.len().saturating_add(1)))?;
        self.at += 1;
        text(line)
    }
}

/// Bytes as text.
pub(super) fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|e| format!("a text of the pickle: {e}"))
}
