use super::RngError;
use super::mt19937::WORDS;

/// The length of PyTorch's `torch.get_rng_state()` in bytes.
pub const STATE_BYTES: usize = 5056;

/// The state of a [`CpuGenerator`](super::CpuGenerator), with the meaning PyTorch's fields have.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratorState {
    /// The seed given last.
    pub seed: u64,
    /// One more than the number of words left before the block of words is renewed.
    pub left: i32,
    /// The index of the next word in the block.
    pub next: u32,
    /// The block of words, before tempering.
    pub words: [u32; WORDS],
    /// The second normal of the pair last drawn one at a time, if it has not been given out.
    pub spare_normal: Option<f64>,
    /// The same in single precision; PyTorch keeps a field for it but its CPU code never fills it.
    pub spare_normal_f32: Option<f32>,
}

impl GeneratorState {
    /// Writes the state as `torch.get_rng_state()` does on 64-bit little-endian platforms.
    ///
    /// | bytes | field |
    /// |---|---|
    /// | 0..8 | seed |
    /// | 8..12, 12..16 | `left`, whether seeded (1) |
    /// | 16..24 | `next` |
    /// | 24..5016 | the words, eight bytes each |
    /// | 5016..5040 | three doubles: unused, spare normal, unused |
    /// | 5040..5048 | whether there is a spare normal, padding |
    /// | 5048..5056 | the spare normal in single precision, whether there is one, padding |
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(STATE_BYTES);
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend(self.left.to_le_bytes());
        bytes.extend(1_i32.to_le_bytes());
        bytes.extend(u64::from(self.next).to_le_bytes());
        for &word in &self.words {
            bytes.extend(u64::from(word).to_le_bytes());
        }
        bytes.extend(0.0_f64.to_le_bytes());
        bytes.extend(self.spare_normal.unwrap_or(0.0).to_le_bytes());
        bytes.extend(0.0_f64.to_le_bytes());
        bytes.extend(u64::from(self.spare_normal.is_some()).to_le_bytes());
        bytes.extend(self.spare_normal_f32.unwrap_or(0.0).to_le_bytes());
        bytes.extend(u32::from(self.spare_normal_f32.is_some()).to_le_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) or `torch.get_rng_state()` wrote.
    ///
    /// # Errors
    ///
    /// [`RngError::StateLength`] for a length other than [`STATE_BYTES`], [`RngError::StatePosition`]
    /// for the state of an engine that was never seeded.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RngError> {
        let length = RngError::StateLength {
            expected: STATE_BYTES,
            found: bytes.len(),
        };
        if bytes.len() != STATE_BYTES {
            return Err(length);
        }
        let mut reader = Reader { rest: bytes };
        Self::read(&mut reader).ok_or(length)?
    }

    fn read(reader: &mut Reader<'_>) -> Option<Result<Self, RngError>> {
        let seed = u64::from_le_bytes(reader.take()?);
        let left = i32::from_le_bytes(reader.take()?);
        let seeded = i32::from_le_bytes(reader.take()?);
        // PyTorch keeps the lower half of these eight-byte fields and ignores the rest.
        let next = u64::from_le_bytes(reader.take()?) as u32;
        let mut words = [0; WORDS];
        for word in &mut words {
            *word = u64::from_le_bytes(reader.take()?) as u32;
        }
        let _unused: [u8; 8] = reader.take()?;
        let spare = f64::from_le_bytes(reader.take()?);
        let _unused: [u8; 8] = reader.take()?;
        let has_spare = i32::from_le_bytes(reader.take()?) != 0;
        let _padding: [u8; 4] = reader.take()?;
        let spare_f32 = f32::from_le_bytes(reader.take()?);
        let [has_spare_f32] = reader.take()?;
        if seeded == 0 {
            return Some(Err(RngError::StatePosition { left, next }));
        }
        Some(Ok(Self {
            seed,
            left,
            next,
            words,
            spare_normal: has_spare.then_some(spare),
            spare_normal_f32: (has_spare_f32 != 0).then_some(spare_f32),
        }))
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.rest.split_first_chunk()?;
        self.rest = tail;
        Some(*head)
    }
}
