//! Indexing by tuples, like Python's `x[..., 1:, None, 0]`.

use std::fmt;
use std::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

use smallvec::SmallVec;

use crate::tensor::Tensor;
use crate::{DType, Error, Result};

/// The index of one dimension; numbers, ranges and tensors convert to items.
///
/// # Example
///
/// ```
/// use module_tensor::{IndexItem, Tensor};
///
/// let x = Tensor::from([1_i64, 2, 3, 4]);
/// assert_eq!(x.i(IndexItem::every(2, ..))?.to_vec::<i64>()?, [1, 3]);
/// assert_eq!(x.i((IndexItem::NewAxis, ..2))?.shape().to_string(), "[1, 2]");
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::{IndexItem, Tensor};
///
/// let x = Tensor::from([1_i64, 2, 3, 4]);
/// assert_eq!(x.i(IndexItem::between(1, -1))?.to_vec::<i64>()?, [2, 3]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum IndexItem {
    /// One slice, without the dimension; negative ones count from the end.
    At(isize),
    /// A range of slices, by [`Tensor::slice`]'s rules.
    Slice {
        /// The start.
        start: Bound<isize>,
        /// The end.
        end: Bound<isize>,
        /// The step between slices, at least 1.
        step: isize,
    },
    /// A new dimension of size 1: Python's `None`.
    NewAxis,
    /// All dimensions that no other item covers: Python's `...`.
    Ellipsis,
    /// Slices selected by an integer tensor, or a `Bool` mask over as many dimensions as it has.
    Tensor(Tensor),
}

impl IndexItem {
    /// The slices from `start` up to but not including `end`, as `start..end`: for a negative `end`, because
    /// clippy reports a literal `1..-1` as an empty range.
    pub fn between(start: isize, end: isize) -> Self {
        Self::every(1, start..end)
    }

    /// Every `step`-th slice of a range: `IndexItem::every(2, 1..)` is Python's `1::2`.
    pub fn every(step: isize, range: impl RangeBounds<isize>) -> Self {
        Self::Slice {
            start: range.start_bound().cloned(),
            end: range.end_bound().cloned(),
            step,
        }
    }

    /// Whether it leaves all dimensions that it covers as they are.
    fn is_everything(&self) -> bool {
        match self {
            Self::Slice { start, end, step } => {
                matches!((start, end, step), (Bound::Unbounded, Bound::Unbounded, 1))
            }
            Self::Ellipsis => true,
            Self::At(_) | Self::NewAxis | Self::Tensor(_) => false,
        }
    }
}

/// Python's spelling.
impl fmt::Display for IndexItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::At(index) => write!(f, "{index}"),
            Self::Tensor(ref tensor) => write!(f, "{}{}", tensor.dtype(), tensor.shape()),
            Self::NewAxis => f.write_str("None"),
            Self::Ellipsis => f.write_str("..."),
            Self::Slice { start, end, step } => {
                if let Bound::Included(start) | Bound::Excluded(start) = start {
                    write!(f, "{start}")?;
                }
                f.write_str(":")?;
                match end {
                    Bound::Included(last) => write!(f, "={last}")?,
                    Bound::Excluded(end) => write!(f, "{end}")?,
                    Bound::Unbounded => {}
                }
                match step {
                    1 => Ok(()),
                    step => write!(f, ":{step}"),
                }
            }
        }
    }
}

/// The index of a tensor: an item, or a tuple, array or slice of items.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
/// assert_eq!(x.i(1)?.to_vec::<i64>()?, [4, 5, 6]);
/// assert_eq!(x.i((.., 1..))?.to_vec::<i64>()?, [2, 3, 5, 6]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::IntoIndex;
///
/// /// An index as Python writes it.
/// fn python(index: impl IntoIndex) -> String {
///     let items: Vec<_> = index.into_items().iter().map(ToString::to_string).collect();
///     format!("x[{}]", items.join(", "))
/// }
///
/// assert_eq!(python((.., 1.., -1)), "x[:, 1:, -1]");
/// ```
pub trait IntoIndex {
    /// The items in order.
    fn into_items(self) -> SmallVec<[IndexItem; 4]>;
}

impl IntoIndex for IndexItem {
    fn into_items(self) -> SmallVec<[Self; 4]> {
        SmallVec::from_iter([self])
    }
}

impl IntoIndex for &[IndexItem] {
    fn into_items(self) -> SmallVec<[IndexItem; 4]> {
        self.iter().cloned().collect()
    }
}

impl<const N: usize> IntoIndex for [IndexItem; N] {
    fn into_items(self) -> SmallVec<[IndexItem; 4]> {
        self.into_iter().collect()
    }
}

macro_rules! items_from {
    ($($type:ty: |$v:ident| $item:expr;)*) => {$(
        impl From<$type> for IndexItem {
            fn from($v: $type) -> Self {
                $item
            }
        }

        impl IntoIndex for $type {
            fn into_items(self) -> SmallVec<[IndexItem; 4]> {
                IndexItem::from(self).into_items()
            }
        }
    )*};
}

/// Numbers beyond `isize` are out of range for every dimension, as is the nearest `isize`.
macro_rules! items_of {
    ($($number:ty),*) => {$(items_from! {
        $number: |v| Self::At(saturate_to_isize(v));
        Range<$number>: |v| Self::every(1, saturate_to_isize(v.start)..saturate_to_isize(v.end));
        RangeFrom<$number>: |v| Self::every(1, saturate_to_isize(v.start)..);
        RangeTo<$number>: |v| Self::every(1, ..saturate_to_isize(v.end));
        RangeInclusive<$number>: |v| Self::every(1, saturate_to_isize(*v.start())..=saturate_to_isize(*v.end()));
        RangeToInclusive<$number>: |v| Self::every(1, ..=saturate_to_isize(v.end));
    })*};
}

