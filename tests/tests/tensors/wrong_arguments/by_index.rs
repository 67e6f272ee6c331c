//! Tensors as indices, reductions by index, counts, searches, cumulative values, quantiles, matrices.

use module_conformance::either;
use module_core::Dim;
use module_core::SearchSortedOptions;
use module_core::linalg::SolveTriangularOptions;
use module_core::linalg::Triangle;
use module_core::{
    IndexItem, MeshIndexing, QuantileInterpolation, Result, ScatterReduce, Tensor, linalg,
};

use super::{Draw, fuzz};

impl Draw {
    /// A tensor as an index: of integers, or a mask.
    fn chooser(&mut self, x: &Tensor) -> Tensor {
        let rank = 1 + self.below(2);
        let near = x.shape().get(..rank.min(x.rank())).unwrap_or_default();
        let shape: Vec<usize> = near.iter().map(|&size| size.min(4)).collect();
        match self.below(4) {
            0 => self.of_shape(&shape, module_core::DType::Bool),
            1 => self.index(&[]),
            _ => self.index(&[2]),
        }
    }

    fn items(&mut self, x: &Tensor) -> Vec<IndexItem> {
        let count = self.below(4);
        let item = |d: &mut Self| match d.below(5) {
            0 => IndexItem::NewAxis,
            1 => IndexItem::At(d.dim()),
            2 => IndexItem::from(..),
            _ => IndexItem::Tensor(d.chooser(x)),
        };
        (0..count).map(|_| item(self)).collect()
    }

    fn list(&mut self) -> Tensor {
        let count = self.below(4);
        self.index(&[count])
    }
}

#[test]
fn indices() {
    fuzz("index by tensors", |d| {
        let x = d.maybe_huge();
        let items = d.items(&x);
        x.i(items.as_slice())
    });
    fuzz("index_put", |d| {
        let x = d.maybe_huge();
        let items = d.items(&x);
        let accumulate = d.often();
        if d.often() {
            let number = d.scalar();
            return either!(
                accumulate,
                x,
                index_put / index_put_accumulate,
                items.as_slice(),
                number
            );
        }
        let values = d.like(&x);
        either!(
            accumulate,
            x,
            index_put / index_put_accumulate,
            items.as_slice(),
            &values
        )
    });
    fuzz("masked_scatter", |d| {
        let x = d.maybe_huge();
        let mask = d.like(&x).gt(0.0)?;
        x.masked_scatter(&mask, &d.like(&x))
    });
    fuzz("index_fill", |d| {
        let x = d.maybe_huge();
        let index = d.list();
        x.index_fill(d.dim(), &index, d.scalar())
    });
    fuzz("index_copy", |d| {
        let x = d.maybe_huge();
        let (index, source) = (d.list(), d.like(&x));
        x.index_copy(d.dim(), &index, &source)
    });
    fuzz("scatter_reduce", |d| {
        let x = d.maybe_huge();
        let source = d.like(&x);
        let small: Vec<usize> = x.shape().iter().map(|&size| size.min(3)).collect();
        let index = d.index(&small);
        let reduce = d.of(&[
            ScatterReduce::Sum,
            ScatterReduce::Prod,
            ScatterReduce::Mean,
            ScatterReduce::Amax,
            ScatterReduce::Amin,
        ]);
        either!(
            d.often(),
            x,
            scatter_reduce / scatter_reduce_exclude_self,
            d.dim(),
            &index,
            &source,
            reduce
        )
    });
    fuzz("repeat_interleave by a tensor", |d| {
        let x = d.maybe_huge();
        let count = d.below(4);
        // An absurd number of repeats would need memory that a system may promise.
        let repeats = d.index(&[count]).clamp(-1, 3)?;
        x.repeat_interleave(&repeats, d.dim())
    });
}

