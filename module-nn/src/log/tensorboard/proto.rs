//! Messages in Protocol Buffers encoding.

/// A message, to which fields are added by number.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

/// The encoding of a field's value.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Eight = 1,
    Bytes = 2,
    Four = 5,
}

impl Message {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn put_key(&mut self, field: u64, wire: Wire) {
        self.put_varint(field << 3 | wire as u64);
    }

    #[must_use]
    pub(super) fn varint(mut self, field: u64, value: u64) -> Self {
        self.put_key(field, Wire::Varint);
        self.put_varint(value);
        self
    }

    #[must_use]
    pub(super) fn double(mut self, field: u64, value: f64) -> Self {
        self.put_key(field, Wire::Eight);
        self.0.extend(value.to_le_bytes());
        self
    }

    #[must_use]
    pub(super) fn float(mut self, field: u64, value: f32) -> Self {
        self.put_key(field, Wire::Four);
        self.0.extend(value.to_le_bytes());
        self
    }

    #[must_use]
    pub(super) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.put_key(field, Wire::Bytes);
        self.put_varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    #[must_use]
    pub(super) fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    #[must_use]
    pub(super) fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    #[must_use]
    pub(super) fn doubles(self, field: u64, values: &[f64]) -> Self {
        let mut bytes = Vec::with_capacity(size_of_val(values));
        for value in values {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        self.bytes(field, &bytes)
    }
}