fn saturate_to_isize(number: impl TryInto<isize>) -> isize {
    number.try_into().unwrap_or(isize::MAX)
}

// An unannotated literal is an `i32`.
items_of!(i32, isize, usize);
items_from! {
    RangeFull: |_v| Self::every(1, ..);
    Tensor: |v| Self::Tensor(v);
    &Tensor: |v| Self::Tensor(v.clone());
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Into<IndexItem>),*> IntoIndex for ($($name,)*) {
            fn into_items(self) -> SmallVec<[IndexItem; 4]> {
                #[allow(non_snake_case)]
                let ($($name,)*) = self;
                SmallVec::from_iter([$($name.into()),*])
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);

impl Tensor {
    /// The part selected by a tuple of numbers, ranges, tensors and [`IndexItem`]s: Python's `x[…]`.
    ///
    /// | Python | here |
    /// |---|---|
    /// | `x[1]` | `x.i(1)` |
    /// | `x[:, -1]` | `x.i((.., -1))` |
    /// | `x[2:, ..., 0]` | `x.i((2.., IndexItem::Ellipsis, 0))` |
    /// | `x[1:-1]` | `x.i(IndexItem::between(1, -1))` |
    /// | `x[None, ::2]` | `x.i((IndexItem::NewAxis, IndexItem::every(2, ..)))` |
    /// | `x[idx]`, `x[:, idx, 1:3]` | `x.i(&idx)`, `x.i((.., &idx, 1..3))` |
    /// | `x[mask]` | `x.i(&mask)` |
    ///
    /// Dimensions after the last item are kept. Without tensors the result is a view.
    ///
    /// Integer tensors (`I64` or `I32`, negative ones count from the end) are broadcast together, and their common shape
    /// replaces the dimensions that they index if these are adjacent; otherwise it comes first, as in PyTorch. A `Bool`
    /// mask stands for the indices of its true elements, one list for each of its dimensions. A zero-dimensional integer
    /// tensor is a number.
    ///
    /// # Errors
    ///
    /// More items than dimensions, a second ellipsis, a number that is out of range, a step below 1; tensors that do not
    /// broadcast, of another dtype, or with a number that is out of range; a mask whose sizes differ from those of the
    /// dimensions that it indexes.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{IndexItem, Tensor};
    ///
    /// let x = Tensor::arange(0, 24, ())?.reshape([2, 3, 4])?;
    /// assert_eq!(x.i((1, .., -1))?.to_vec::<i64>()?, [15, 19, 23]);
    /// assert_eq!(x.i((IndexItem::Ellipsis, ..2, 0))?.to_vec::<i64>()?, [0, 4, 12, 16]);
    /// assert_eq!(x.i((0, IndexItem::NewAxis, IndexItem::every(2, ..)))?.shape().to_string(), "[1, 2, 4]");
    ///
    /// let idx = Tensor::from([2_i64, -3]);
    /// assert_eq!(x.i((0, &idx, 1..3))?.to_vec::<i64>()?, [9, 10, 1, 2]);
    /// assert_eq!(x.i(&x.gt(21)?)?.to_vec::<i64>()?, [22, 23]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn i(&self, index: impl IntoIndex) -> Result<Self> {
        self.index_by(&index.into_items())
    }

    /// [`i`](Self::i) for a list of items, compiled once.
    pub(super) fn index_by(&self, items: &[IndexItem]) -> Result<Self> {
        let others = self.check_items(items)?;
        if items.iter().all(IndexItem::is_everything) {
            return Ok(self.alias());
        }
        // The number of dimensions fits `isize`, like everything in memory.
        let (mut out, mut lists) = (self.clone(), Vec::new());
        for item in items {
            let dim = lists.len();
            let current = dim as isize;
            match item {
                IndexItem::At(index) => out = out.select(current, *index)?,
                IndexItem::Slice { start, end, step } => {
                    if !item.is_everything() {
                        out = out.slice(current, (*start, *end), *step)?;
                    }
                    lists.push(None);
                }
                IndexItem::NewAxis => {
                    out = out.unsqueeze(current)?;
                    lists.push(None);
                }
                IndexItem::Ellipsis => lists.resize(dim + others, None),
                IndexItem::Tensor(index) => out = out.with_list(&mut lists, index)?,
            }
        }
        if lists.iter().all(Option::is_none) {
            return Ok(out);
        }
        lists.resize(out.rank(), None);
        out.at_lists(&lists)
    }

    /// Checks the number of items; returns how many dimensions an ellipsis covers.
    fn check_items(&self, items: &[IndexItem]) -> Result<usize> {
        let fail = |problem: String| {
            let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
            let index = format!("[{}]", texts.join(", "));
            Error::argument("index", "index", index, problem)
        };
        let named = |item: &IndexItem| match item {
            IndexItem::At(_) | IndexItem::Slice { .. } => 1,
            IndexItem::Tensor(mask) if mask.dtype() == DType::Bool => mask.rank(),
            IndexItem::Tensor(_) => 1,
            IndexItem::NewAxis | IndexItem::Ellipsis => 0,
        };
        let count = items.iter().map(named).sum();
        let Some(others) = self.rank().checked_sub(count) else {
            let shape = self.shape();
            return Err(fail(format!(
                "has {count} indices, more than the dimensions of shape {shape}"
            )));
        };
        let ellipsis = |item: &&IndexItem| matches!(item, IndexItem::Ellipsis);
        if items.iter().filter(ellipsis).count() > 1 {
            return Err(fail("has more than one ellipsis".to_owned()));
        }
        Ok(others)
    }
}
