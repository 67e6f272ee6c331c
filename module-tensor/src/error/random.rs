use std::fmt;

/// Why a draw was refused. Nothing is drawn and nothing is written when a method returns one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RngError {
    /// The bounds of a continuous range are out of order, not finite, or too far apart for the type.
    Interval {
        /// The method that was called.
        op: &'static str,
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
    /// The integer range `[low, high)` is empty.
    EmptyRange {
        /// The lower bound.
        low: i64,
        /// The excluded upper bound.
        high: i64,
    },
    /// An integer bound that the element type cannot hold.
    IntegerOverflow {
        /// The lower bound.
        low: i64,
        /// The excluded upper bound.
        high: i64,
        /// The smallest value of the type.
        min: i64,
        /// The largest value of the type.
        max: i64,
    },
    /// A standard deviation below zero, or zero where the method divides by it, or not a number.
    StandardDeviation {
        /// The method that was called.
        op: &'static str,
        /// The value given.
        std: f64,
    },
    /// A probability outside `[0, 1]`.
    Probability {
        /// The method that was called.
        op: &'static str,
        /// The value given.
        p: f64,
    },
    /// A rate that is not above zero.
    Rate {
        /// The value given.
        lambda: f64,
    },
    /// A permutation of more elements than memory can hold.
    TooManyElements {
        /// The number of elements asked for.
        n: usize,
    },
    /// State bytes whose length differs from PyTorch's.
    StateLength {
        /// The length in bytes that a state has.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// A state whose position is outside its words, or that was never seeded.
    StatePosition {
        /// The number of words left before the block is renewed, plus one.
        left: i32,
        /// The index of the next word.
        next: u32,
    },
}

impl fmt::Display for RngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Interval { op, low, high } => {
                write!(
                    f,
                    "{op} expects a finite range with low <= high that its dtype can hold, \
                     but found low={low}, high={high}"
                )
            }
            Self::EmptyRange { low, high } => {
                write!(
                    f,
                    "randint expects low < high, but found low={low} >= high={high}"
                )
            }
            Self::IntegerOverflow {
                low,
                high,
                min,
                max,
            } => write!(
                f,
                "randint draws from [{low}, {high}), but the dtype holds only {min} to {max}"
            ),
            Self::StandardDeviation { op, std } => {
                write!(
                    f,
                    "{op} expects a standard deviation of at least 0 (above 0 where the draw divides by \
                     it), but found std={std}"
                )
            }
            Self::Probability { op, p } => {
                write!(
                    f,
                    "{op} expects a probability between 0 and 1, but found p={p}"
                )
            }
            Self::Rate { lambda } => {
                write!(
                    f,
                    "exponential expects lambda > 0, but found lambda={lambda}"
                )
            }
            Self::TooManyElements { n } => {
                write!(f, "a permutation of {n} elements does not fit in memory")
            }
            Self::StateLength { expected, found } => {
                write!(
                    f,
                    "expected a generator state of {expected} bytes, but found {found}"
                )
            }
            Self::StatePosition { left, next } => write!(
                f,
                "the generator state is invalid (left={left}, next={next}) or was never seeded; \
                 restore one that `get_state` returned"
            ),
        }
    }
}

impl std::error::Error for RngError {}
