use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

use super::dims::Dims;
use super::sizes::DimVec;
use crate::{Result, ShapeError};

/// The maximum number of dimensions of a tensor, however it is made: PyTorch's operations and NumPy's arrays have the same
/// limit.
pub const MAX_RANK: usize = 64;

/// The size of each dimension of a tensor; it prints at most 16 of them.
///
/// # Example
///
/// ```
/// use module_tensor::Shape;
///
/// let shape = Shape::from([2, 3]);
/// assert_eq!(shape.rank(), 2);
/// assert_eq!(shape.numel(), 6);
/// assert_eq!(shape.to_string(), "[2, 3]");
/// ```
///
/// ```
/// use module_tensor::Shape;
///
/// // The checks of an operation of your own.
/// let shape = Shape::from([2, 3]);
/// assert_eq!(shape.checked_numel("hat", size_of::<f32>())?, 6);
/// let error = Shape::from([usize::MAX, 2]).checked_numel("hat", 4).unwrap_err();
/// assert!(error.to_string().starts_with("hat: "), "{error}");
/// let error = shape.error("hat", "a square matrix");
/// assert_eq!(error.to_string(), "hat: expected a square matrix, got shape [2, 3]");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
#[doc(alias = "Size")]
pub struct Shape(DimVec);

impl Shape {
    /// The number of dimensions; 0 for a scalar.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of elements.
    ///
    /// It does not overflow for the shape of a tensor, nor for any part of it, because the tensor's creation checked it.
    pub fn numel(&self) -> usize {
        self.0.iter().product()
    }

    /// Exchanges the sizes of two dimensions.
    pub(super) fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
    }

    /// The number of elements, after checking that it and the number of bytes are addressable and that there are at most
    /// [`MAX_RANK`] dimensions. Every function that makes a tensor calls this first.
    ///
    /// A size of 0 counts as 1 in these checks, so that the product of any subset of the sizes is safe too: a reduction may
    /// remove the dimension of size 0.
    ///
    /// # Errors
    ///
    /// Too many elements, bytes or dimensions, reported as an error of `op`.
    pub fn checked_numel(&self, op: &'static str, element: usize) -> Result<usize> {
        check_rank(op, self.rank())?;
        self.0
            .iter()
            .try_fold(1_usize, |product, &size| product.checked_mul(size.max(1)))
            .filter(|n| {
                n.checked_mul(element)
                    .is_some_and(|bytes| bytes <= isize::MAX as usize)
            })
            .map(|product| if self.0.contains(&0) { 0 } else { product })
            .ok_or_else(|| {
                ShapeError::TooLarge {
                    op,
                    shape: self.clone(),
                }
                .into()
            })
    }

    /// The dimension `dim`, counted from the end if negative.
    pub(crate) fn dim(&self, op: &'static str, dim: isize) -> Result<usize> {
        let rank = self.rank().max(1) as isize;
        let index = if dim < 0 { dim + rank } else { dim };
        if (0..rank).contains(&index) {
            Ok(index as usize)
        } else {
            Err(ShapeError::Dimension {
                op,
                dim,
                shape: self.clone(),
            }
            .into())
        }
    }

    /// The dimensions `dims`, each once, in ascending order.
    pub(crate) fn dims(&self, op: &'static str, dims: &Dims) -> Result<DimVec> {
        let Dims::Some(dims) = dims else {
            return Ok((0..self.rank()).collect());
        };
        let mut result = DimVec::default();
        for &dim in dims {
            let index = self.dim(op, dim)?;
            if result.contains(&index) {
                return Err(crate::Error::argument(
                    op,
                    "dim",
                    dim,
                    "occurs twice in the list",
                ));
            }
            if self.rank() > 0 {
                result.push(index);
            }
        }
        result.sort_unstable();
        Ok(result)
    }
}

