//! The operations that move data.

use module_conformance::either;
use std::ops::Bound;

use module_core::{
    DType, Device, Dims, ErrorKind, IndexItem, PadMode, Scalar, ShapeError, Tensor,
    ndarray::ArrayViewD,
};

use super::{Draw, fuzz};

impl Draw {
    fn bound(&mut self) -> Bound<isize> {
        match self.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(self.dim()),
            _ => Bound::Excluded(self.dim()),
        }
    }

    fn step(&mut self) -> isize {
        if self.often() {
            1 + self.below(3) as isize
        } else {
            self.dim()
        }
    }

    fn item(&mut self) -> IndexItem {
        match self.below(6) {
            0 => IndexItem::NewAxis,
            1 => IndexItem::Ellipsis,
            2 => IndexItem::At(self.dim()),
            3 => IndexItem::At(0),
            _ => IndexItem::Slice {
                start: self.bound(),
                end: self.bound(),
                step: self.step(),
            },
        }
    }

    fn mode(&mut self) -> PadMode {
        let value = self.scalar();
        self.of(&[
            PadMode::default(),
            PadMode::Constant(value),
            PadMode::Reflect,
            PadMode::Replicate,
            PadMode::Circular,
        ])
    }

    /// An amount of padding; sizes between those of memory and of the address space are excluded.
    fn amount(&mut self) -> isize {
        if self.often() {
            self.below(4) as isize - 1
        } else {
            self.of(&[isize::MIN, isize::MAX, 1 << 60, -9, 9])
        }
    }

    fn indices(&mut self) -> Tensor {
        let shape = self.small_shape();
        let index = self.index(&shape);
        let absurd = self.shape();
        if self.often() {
            index
        } else {
            index.expand(absurd).unwrap_or(index)
        }
    }
}

#[test]
fn views() {
    fuzz("slice", |d| {
        let x = d.maybe_huge();
        let (start, end) = (d.bound(), d.bound());
        x.slice(d.dim(), (start, end), d.step())
    });
    fuzz("select", |d| {
        let x = d.maybe_huge();
        x.select(d.dim(), d.dim())
    });
    fuzz("unbind", |d| {
        let x = d.maybe_huge();
        let mut parts = x.unbind(d.dim())?;
        // There may be none.
        Ok(parts.pop().unwrap_or(x))
    });
    fuzz("diagonal", |d| {
        let x = d.maybe_huge();
        x.diagonal(d.dim(), d.dim(), d.dim())
    });
    fuzz("unfold", |d| {
        let x = d.maybe_huge();
        x.unfold(d.dim(), d.size(), d.size())
    });
    fuzz("view", |d| {
        let x = d.maybe_huge();
        let sizes: Vec<isize> = match d.often() {
            true => vec![-1],
            false => (0..d.below(4)).map(|_| d.dim()).collect(),
        };
        x.view(sizes)
    });
    fuzz("unflatten", |d| {
        let x = d.maybe_huge();
        let sizes: Vec<isize> = match d.often() {
            true => vec![-1; 1 + d.below(2)],
            false => (0..d.below(4)).map(|_| d.dim()).collect(),
        };
        x.unflatten(d.dim(), sizes)
    });
    fuzz("movedim", |d| {
        let x = d.maybe_huge();
        let (a, b): (Dims, Dims) = match d.often() {
            true => (d.dim().into(), d.dim().into()),
            false => (d.dims(), d.dims()),
        };
        x.movedim(a, b)
    });
    fuzz("index", |d| {
        let x = d.maybe_huge();
        let items: Vec<IndexItem> = (0..d.below(4)).map(|_| d.item()).collect();
        x.i(items.as_slice())
    });
    fuzz("a chain of views", |d| {
        let mut x = d.maybe_huge();
        for _ in 0..4 {
            let seen = match d.below(5) {
                0 => x.slice(d.dim(), (d.bound(), d.bound()), d.step()),
                1 => x.unfold(d.dim(), d.below(4), 1 + d.below(3)),
                2 => x.diagonal(d.dim(), 0, -1),
                3 => x.movedim(0, -1),
                _ => x.unsqueeze(d.dim()),
            };
            x = seen.unwrap_or(x);
        }
        x.sum(..)
    });
    fuzz("view as an array", |d| {
        let x = d.maybe_huge();
        ArrayViewD::<f32>::try_from(&x)?;
        Ok(x)
    });
}

#[test]
fn copies() {
    fuzz("pad", |d| {
        let x = d.maybe_huge();
        let count = if d.often() {
            2 * d.below(x.rank() + 1)
        } else {
            d.below(9)
        };
        let amounts: Vec<isize> = (0..count).map(|_| d.amount()).collect();
        x.pad(amounts, d.mode())
    });
    fuzz("repeat", |d| {
        let x = d.maybe_huge();
        let lead = if d.often() { 0 } else { 1 };
        let repeats: Vec<usize> = (0..x.rank() + lead).map(|_| d.size()).collect();
        x.repeat(repeats)
    });
    fuzz("repeat_interleave", |d| {
        let x = d.maybe_huge();
        x.repeat_interleave(d.size(), d.dim())
    });
    fuzz("diff", |d| {
        let x = d.maybe_huge();
        x.diff(d.below(4), d.dim())
    });
    fuzz("cumprod", |d| {
        let x = d.maybe_huge();
        x.cumprod(d.dim())
    });
    fuzz("sort", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, sort / sort_descending, d.dim()).map(|(values, _)| values)
    });
    fuzz("argsort", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, argsort / argsort_descending, d.dim())
    });
    fuzz("topk", |d| {
        let x = d.maybe_huge();
        let out = either!(d.often(), x, topk / topk_smallest, d.size(), d.dim());
        out.map(|(values, _)| values)
    });
    fuzz("kthvalue", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, kthvalue / kthvalue_keepdim, d.size(), d.dim())
            .map(|(values, _)| values)
    });
    fuzz("median", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, median / median_keepdim, d.dim()).map(|(values, _)| values)
    });
    fuzz("nonzero", |d| d.maybe_huge().nonzero());
}

