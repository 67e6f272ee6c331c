use super::Layout;
use super::shape::{Shape, check_rank};
use super::sizes::DimVec;
use crate::{Error, Result, ShapeError};

/// Views: each returns a layout of the same elements in another form.
impl Layout {
    /// The layout with dimension `i` taken from `order[i]`, which must be a permutation.
    pub(crate) fn permute(&self, order: &[usize]) -> Self {
        Self {
            shape: order.iter().map(|&dim| self.shape[dim]).collect(),
            strides: order.iter().map(|&dim| self.strides[dim]).collect(),
            offset: self.offset,
        }
    }

    /// With two dimensions exchanged.
    pub(crate) fn transpose(&self, a: usize, b: usize) -> Self {
        let mut transposed = self.clone();
        // A scalar has none to exchange with itself.
        if a != b {
            transposed.shape.swap(a, b);
            transposed.strides.swap(a, b);
        }
        transposed
    }

    /// A dimension of size 1 before `dim`.
    pub(crate) fn unsqueeze(&self, dim: usize) -> Self {
        let mut sizes = DimVec::from_slice(&self.shape);
        let mut strides = self.strides.clone();
        let stride = if dim < self.rank() {
            self.shape[dim] * self.strides[dim]
        } else {
            1
        };
        sizes.insert(dim, 1);
        strides.insert(dim, stride);
        Self {
            shape: sizes.into(),
            strides,
            offset: self.offset,
        }
    }

    /// Removes the dimensions `dims`, which must have size 1.
    pub(crate) fn squeeze(&self, dims: &[usize]) -> Self {
        let kept = (0..self.rank()).filter(|dim| !dims.contains(dim));
        Self {
            shape: kept.clone().map(|dim| self.shape[dim]).collect(),
            strides: kept.map(|dim| self.strides[dim]).collect(),
            offset: self.offset,
        }
    }

    /// The same elements in row-major order as `shape`, or `None` if that requires a copy.
    pub(crate) fn reshape(&self, shape: &Shape) -> Option<Self> {
        if shape.contains(&0) || self.is_contiguous() {
            let contiguous = Self::contiguous(shape.clone());
            return Some(Self {
                offset: self.offset,
                ..contiguous
            });
        }
        // Mergeable runs of old dimensions are split into new dimensions.
        let old: DimVec = (0..self.rank())
            .filter(|&dim| self.shape[dim] != 1)
            .collect();
        let mut strides = DimVec::from_elem(1, shape.rank());
        let mut new = shape.rank();
        let mut end = old.len();
        while end > 0 {
            let mut start = end - 1;
            let mut run = self.shape[old[start]];
            let step = self.strides[old[end - 1]];
            while start > 0
                && self.strides[old[start - 1]] == self.strides[old[start]] * self.shape[old[start]]
            {
                start -= 1;
                run *= self.shape[old[start]];
            }
            let mut covered = 1;
            while new > 0 && covered < run {
                new -= 1;
                strides[new] = step * covered;
                covered *= shape[new];
            }
            if covered != run {
                return None;
            }
            end = start;
        }
        // Remaining leading dimensions have size 1, whose stride does not matter.
        Some(Self {
            shape: shape.clone(),
            strides,
            offset: self.offset,
        })
    }
}

/// The shape `sizes`, in which at most one `-1` is inferred from `numel` elements.
pub(crate) fn infer(op: &'static str, from: &Shape, sizes: &[isize]) -> Result<Shape> {
    check_rank(op, sizes.len())?;
    let numel = from.numel();
    let fail = |problem: &str| {
        Error::argument(
            op,
            "shape",
            format_args!("{sizes:?}"),
            format!("{problem} {from}"),
        )
    };
    let mut known = 1_usize;
    let mut unknown = None;
    for (i, &size) in sizes.iter().enumerate() {
        if size == -1 && unknown.is_none() {
            unknown = Some(i);
        } else if let Ok(size) = usize::try_from(size) {
            known = known
                .checked_mul(size)
                .ok_or_else(|| fail("is too large for a tensor of shape"))?;
        } else {
            return Err(fail(
                "has a negative size or a second -1 for a tensor of shape",
            ));
        }
    }
    let mut shape: DimVec = sizes.iter().map(|&size| size.max(0) as usize).collect();
    match unknown {
        Some(i) if known > 0 && numel.is_multiple_of(known) => shape[i] = numel / known,
        Some(_) => return Err(fail("leaves no whole size for -1 with a tensor of shape")),
        None if known == numel => {}
        None => return Err(fail("has another number of elements than")),
    }
    Ok(shape.into())
}

impl Shape {
    /// The shape after a reduction over `dims`.
    pub(crate) fn reduced(&self, dims: &[usize], keepdim: bool) -> Self {
        (0..self.rank())
            .filter(|dim| keepdim || !dims.contains(dim))
            .map(|dim| if dims.contains(&dim) { 1 } else { self[dim] })
            .collect()
    }

    /// The error of an operation that expects a shape other than this one:
    /// [`ShapeError::Unexpected`](crate::ShapeError::Unexpected).
    pub fn error(&self, op: &'static str, expected: impl Into<String>) -> Error {
        ShapeError::Unexpected {
            op,
            expected: expected.into(),
            got: self.clone(),
        }
        .into()
    }
}
