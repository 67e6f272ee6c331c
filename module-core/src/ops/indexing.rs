//! Indexing by tuples, as Python's `x[..., 1:, None, 0]`.

use std::fmt;
use std::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

use smallvec::SmallVec;

use crate::tensor::Tensor;
use crate::{Error, Result};

/// What an index says of one dimension; numbers and ranges become items by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexItem {
    /// One slice, without the dimension; negative ones count from the end.
    At(isize),
    /// A range of slices, by [`Tensor::slice`]'s rules.
    Slice {
        /// Where it begins.
        start: Bound<isize>,
        /// Where it ends.
        end: Bound<isize>,
        /// Every how many.
        step: isize,
    },
    /// A new dimension of size 1: Python's `None`.
    NewAxis,
    /// All dimensions that no other item stands for: Python's `...`.
    Ellipsis,
}

impl IndexItem {
    /// The slices from `start` up to and without `end`: what `start..end` says, for a negative end, where
    /// clippy takes a literal `1..-1` for a range that is empty by mistake.
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
}

/// Python's spelling.
impl fmt::Display for IndexItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::At(index) => write!(f, "{index}"),
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

/// What indexes a tensor: an item, or a tuple, array or slice of items.
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
        SmallVec::from_slice(self)
    }
}

impl<const N: usize> IntoIndex for [IndexItem; N] {
    fn into_items(self) -> SmallVec<[IndexItem; 4]> {
        SmallVec::from_slice(&self)
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

/// Numbers beyond `isize` are outside of every dimension, as is the nearest.
macro_rules! items_of {
    ($($number:ty),*) => {$(items_from! {
        $number: |v| Self::At(signed(v));
        Range<$number>: |v| Self::every(1, signed(v.start)..signed(v.end));
        RangeFrom<$number>: |v| Self::every(1, signed(v.start)..);
        RangeTo<$number>: |v| Self::every(1, ..signed(v.end));
        RangeInclusive<$number>: |v| Self::every(1, signed(*v.start())..=signed(*v.end()));
        RangeToInclusive<$number>: |v| Self::every(1, ..=signed(v.end));
    })*};
}

fn signed(number: impl TryInto<isize>) -> isize {
    number.try_into().unwrap_or(isize::MAX)
}

// An unannotated literal is an `i32`.
items_of!(i32, isize, usize);
items_from! {
    RangeFull: |_v| Self::every(1, ..);
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
    /// The part that a tuple of numbers, ranges and [`IndexItem`]s names, as a view: Python's `x[…]`.
    ///
    /// | Python | here |
    /// |---|---|
    /// | `x[1]` | `x.i(1)` |
    /// | `x[:, -1]` | `x.i((.., -1))` |
    /// | `x[2:, ..., 0]` | `x.i((2.., IndexItem::Ellipsis, 0))` |
    /// | `x[1:-1]` | `x.i(IndexItem::between(1, -1))` |
    /// | `x[None, ::2]` | `x.i((IndexItem::NewAxis, IndexItem::every(2, ..)))` |
    ///
    /// Dimensions behind the last item stay as they are. Indices in tensors are for
    /// [`index_select`](Self::index_select), masks for [`masked_select`](Self::masked_select).
    ///
    /// # Errors
    ///
    /// More items than dimensions, a second ellipsis, a number that is out of range, a step below 1.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{IndexItem, Tensor};
    ///
    /// let x = Tensor::arange(0, 24)?.reshape([2, 3, 4])?;
    /// assert_eq!(x.i((1, .., -1))?.to_vec::<i64>()?, [15, 19, 23]);
    /// assert_eq!(x.i((IndexItem::Ellipsis, ..2, 0))?.to_vec::<i64>()?, [0, 4, 12, 16]);
    /// assert_eq!(x.i((0, IndexItem::NewAxis, IndexItem::every(2, ..)))?.shape().to_string(), "[1, 2, 4]");
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn i(&self, index: impl IntoIndex) -> Result<Self> {
        const NAME: &str = "index";
        let items = index.into_items();
        let fail = |problem: String| {
            let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
            let index = format!("[{}]", texts.join(", "));
            Error::argument(NAME, "index", index, problem)
        };
        let named = |item: &&IndexItem| matches!(item, IndexItem::At(_) | IndexItem::Slice { .. });
        let count = items.iter().filter(named).count();
        let Some(others) = self.rank().checked_sub(count) else {
            let shape = self.shape();
            return Err(fail(format!("names {count} dimensions of shape {shape}")));
        };
        let ellipses = items.iter().filter(|item| **item == IndexItem::Ellipsis);
        if ellipses.count() > 1 {
            return Err(fail("has more than one ellipsis".to_owned()));
        }
        // The number of dimensions fits `isize`, as does everything that is in memory.
        let (mut out, mut dim) = (self.clone(), 0);
        for item in &items {
            match *item {
                IndexItem::At(index) => {
                    out = out.select(dim, index)?;
                    continue;
                }
                IndexItem::Slice {
                    start: Bound::Unbounded,
                    end: Bound::Unbounded,
                    step: 1,
                } => {}
                IndexItem::Slice { start, end, step } => {
                    out = out.slice(dim, (start, end), step)?;
                }
                IndexItem::NewAxis => out = out.unsqueeze(dim)?,
                IndexItem::Ellipsis => dim += others as isize - 1,
            }
            dim += 1;
        }
        Ok(out)
    }
}