/// Refuses more dimensions than a tensor has.
pub(crate) fn check_rank(op: &'static str, rank: usize) -> Result<()> {
    match rank {
        0..=MAX_RANK => Ok(()),
        rank => Err(ShapeError::Rank { op, rank }.into()),
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl From<DimVec> for Shape {
    fn from(sizes: DimVec) -> Self {
        Self(sizes)
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Self {
        Self(sizes.into_iter().collect())
    }
}

impl From<&[usize]> for Shape {
    fn from(sizes: &[usize]) -> Self {
        Self(DimVec::from_slice(sizes))
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(sizes: [usize; N]) -> Self {
        Self(DimVec::from_slice(&sizes))
    }
}

impl From<Vec<usize>> for Shape {
    fn from(sizes: Vec<usize>) -> Self {
        Self(DimVec::from_slice(&sizes))
    }
}

impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(sizes: &[usize; N]) -> Self {
        sizes.as_slice().into()
    }
}

impl From<&Vec<usize>> for Shape {
    fn from(sizes: &Vec<usize>) -> Self {
        sizes.as_slice().into()
    }
}

impl From<usize> for Shape {
    fn from(size: usize) -> Self {
        [size].into()
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<&Self> for Shape {
    fn from(shape: &Self) -> Self {
        shape.clone()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        f.write_str("[")?;
        for (i, size) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{size}", if i > 0 { ", " } else { "" })?;
        }
        match self.rank().checked_sub(SHOWN) {
            None | Some(0) => f.write_str("]"),
            Some(more) => write!(f, ", … and {more} more]"),
        }
    }
}

/// Requested sizes, in which `-1` may stand for one that is inferred or kept.
///
/// Numbers of the usual types convert to sizes: a single number, an array, a slice or a `Vec` of them, `()` for none, and a
/// tuple of up to six of different types. So does a [`Shape`].
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::arange(0, 24, ())?;
/// let batch: usize = 2;
/// assert_eq!(x.reshape((batch, 3, -1))?.shape().to_string(), "[2, 3, 4]");
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::{IntoSizes, Result, Tensor};
///
/// /// `view` by its older name.
/// fn view(x: &Tensor, sizes: impl IntoSizes) -> Result<Tensor> {
///     x.reshape(sizes)
/// }
///
/// assert_eq!(view(&Tensor::arange(0, 6, ())?, [3, -1])?.shape().to_string(), "[3, 2]");
/// assert_eq!((2_usize, -1).into_sizes().as_slice(), [2, -1]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait IntoSizes {
    /// The sizes in order; those beyond `isize`, which no tensor has, become `isize::MAX`.
    fn into_sizes(self) -> SmallVec<[isize; 4]>;
}

/// One size in a tuple: an integer of a type that is allowed in lists of sizes.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let (rows, columns): (usize, i32) = (2, -1);
/// let x = Tensor::arange(0, 6, ())?.reshape((rows, columns))?;
/// assert_eq!(x.shape().to_string(), "[2, 3]");
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::IntoSize;
///
/// assert_eq!((3_usize.into_size(), usize::MAX.into_size()), (3, isize::MAX));
/// ```
pub trait IntoSize {
    /// The size; one beyond `isize`, which no tensor has, becomes `isize::MAX`.
    fn into_size(self) -> isize;
}

macro_rules! sizes_of_tuple {
    ($($name:ident)+) => {
        impl<$($name: IntoSize),+> IntoSizes for ($($name,)+) {
            fn into_sizes(self) -> SmallVec<[isize; 4]> {
                #[allow(non_snake_case)] // The types' names stand for the values too.
                let ($($name,)+) = self;
                [$($name.into_size()),+].as_slice().into_sizes()
            }
        }
    };
}

sizes_of_tuple!(A B);
sizes_of_tuple!(A B C);
sizes_of_tuple!(A B C D);
sizes_of_tuple!(A B C D E);
sizes_of_tuple!(A B C D E F);

macro_rules! sizes_from {
    ($($type:ty),*) => {$(
        impl IntoSize for $type {
            fn into_size(self) -> isize {
                isize::try_from(self).unwrap_or(isize::MAX)
            }
        }

        impl IntoSizes for $type {
            fn into_sizes(self) -> SmallVec<[isize; 4]> {
                [self].into_sizes()
            }
        }

        impl IntoSizes for &[$type] {
            fn into_sizes(self) -> SmallVec<[isize; 4]> {
                let size = |&size: &$type| isize::try_from(size).unwrap_or(isize::MAX);
                self.iter().map(size).collect()
            }
        }

        impl<const N: usize> IntoSizes for [$type; N] {
            fn into_sizes(self) -> SmallVec<[isize; 4]> {
                self.as_slice().into_sizes()
            }
        }

        impl<const N: usize> IntoSizes for &[$type; N] {
            fn into_sizes(self) -> SmallVec<[isize; 4]> {
                self.as_slice().into_sizes()
            }
        }

        impl IntoSizes for Vec<$type> {
            fn into_sizes(self) -> SmallVec<[isize; 4]> {
                self.as_slice().into_sizes()
            }
        }

        impl IntoSizes for &Vec<$type> {
            fn into_sizes(self) -> SmallVec<[isize; 4]> {
                self.as_slice().into_sizes()
            }
        }
    )*};
}

// An unannotated literal is an `i32`.
sizes_from!(i32, isize, usize);

impl IntoSizes for () {
    fn into_sizes(self) -> SmallVec<[isize; 4]> {
        SmallVec::new()
    }
}

impl IntoSizes for &Shape {
    fn into_sizes(self) -> SmallVec<[isize; 4]> {
        self.0.into_sizes()
    }
}

impl IntoSizes for Shape {
    fn into_sizes(self) -> SmallVec<[isize; 4]> {
        self.0.into_sizes()
    }
}