#[test]
fn counts() {
    fuzz("multinomial", |d| {
        let x = d.maybe_huge().abs()?;
        either!(
            d.often(),
            x,
            multinomial / multinomial_with_replacement,
            d.size()
        )
    });
    fuzz("unique", |d| {
        let x = d.maybe_huge();
        let dim = d.often().then(|| d.dim()).map_or(Dim::All, Dim::One);
        Ok(x.unique(dim)?.inverse)
    });
    fuzz("unique_consecutive", |d| {
        let x = d.maybe_huge();
        let dim = d.often().then(|| d.dim()).map_or(Dim::All, Dim::One);
        Ok(x.unique_consecutive(dim)?.values)
    });
    fuzz("bincount", |d| {
        let x = d.list().clamp(-1, 5)?;
        let weights = d.like(&x);
        let given = d.often().then_some(&weights);
        x.bincount(given, d.size())
    });
    fuzz("count_nonzero", |d| d.maybe_huge().count_nonzero(d.dims()));
    fuzz("searchsorted", |d| {
        let x = d.maybe_huge();
        let values = d.value(&x);
        x.searchsorted_with(values, SearchSortedOptions::new().right(d.often()))
    });
    fuzz("bucketize", |d| {
        let x = d.maybe_huge();
        let boundaries = d.of_shape(&[3], x.dtype());
        either!(d.often(), x, bucketize / bucketize_right, &boundaries)
    });
    fuzz("meshgrid", |d| {
        let (a, b) = (
            d.maybe_huge().flatten(0, -1)?,
            d.list().to_dtype(d.dtype())?,
        );
        let mut grid = Tensor::meshgrid(&[&a, &b], MeshIndexing::Xy)?;
        Ok(grid.remove(0))
    });
}

#[test]
fn running_values() {
    type Running = (&'static str, fn(&Tensor, isize) -> Result<Tensor>);
    let running: [Running; 3] = [
        ("cummax", |x, dim| Ok(x.cummax(dim)?.0)),
        ("cummin", |x, dim| Ok(x.cummin(dim)?.0)),
        ("logcumsumexp", Tensor::logcumsumexp),
    ];
    for (name, op) in running {
        fuzz(name, |d| {
            let x = d.maybe_huge();
            op(&x, d.dim())
        });
    }
    fuzz("quantile", |d| {
        let x = d.maybe_huge();
        let q = d.of(&[0.0, 0.5, 1.0, 0.25, f64::NAN, 2.0]);
        let dim = d.often().then(|| d.dim()).map_or(Dim::All, Dim::One);
        either!(
            d.often(),
            x,
            quantile / quantile_keepdim,
            q,
            dim,
            QuantileInterpolation::Linear
        )
    });
    fuzz("nanquantile", |d| {
        let x = d.maybe_huge();
        let q = Tensor::from([0.5_f32, 0.25]);
        either!(
            d.often(),
            x,
            nanquantile / nanquantile_keepdim,
            &q,
            d.dim(),
            QuantileInterpolation::Midpoint
        )
    });
    fuzz("nan_to_num", |d| {
        let x = d.maybe_huge();
        x.nan_to_num(d.number(), None, None)
    });
    fuzz("logaddexp", |d| {
        let x = d.maybe_huge();
        x.logaddexp(&d.like(&x))
    });
    fuzz("xlogy", |d| {
        let x = d.maybe_huge();
        let y = d.value(&x);
        x.xlogy(y)
    });
}

#[test]
fn matrices() {
    type Matrix = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let of_one: [Matrix; 8] = [
        ("svd", |x| Ok(linalg::svd(x)?.0)),
        ("svdvals", linalg::svdvals),
        ("qr", |x| Ok(linalg::qr(x, linalg::QrMode::Complete)?.1)),
        ("eigh", |x| Ok(linalg::eigh(x)?.1)),
        ("inv", linalg::inv),
        ("det", linalg::det),
        ("slogdet", |x| Ok(linalg::slogdet(x)?.1)),
        ("cholesky", linalg::cholesky),
    ];
    for (name, op) in of_one {
        fuzz(name, |d| {
            let n = d.below(4);
            let x = if d.often() {
                d.of_shape(&[n, n], module_core::DType::F64)
            } else {
                d.maybe_huge()
            };
            op(&x)
        });
    }
    fuzz("solve", |d| {
        let (n, left) = (d.below(4), d.often());
        let a = if d.often() {
            d.of_shape(&[n, n], module_core::DType::F64)
        } else {
            d.maybe_huge()
        };
        let b = d.like(&a);
        match d.often() {
            true if left => linalg::solve(&a, &b),
            true => linalg::solve_right(&a, &b),
            false => {
                let triangle = d.of(&[Triangle::Lower, Triangle::Upper]);
                let options = SolveTriangularOptions::new(triangle).left(left);
                linalg::solve_triangular(&a, &b, options.unitriangular(d.often()))
            }
        }
    });
}