#[test]
fn indices() {
    fuzz("embedding", |d| {
        let (rows, width) = (1 + d.below(3), d.below(3));
        let table = match d.often() {
            true => d.of_shape(&[rows, width], DType::F32),
            false => d.maybe_huge(),
        };
        let padding = if d.often() { None } else { Some(d.size()) };
        table.embedding(&d.indices(), padding)
    });
    fuzz("scatter", |d| {
        let x = d.maybe_huge();
        let index = d.indices();
        let dim = d.dim();
        match d.below(3) {
            0 => x.scatter(dim, &index, d.scalar()),
            1 => {
                let same = d.index(&[1; 4][..x.rank()]);
                let source = d.of_shape(same.shape(), DType::F32);
                x.scatter(dim, &same, &source)
            }
            _ => x.scatter(dim, &index, d.like(&x)),
        }
    });
    fuzz("take_along_dim", |d| {
        let x = d.maybe_huge();
        let index = match d.often() {
            true => d.index(&[1; 4][..x.rank()]),
            false => d.indices(),
        };
        x.take_along_dim(&index, d.dim())
    });
}

#[test]
fn sums_of_products() {
    fuzz("einsum", |d| {
        let x = d.maybe_huge();
        let y = d.like(&x);
        let letters = ["i", "j", "k", "...", "", " ", "ii", "->", ",", "1", "é"];
        let equation: String = if d.often() {
            let known = [
                "...ij,...ij->...i",
                "...i,...j->...ij",
                "ij,ij",
                "...,...",
                "i...,i...",
            ];
            d.of(&known).to_owned()
        } else {
            (0..d.below(8)).map(|_| d.of(&letters)).collect()
        };
        let both = [&x, &y];
        let count = if d.often() { 2 } else { d.below(3) };
        Tensor::einsum(&equation, &both[..count])
    });
}

#[test]
fn creation() {
    let cpu = Device::cpu();
    fuzz("arange_step", |d| {
        let mut number = || -> Scalar {
            match d.often() {
                true => (d.below(7) as i64 - 3).into(),
                false => d.scalar(),
            }
        };
        let (start, end, step) = (number(), number(), number());
        Tensor::arange_step(start, end, step, (d.dtype(), &cpu))
    });
    fuzz("linspace", |d| {
        let (start, end) = (d.number(), d.number());
        Tensor::linspace(start, end, d.size(), (d.dtype(), &cpu))
    });
    fuzz("eye", |d| {
        Tensor::eye(d.size(), d.size(), (d.dtype(), &cpu))
    });
    fuzz("randint", |d| {
        let ends = [0, 1, 5, -3, 300, i64::MIN, i64::MAX];
        Tensor::randint(d.of(&ends), d.of(&ends), d.shape(), d.dtype())
    });
    fuzz("bernoulli_with", |d| {
        let p = d.number().abs() / 4.0;
        Tensor::bernoulli_with(d.shape(), p, d.dtype())
    });
    fuzz("bernoulli", |d| {
        let x = d.maybe_huge();
        let p = if d.often() {
            x.isnan()?.to_dtype(x.dtype())?
        } else {
            x
        };
        p.detach().bernoulli()
    });
}

#[test]
fn absurd_sizes_are_typed_errors() {
    let cpu = Device::cpu();
    let large = Tensor::from(1.0_f32).expand([1_usize << 60]).unwrap();
    let index = Tensor::from(0_i64).expand([1_usize << 58]).unwrap();
    let table = Tensor::zeros([2, 3], (DType::F32, &cpu)).unwrap();
    let x = Tensor::from([1.0_f32, 2.0]);
    for (i, result) in [
        large.unfold(0, 1 << 40, 1),
        large.nonzero(),
        large.argsort(0),
        large.topk(1 << 59, 0).map(|(values, _)| values),
        large.pad([1 << 60, 1], PadMode::default()),
        large.pad([1, 1], PadMode::Circular),
        x.pad([isize::MAX, isize::MAX], PadMode::default()),
        x.pad([1 << 60, 0], PadMode::Replicate),
        x.repeat([1 << 61]),
        x.repeat_interleave(1 << 61, 0),
        table.embedding(&index, None),
        Tensor::einsum("i,j->ij", &[&large, &large]),
        Tensor::eye(1 << 40, 1 << 40, (DType::U8, &cpu)),
        Tensor::linspace(0.0, 1.0, 1 << 60, (DType::F32, &cpu)),
        Tensor::arange_step(0.0, 1e300, 1.0, (DType::F32, &cpu)),
        Tensor::arange_step(i64::MIN, i64::MAX, 1, (DType::I64, &cpu)),
        Tensor::randint(0, 2, [1 << 60], DType::U8),
        Tensor::bernoulli_with([1 << 60], 0.5, DType::U8),
    ]
    .into_iter()
    .enumerate()
    {
        let error = result.expect_err(&i.to_string());
        assert!(
            matches!(error.kind(), ErrorKind::Shape(ShapeError::TooLarge { .. })),
            "{i}: {error}"
        );
    }
}
