use crate::simd::{Loop, run_at_best_level};
use crate::zip::zip_mut;

/// The number of 32-bit words in the engine's state.
pub(super) const WORDS: usize = 624;
const SHIFT: usize = 397;
const MATRIX: u32 = 0x9908_b0df;
const UPPER: u32 = 0x8000_0000;
const LOWER: u32 = 0x7fff_ffff;

/// The 32-bit Mersenne Twister of Matsumoto and Nishimura (1998), with the seeding of 2002.
///
/// The position is kept as PyTorch keeps it, in two numbers that agree in every state the engine
/// reaches by itself but need not in one that was restored: `next` is the index of the word to give
/// out, `remaining` says how many are given out before the block is renewed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Mt19937 {
    words: [u32; WORDS],
    remaining: usize,
    next: usize,
}

impl Mt19937 {
    /// Seeds with the lower half of `seed`; PyTorch ignores the upper half too.
    pub(super) fn new(seed: u64) -> Self {
        let mut words = [0; WORDS];
        let mut word = seed as u32;
        for (j, slot) in words.iter_mut().enumerate() {
            if j > 0 {
                word = (word ^ (word >> 30))
                    .wrapping_mul(1_812_433_253)
                    .wrapping_add(j as u32);
            }
            *slot = word;
        }
        Self {
            words,
            remaining: 0,
            next: 0,
        }
    }

    /// Restores a position; `None` if it would read past the block.
    pub(super) fn restore(words: [u32; WORDS], remaining: usize, next: usize) -> Option<Self> {
        let end = next.checked_add(remaining)?;
        (end <= WORDS).then_some(Self {
            words,
            remaining,
            next,
        })
    }

    pub(super) fn words(&self) -> &[u32; WORDS] {
        &self.words
    }

    pub(super) fn remaining(&self) -> usize {
        self.remaining
    }

    pub(super) fn next(&self) -> usize {
        self.next
    }

    /// The next word.
    pub(super) fn next_u32(&mut self) -> u32 {
        let mut word = [0];
        self.fill(&mut word);
        word[0]
    }

    /// The next two words, the first one as the upper half.
    pub(super) fn next_u64(&mut self) -> u64 {
        let mut words = [0; 2];
        self.fill(&mut words);
        join(words)
    }

    /// Fills `out` with the next words, a block at a time so that the loops vectorize.
    pub(super) fn fill(&mut self, mut out: &mut [u32]) {
        while !out.is_empty() {
            if self.remaining == 0 {
                self.renew();
            }
            let count = self.remaining.min(out.len());
            let (head, tail) = out.split_at_mut(count);
            // `restore` and `renew` keep `next + remaining` within the block.
            let source = &self.words[self.next..self.next + count];
            let work = Temper { source, out: head };
            if count < FEW {
                work.run();
            } else {
                run_at_best_level(work);
            }
            self.next += count;
            self.remaining -= count;
            out = tail;
        }
    }

    /// Goes on by `count` words, which nobody looks at.
    pub(super) fn skip(&mut self, mut count: usize) {
        while count > self.remaining {
            count -= self.remaining;
            self.renew();
        }
        self.next += count;
        self.remaining -= count;
    }

    /// Computes the next block of words in place.
    fn renew(&mut self) {
        run_at_best_level(Renew(&mut self.words));
        self.next = 0;
        self.remaining = WORDS;
    }
}

/// Below this many words, asking what the processor has takes longer than it saves.
const FEW: usize = 16;

struct Temper<'a> {
    source: &'a [u32],
    out: &'a mut [u32],
}

impl Loop for Temper<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (slot, &word) in zip_mut(self.out, self.source) {
            *slot = temper(word);
        }
    }
}

struct Renew<'a>(&'a mut [u32; WORDS]);

impl Loop for Renew<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let p = self.0;
        for j in 0..WORDS - SHIFT {
            p[j] = p[j + SHIFT] ^ twist(p[j], p[j + 1]);
        }
        for j in WORDS - SHIFT..WORDS - 1 {
            p[j] = p[j - (WORDS - SHIFT)] ^ twist(p[j], p[j + 1]);
        }
        p[WORDS - 1] = p[SHIFT - 1] ^ twist(p[WORDS - 1], p[0]);
    }
}

/// Joins two words as PyTorch's `random64` does, the first one as the upper half.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn join([high, low]: [u32; 2]) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn twist(u: u32, v: u32) -> u32 {
    // The negated low bit is a mask of all ones or none: a select without a branch.
    (((u & UPPER) | (v & LOWER)) >> 1) ^ ((v & 1).wrapping_neg() & MATRIX)
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn temper(mut y: u32) -> u32 {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c_5680;
    y ^= (y << 15) & 0xefc6_0000;
    y ^ (y >> 18)
}
