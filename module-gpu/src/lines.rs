//! The template of kernels that combine the elements of each line, and compute each element from what they were combined to.
//!
//! The values of an operand lie side by side in a line. A workgroup reads the elements of one line, or of several short ones,
//! once, and keeps them in registers: in one launch, what [`fold`](crate::fold) and [`map`](crate::map) would read several
//! times. Values are always combined in the same order.

use module_tensor::backend::Storage;
use module_tensor::{DType, Result};

use crate::elem::Elem;
use crate::gpu::{Gpu, Launch, word};
use crate::lines_code::source;
use crate::map::{declarations, is_small, typed_key};
use crate::pool::Memory;
use crate::storage::GpuStorage;

/// The most elements of a line, which are those that an invocation keeps times the most invocations.
const MOST: usize = MOST_EACH * MOST_INVOCATIONS;
const MOST_EACH: usize = 32;
const MOST_INVOCATIONS: usize = 256;

/// Each invocation keeps this many elements if there are invocations enough. Lines with more elements than that have at least so
/// many invocations.
const EACH: usize = 8;
const INVOCATIONS: usize = 16;

/// The fewest invocations of a workgroup, to which several lines are put together.
const GROUP: usize = 128;

/// A kernel that combines the elements of lines.
pub(crate) struct Lines<'a> {
    pub(crate) op: &'static str,
    /// Says all that the code depends on, apart from the types of the elements and the size of a line.
    pub(crate) key: String,
    pub(crate) reads: &'a [(&'a GpuStorage, Elem)],
    /// What is computed for each element of the lines, in row-major order, if anything is.
    pub(crate) out: Option<(Elem, DType)>,
    /// The number of lines, and of the elements of each, for which [`fit`] says yes.
    pub(crate) lines: usize,
    pub(crate) size: usize,
    /// How many numbers are returned for each line, as `F32`.
    pub(crate) numbers: usize,
    /// Parameters from number [`FOLD_FIRST`](crate::fold::FOLD_FIRST) on. The number of lines is parameter 0, the elements of
    /// a line are parameter 2.
    pub(crate) parameters: Vec<u32>,
    pub(crate) code: &'a dyn Fn() -> LineCode,
}

/// The part of the source that differs from kernel to kernel. `o` is the number of a line, and `j` of an element in it.
#[derive(Default)]
pub(crate) struct LineCode {
    /// Functions that the rest calls.
    pub(crate) functions: String,
    /// Statements that compute what the elements of line `o` have in common.
    pub(crate) before: String,
    /// One or two values that are kept of element `j`; the rest calls them `x` and `y`.
    pub(crate) kept: Vec<String>,
    /// How values are combined, one after another.
    pub(crate) passes: Vec<Pass>,
    /// The element of the result, if there is one.
    pub(crate) value: String,
    /// The numbers that are returned for line `o`.
    pub(crate) numbers: Vec<&'static str>,
}

/// Combines the values of each line.
pub(crate) struct Pass {
    /// The name of what they are combined to.
    pub(crate) name: &'static str,
    pub(crate) join: Join,
    /// The value of element `j`.
    pub(crate) value: &'static str,
    /// Statements for line `o`, which may read what its values were combined to.
    pub(crate) after: String,
    /// The value that is then kept instead of `x`.
    pub(crate) kept: Option<&'static str>,
}

/// How two values are combined.
#[derive(Clone, Copy)]
pub(crate) enum Join {
    Sum,
    Greatest,
}

/// Which invocations have which elements of a line.
///
/// A word of the result is the unit, because elements of 16 bits share them. Invocation `i` of a line has words `i`,
/// `i + invocations`, and so on.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    /// The invocations of a line, a power of two.
    pub(crate) invocations: usize,
    /// The words that each of them has.
    pub(crate) each: usize,
    /// The lines of a workgroup.
    pub(crate) lines: usize,
    /// Whether there are no more words than these.
    pub(crate) is_whole: bool,
}

impl Share {
    /// For lines of this many words.
    fn new(words: usize, per_word: usize) -> Self {
        let invocations = match words.div_ceil(EACH / per_word) {
            0 | 1 => 1,
            wanted => {
                let least = INVOCATIONS.min(words.next_power_of_two());
                let wanted = wanted.next_power_of_two();
                wanted.max(least).min(MOST_INVOCATIONS)
            }
        };
        let each = words.div_ceil(invocations);
        // Few different numbers, so that lines of similar sizes have the same kernel.
        let steps = [1, 2, 3, 4, 6, 8, 12, 16, 24];
        let each = steps.into_iter().find(|&step| step >= each);
        let each = each.unwrap_or(MOST_EACH);
        Self {
            invocations,
            each,
            lines: (GROUP / invocations).max(1),
            is_whole: words == invocations * each,
        }
    }

    /// The part of a pipeline's key that it decides.
    fn key(self) -> String {
        let is_whole = if self.is_whole { "whole" } else { "part" };
        format!("{} x {} {is_whole}", self.invocations, self.each)
    }
}

/// Whether there is a kernel for lines of this many elements, for each of which an element of `out` is computed.
pub(crate) fn fit(out: Option<Elem>, lines: usize, size: usize) -> bool {
    let per_word = out.map_or(1, Elem::per_word);
    lines > 0 && (1..=MOST).contains(&size) && size.is_multiple_of(per_word)
}

impl Gpu {
    /// The result of a kernel, and the numbers of its lines.
    pub(crate) fn lines(&self, kernel: Lines<'_>) -> Result<(Option<Storage>, Vec<Storage>)> {
        let Lines { op, size, .. } = kernel;
        // Without a result, any number of elements may be read together.
        let out = kernel.out.map_or(Elem::F32, |(elem, _)| elem);
        let words = size / out.per_word();
        let share = Share::new(words, out.per_word());
        let numel = kernel.lines * size;
        let allocate = |(_, dtype)| self.allocate(numel, dtype);
        let to = kernel.out.map(allocate).transpose()?;
        let numbers = (0..kernel.numbers).map(|_| self.allocate(kernel.lines, DType::F32));
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        // The last is not read: the numbers of parameters are those of a fold, so that both templates share functions.
        let sizes = [kernel.lines, words, size, numel];
        let sizes = sizes.into_iter().map(|size| word(op, size));
        let mut parameters = sizes.collect::<Result<Vec<u32>>>()?;
        parameters.extend(kernel.parameters);
        let memory: Vec<&Memory> = kernel.reads.iter().map(|(data, _)| &data.memory).collect();
        let writes = to.iter().chain(&numbers).map(|data| &data.memory);
        let writes: Vec<&Memory> = writes.collect();
        let is_small = is_small(kernel.reads, numel);
        let outputs = format!("{} {}", to.is_some(), numbers.len());
        let key = format!("lines {outputs} {} {}", share.key(), kernel.key);
        let reads: Vec<Elem> = kernel.reads.iter().map(|&(_, elem)| elem).collect();
        // Where there is no result, nothing reads or writes the memory that is declared for it, and its number is free.
        let binding = reads.len() + 1 + usize::from(to.is_some());
        self.launch(Launch {
            op,
            key: typed_key(key, out, kernel.reads, is_small),
            reads: &memory,
            writes: &writes,
            parameters: &parameters,
            groups: kernel.lines.div_ceil(share.lines) as u64,
            source: &|| {
                declarations(&reads, out, false, is_small)
                    + &source(&(kernel.code)(), share, out, binding)
            },
        })?;
        let numbers = numbers.into_iter().map(Storage::new).collect();
        Ok((to.map(Storage::new), numbers))
    }
}
