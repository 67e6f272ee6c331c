use super::{CpuGenerator, RngError};
use crate::zip::zip_mut;

/// From this range on PyTorch takes 64 bits for an integer, so that the remainder is nearly uniform.
const WIDE_RANGE: u64 = 1 << 28;

/// The number of words that are drawn at a time on the stack.
const BLOCK: usize = 256;

/// From this many elements on PyTorch permutes with 64 bits an element and by another algorithm.
const LONG_PERMUTATION: usize = (u32::MAX / 20) as usize;

/// The types that [`CpuGenerator::fill_randint`] fills: `i64`, `i32`, `u8` and `bool`. Sealed.
///
/// # Example
///
/// ```
/// use module_tensor::rng::{CpuGenerator, RandomInteger, RngError};
///
/// /// Throws of a die.
/// fn throws<T: RandomInteger + Default>(seed: u64) -> Result<[T; 4], RngError> {
///     let mut throws = [T::default(); 4];
///     CpuGenerator::new(seed).fill_randint(&mut throws, 1, 7)?;
///     Ok(throws)
/// }
///
/// assert_eq!(throws::<u8>(3)?.map(i64::from), throws::<i64>(3)?);
/// assert!(throws::<i32>(3)?.iter().all(|throw| (1..7).contains(throw)));
/// # Ok::<(), RngError>(())
/// ```
pub trait RandomInteger: sealed::Integer {}

impl RandomInteger for i64 {}
impl RandomInteger for i32 {}
impl RandomInteger for u8 {}
impl RandomInteger for bool {}

mod sealed {
    use super::CpuGenerator;

    pub trait Integer: Copy {
        /// The smallest value.
        const LEAST: i64;
        /// The largest value.
        const GREATEST: i64;
        /// Converts a value that the range holds.
        fn from_i64(value: i64) -> Self;
        /// Draws from zero to the largest value.
        fn draw(generator: &mut CpuGenerator) -> Self;
    }
}

impl sealed::Integer for i64 {
    const LEAST: i64 = Self::MIN;
    const GREATEST: i64 = Self::MAX;
    fn from_i64(value: i64) -> Self {
        value
    }
    fn draw(generator: &mut CpuGenerator) -> Self {
        (generator.next_u64() & (u64::MAX >> 1)) as Self
    }
}

impl sealed::Integer for i32 {
    const LEAST: i64 = Self::MIN as i64;
    const GREATEST: i64 = Self::MAX as i64;
    fn from_i64(value: i64) -> Self {
        value as Self
    }
    fn draw(generator: &mut CpuGenerator) -> Self {
        (generator.next_u32() & (u32::MAX >> 1)) as Self
    }
}

impl sealed::Integer for u8 {
    const LEAST: i64 = 0;
    const GREATEST: i64 = Self::MAX as i64;
    fn from_i64(value: i64) -> Self {
        value as Self
    }
    fn draw(generator: &mut CpuGenerator) -> Self {
        generator.next_u32() as Self
    }
}

impl sealed::Integer for bool {
    const LEAST: i64 = 0;
    const GREATEST: i64 = 1;
    fn from_i64(value: i64) -> Self {
        value != 0
    }
    fn draw(generator: &mut CpuGenerator) -> Self {
        generator.next_u32() & 1 == 1
    }
}

impl CpuGenerator {
    /// Fills `out` with integers from `[low, high)`: PyTorch's `randint` and `random_(low, high)`.
    ///
    /// ```text
    /// x = low + w mod (high − low)
    /// ```
    ///
    /// `w` has 32 bits if the range has fewer than 2²⁸ values and 64 bits otherwise, whatever the type.
    ///
    /// # Errors
    ///
    /// [`RngError::EmptyRange`] unless `low < high`; [`RngError::IntegerOverflow`] if the type does not
    /// hold all values of the range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::rng::{CpuGenerator, RngError};
    ///
    /// let mut digits = [0_i64; 5];
    /// CpuGenerator::new(0).fill_randint(&mut digits, 0, 10)?;
    /// assert_eq!(digits, [4, 9, 3, 0, 3]);
    /// let mut bytes = [0_u8; 3];
    /// CpuGenerator::new(0).fill_random(&mut bytes);
    /// assert_eq!(bytes, [172, 47, 117]);
    /// assert_eq!(CpuGenerator::new(0).randperm(5)?, [4, 0, 1, 3, 2]);
    /// # Ok::<(), RngError>(())
    /// ```
    pub fn fill_randint<T: RandomInteger>(
        &mut self,
        out: &mut [T],
        low: i64,
        high: i64,
    ) -> Result<(), RngError> {
        if low >= high {
            return Err(RngError::EmptyRange { low, high });
        }
        if low < T::LEAST || high - 1 > T::GREATEST {
            return Err(RngError::IntegerOverflow {
                low,
                high,
                min: T::LEAST,
                max: T::GREATEST,
            });
        }
        // The distance of two `i64` is right modulo 2⁶⁴, which is what a `u64` holds.
        let range = high.wrapping_sub(low) as u64;
        let above = |value: u64| T::from_i64(low.wrapping_add(value as i64));
        if range < WIDE_RANGE {
            // Division by 32 bits takes a fraction of the time of that by 64.
            let range = range as u32;
            let mut words = [0; BLOCK];
            for chunk in out.chunks_mut(BLOCK) {
                if let Some(words) = words.get_mut(..chunk.len()) {
                    self.engine.fill(words);
                }
                for (slot, word) in zip_mut(chunk, &words) {
                    *slot = above(u64::from(word % range));
                }
            }
        } else {
            for slot in out {
                *slot = above(self.next_u64() % range);
            }
        }
        Ok(())
    }

    /// Fills `out` with integers from zero to the largest value of the type: PyTorch's `random_()`.
    pub fn fill_random<T: RandomInteger>(&mut self, out: &mut [T]) {
        for slot in out {
            *slot = T::draw(self);
        }
    }

    /// A random permutation of `0..n`: PyTorch's `randperm`.
    ///
    /// The algorithm is that of Fisher and Yates: the element at `i` changes positions with the one at
    /// `i + w mod (n − i)`.
    ///
    /// # Errors
    ///
    /// [`RngError::TooManyElements`] if the permutation does not fit in memory.
    pub fn randperm(&mut self, n: usize) -> Result<Vec<i64>, RngError> {
        let too_many = || RngError::TooManyElements { n };
        let end = i64::try_from(n).map_err(|_| too_many())?;
        let mut order = Vec::new();
        order.try_reserve_exact(n).map_err(|_| too_many())?;
        if n < LONG_PERMUTATION {
            order.extend(0..end);
            let (mut words, mut i) = ([0; BLOCK], 0);
            while n.saturating_sub(i) > 1 {
                let words = &mut words[..BLOCK.min(n - i - 1)];
                self.engine.fill(words);
                for &mut word in words {
                    // The remainder is below `n - i`, so that the sum is an index. A division by 32 bits is a fast one.
                    let other = i + (word % (n - i) as u32) as usize;
                    order.swap(i, other);
                    i += 1;
                }
            }
        } else {
            // The remainder of 32 bits would be visibly uneven here. PyTorch then grows the
            // permutation from its front: element `i` comes in at a random index up to its own.
            for (i, value) in (0..end).enumerate() {
                let other = (self.next_u64() % (i as u64 + 1)) as usize;
                order.push(value);
                order.swap(i, other);
            }
        }
        Ok(order)
    }
}
