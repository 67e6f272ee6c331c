//! The parts of packed elements in one piece of memory, each starting at a word.

use std::borrow::Cow;

/// The size of a word, in which kernels read memory.
const WORD: usize = 4;

/// Parts of packed elements, one after another.
#[derive(Default)]
pub(super) struct Parts<'a> {
    bytes: Cow<'a, [u8]>,
    starts: Vec<usize>,
    /// The parts that have been read.
    read: usize,
}

impl<'a> Parts<'a> {
    /// A single part.
    pub(super) fn one(bytes: &'a [u8]) -> Self {
        let (bytes, starts, read) = (bytes.into(), vec![0], 0);
        Self {
            bytes,
            starts,
            read,
        }
    }

    /// Parts that start at these words.
    pub(super) fn of(bytes: Vec<u8>, starts: &[u32]) -> Self {
        let starts = starts.iter().map(|&start| WORD * start as usize).collect();
        let (bytes, read) = (bytes.into(), 0);
        Self {
            bytes,
            starts,
            read,
        }
    }

    /// Appends a part.
    pub(super) fn push(&mut self, bytes: impl IntoIterator<Item = u8>) {
        let all = self.bytes.to_mut();
        all.resize(all.len().next_multiple_of(WORD), 0);
        self.starts.push(all.len());
        all.extend(bytes);
    }

    /// Appends a part of numbers.
    pub(super) fn push_numbers(&mut self, numbers: &[f32]) {
        self.push(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }

    /// All parts.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The word at which each part starts; `None` if kernels cannot count the bytes.
    pub(super) fn starts(&self) -> Option<Vec<u32>> {
        u32::try_from(self.bytes.len()).ok()?;
        let starts = self.starts.iter().map(|start| (start / WORD) as u32);
        Some(starts.collect())
    }

    /// The next part, of this many bytes.
    pub(super) fn take(&mut self, count: usize) -> &[u8] {
        let start = self.starts.get(self.read).copied().unwrap_or(usize::MAX);
        self.read += 1;
        let part = self.bytes.get(start..).and_then(|rest| rest.get(..count));
        part.unwrap_or_default()
    }

    /// The next part, of this many numbers.
    pub(super) fn take_numbers(&mut self, count: usize) -> Vec<f32> {
        let words = self.take(WORD * count).as_chunks::<WORD>().0;
        words.iter().copied().map(f32::from_le_bytes).collect()
    }
}
