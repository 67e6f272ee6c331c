//! Whatever its arguments, an operation succeeds or returns an error: it never panics.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod activation;
mod by_index;
mod data;
mod functions;
mod losses;
mod more;
mod normalization;
mod optim;
mod recurrent;
mod windows;

use module_conformance::either;
use std::panic::{AssertUnwindSafe, catch_unwind};

use module_core::rng::CpuGenerator;
use module_core::{
    Approximate, BackwardOptions, Conv2dOptions, DType, Device, Dims, Error, ErrorKind, Generator,
    Padding, Pool2dOptions, Result, Scalar, Shape, ShapeError, Tensor, Value, autograd,
};

/// Draws arguments, about half of which are valid.
struct Draw(CpuGenerator);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    fn often(&mut self) -> bool {
        self.below(4) > 0
    }

    fn of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    fn dtype(&mut self) -> DType {
        if self.often() {
            DType::F32
        } else {
            self.of(&DType::ALL)
        }
    }

    fn small_shape(&mut self) -> Vec<usize> {
        let rank = self.below(5);
        (0..rank).map(|_| self.of(&[1, 2, 3, 2, 3, 4, 0])).collect()
    }

    /// A size that may be absurd. Sizes between those of memory and of the address space are excluded: a system may promise
    /// such memory and fail later.
    fn size(&mut self) -> usize {
        if self.often() {
            self.below(6)
        } else {
            self.of(&[
                7,
                1 << 52,
                1 << 60,
                isize::MAX as usize,
                usize::MAX / 2 + 1,
                usize::MAX,
            ])
        }
    }

    fn pair(&mut self) -> [usize; 2] {
        if self.often() {
            [1 + self.below(3), 1 + self.below(3)]
        } else {
            [self.size(), self.size()]
        }
    }

    fn shape(&mut self) -> Vec<usize> {
        if self.often() {
            return self.small_shape();
        }
        let rank = self.below(5);
        (0..rank).map(|_| self.size()).collect()
    }

    fn dim(&mut self) -> isize {
        if self.often() {
            self.below(7) as isize - 3
        } else {
            self.of(&[isize::MIN, isize::MAX, -7, 7])
        }
    }

    fn dims(&mut self) -> Dims {
        match self.below(4) {
            0 => Dims::All,
            1 => self.dim().into(),
            2 => [self.size()].into(),
            _ => {
                let n = self.below(4);
                let dims: Vec<isize> = (0..n).map(|_| self.dim()).collect();
                dims.as_slice().into()
            }
        }
    }

    fn number(&mut self) -> f64 {
        let common = self.below(100) as f64 / 10.0 - 5.0;
        self.of(&[
            common,
            common,
            common,
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::MAX,
        ])
    }

    fn scalar(&mut self) -> Scalar {
        match self.below(3) {
            0 => self.number().into(),
            1 => self.of(&[0_i64, 1, -1, 3, i64::MIN, i64::MAX]).into(),
            _ => self.often().into(),
        }
    }

    fn of_shape(&mut self, shape: &[usize], dtype: DType) -> Tensor {
        let n = shape.iter().product();
        let values = (0..n).map(|_| self.number()).collect();
        let x = Tensor::from_vec::<f64>(values, shape).unwrap();
        let x = x.to_dtype(dtype).unwrap();
        self.seen_otherwise(x)
    }

    /// A view of the same rank, possibly tracked.
    fn seen_otherwise(&mut self, mut x: Tensor) -> Tensor {
        if self.below(3) == 0 && x.rank() > 1 {
            x = x
                .transpose(0, 1)
                .unwrap()
                .contiguous()
                .unwrap()
                .transpose(0, 1)
                .unwrap();
        }
        if self.below(4) == 0 && x.rank() > 0 {
            let dim = self.below(x.rank());
            let size = x.shape()[dim];
            let start = self.below(size + 1);
            let end = start + self.below(size - start + 1);
            x = x.narrow(dim as isize, start..end).unwrap();
        }
        if self.often() {
            x.with_grad().unwrap_or(x)
        } else {
            x
        }
    }

    fn tensor(&mut self) -> Tensor {
        let (shape, dtype) = (self.small_shape(), self.dtype());
        self.of_shape(&shape, dtype)
    }

    /// A tensor, or one element expanded to an absurd number of elements.
    fn maybe_huge(&mut self) -> Tensor {
        let x = self.tensor();
        let shape = self.shape();
        if self.often() {
            x
        } else {
            x.expand(shape).unwrap_or(x)
        }
    }

    /// A tensor with a shape similar to that of `x`.
    fn like(&mut self, x: &Tensor) -> Tensor {
        if !self.often() {
            return self.maybe_huge();
        }
        let small = x.shape().iter().all(|&size| size < 10);
        let mut shape = if small { x.shape().to_vec() } else { vec![] };
        if let Some(size) = shape.first_mut()
            && !self.often()
        {
            *size = 1;
        }
        let dtype = if self.often() {
            x.dtype()
        } else {
            self.dtype()
        };
        self.of_shape(&shape, dtype)
    }

    fn value(&mut self, x: &Tensor) -> Value<'static> {
        if self.often() {
            self.like(x).into()
        } else {
            self.scalar().into()
        }
    }

    fn index(&mut self, shape: &[usize]) -> Tensor {
        let n = shape.iter().product();
        let wrong = !self.often();
        let index = |draw: &mut Self| match wrong {
            true => draw.of(&[0, -1, 5, i64::MAX, i64::MIN]),
            false => draw.below(2) as i64,
        };
        let values = (0..n).map(|_| index(self)).collect();
        let index = Tensor::from_vec::<i64>(values, shape).unwrap();
        if self.below(10) == 0 {
            index.to_dtype(DType::I32).unwrap()
        } else {
            index
        }
    }

    fn conv(&mut self) -> Conv2dOptions {
        Conv2dOptions::new()
            .stride(self.pair())
            .padding(match self.below(4) {
                0 => Padding::Same,
                1 => Padding::Size(self.pair()),
                _ => Padding::Valid,
            })
            .dilation(self.pair())
            .groups(if self.often() { 1 } else { self.size() })
    }

    fn pool(&mut self) -> Pool2dOptions {
        Pool2dOptions::new(self.pair())
            .stride(self.pair())
            .padding(if self.often() { [0, 1] } else { self.pair() })
            .dilation(self.pair())
            .ceil_mode(self.often())
    }

    fn images(&mut self) -> Tensor {
        if !self.often() {
            return self.maybe_huge();
        }
        let (n, c) = (self.below(3), 1 + self.below(3));
        let (h, w) = (1 + self.below(5), 1 + self.below(5));
        let dtype = self.dtype();
        self.of_shape(&[n, c, h, w], dtype)
    }

    fn weight(&mut self, x: &Tensor) -> Tensor {
        let channels = x.shape().get(1).copied().unwrap_or(1).min(4);
        let (o, h, w) = (self.below(3), 1 + self.below(3), 1 + self.below(3));
        let dtype = if self.often() {
            x.dtype()
        } else {
            self.dtype()
        };
        self.of_shape(&[o, channels, h, w], dtype)
    }
}

/// Runs an operation many times and, if it succeeds, its gradient; both may fail but not panic.
fn fuzz(name: &str, op: impl Fn(&mut Draw) -> Result<Tensor>) {
    const ROUNDS: u64 = 2000;
    let (mut good, mut bad) = (0, 0);
    for seed in 0..ROUNDS {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let y = op(&mut Draw(CpuGenerator::new(seed)))?;
            if y.requires_grad() {
                let grad = y.detach().ones_like();
                // A view may have too many elements for memory.
                if let Ok(grad) = grad {
                    let _ = y.backward_with(&grad, BackwardOptions::default());
                }
            }
            Ok::<(), Error>(())
        }));
        match outcome {
            Ok(Ok(())) => good += 1,
            Ok(Err(error)) => {
                bad += 1;
                assert!(!error.to_string().is_empty());
            }
            Err(_) => panic!("{name} panics with the arguments of seed {seed}"),
        }
    }
    // Otherwise the arguments would have no effect.
    assert!(good >= ROUNDS / 40, "{name}: {good} good, {bad} bad");
}

#[test]
fn elementwise() {
    type Unary = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let unary: [Unary; 23] = [
        ("log1p", Tensor::log1p),
        ("expm1", Tensor::expm1),
        ("erf", Tensor::erf),
        ("sin", Tensor::sin),
        ("cos", Tensor::cos),
        ("floor", Tensor::floor),
        ("ceil", Tensor::ceil),
        ("round", Tensor::round),
        ("square", Tensor::square),
        ("silu", Tensor::silu),
        ("neg", Tensor::neg),
        ("abs", Tensor::abs),
        ("sign", Tensor::sign),
        ("exp", Tensor::exp),
        ("log", Tensor::log),
        ("sqrt", Tensor::sqrt),
        ("rsqrt", Tensor::rsqrt),
        ("reciprocal", Tensor::reciprocal),
        ("relu", Tensor::relu),
        ("sigmoid", Tensor::sigmoid),
        ("tanh", Tensor::tanh),
        ("contiguous", Tensor::contiguous),
        ("zeros_like", Tensor::zeros_like),
    ];
    for (name, op) in unary {
        fuzz(name, |d| op(&d.maybe_huge()));
    }
    type Binary = (&'static str, fn(&Tensor, Value<'_>) -> Result<Tensor>);
    let binary: [Binary; 12] = [
        ("add", |x, y| x.add(y)),
        ("sub", |x, y| x.sub(y)),
        ("mul", |x, y| x.mul(y)),
        ("div", |x, y| x.div(y)),
        ("maximum", |x, y| x.maximum(y)),
        ("minimum", |x, y| x.minimum(y)),
        ("eq", |x, y| x.eq(y)),
        ("ne", |x, y| x.ne(y)),
        ("lt", |x, y| x.lt(y)),
        ("le", |x, y| x.le(y)),
        ("gt", |x, y| x.gt(y)),
        ("ge", |x, y| x.ge(y)),
    ];
    for (name, op) in binary {
        fuzz(name, |d| {
            let x = d.maybe_huge();
            let y = d.value(&x);
            op(&x, y)
        });
    }
    fuzz("pow", |d| {
        let x = d.maybe_huge();
        x.pow(d.number())
    });
    fuzz("gelu", |d| {
        let x = d.maybe_huge();
        x.gelu(d.of(&[Approximate::None, Approximate::Tanh]))
    });
    fuzz("softplus", |d| {
        let x = d.maybe_huge();
        x.softplus(d.number(), d.number())
    });
    fuzz("leaky_relu", |d| {
        let x = d.maybe_huge();
        x.leaky_relu(d.number())
    });
    fuzz("elu", |d| {
        let x = d.maybe_huge();
        x.elu(d.number())
    });
    fuzz("clamp", |d| {
        let x = d.maybe_huge();
        let (low, high) = (d.scalar(), d.scalar());
        match d.below(3) {
            0 => x.clamp_min(low),
            1 => x.clamp_max(high),
            _ => x.clamp(low, high),
        }
    });
    fuzz("where", |d| {
        let x = d.maybe_huge();
        let condition = d.like(&x);
        let condition = if d.often() {
            condition.to_dtype(DType::Bool)?
        } else {
            condition
        };
        condition.where_(&x, d.like(&x))
    });
    fuzz("to_dtype", |d| {
        let x = d.maybe_huge();
        x.to_dtype(d.of(&DType::ALL))
    });
    fuzz("dropout", |d| {
        let x = d.maybe_huge();
        x.dropout(d.number().abs() / 5.0)
    });
    fuzz("full_like", |d| {
        let x = d.maybe_huge();
        x.full_like(d.scalar())
    });
}

#[test]
fn logic() {
    type Unary = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let unary: [Unary; 4] = [
        ("logical_not", Tensor::logical_not),
        ("isnan", Tensor::isnan),
        ("isinf", Tensor::isinf),
        ("isfinite", Tensor::isfinite),
    ];
    for (name, op) in unary {
        fuzz(name, |d| op(&d.maybe_huge()));
    }
    type Binary = (&'static str, fn(&Tensor, &Tensor) -> Result<Tensor>);
    let binary: [Binary; 3] = [
        ("logical_and", Tensor::logical_and),
        ("logical_or", Tensor::logical_or),
        ("logical_xor", Tensor::logical_xor),
    ];
    for (name, op) in binary {
        fuzz(name, |d| {
            let x = d.maybe_huge();
            op(&x, &d.like(&x))
        });
    }
    let mask = |d: &mut Draw, x: &Tensor| {
        let mask = d.like(x);
        if d.often() {
            mask.to_dtype(DType::Bool).unwrap_or(mask)
        } else {
            mask
        }
    };
    fuzz("masked_fill", |d| {
        let x = d.maybe_huge();
        x.masked_fill(&mask(d, &x), d.scalar())
    });
    fuzz("masked_select", |d| {
        let x = d.maybe_huge();
        x.masked_select(&mask(d, &x))
    });
}

#[test]
fn reductions() {
    fuzz("sum", |d| {
        let x = d.tensor();
        either!(d.often(), x, sum / sum_keepdim, d.dims())
    });
    fuzz("mean", |d| {
        let x = d.tensor();
        either!(d.often(), x, mean / mean_keepdim, d.dims())
    });
    fuzz("var", |d| {
        let x = d.tensor();
        either!(d.often(), x, var / var_keepdim, d.dims(), d.number())
    });
    fuzz("amax", |d| {
        let x = d.tensor();
        either!(d.often(), x, amax / amax_keepdim, d.dims())
    });
    fuzz("amin", |d| {
        let x = d.tensor();
        either!(d.often(), x, amin / amin_keepdim, d.dims())
    });
    fuzz("std", |d| {
        let x = d.tensor();
        either!(d.often(), x, std / std_keepdim, d.dims(), d.number())
    });
    fuzz("prod", |d| {
        let x = d.tensor();
        either!(d.often(), x, prod / prod_keepdim, d.dims())
    });
    fuzz("norm", |d| {
        let x = d.maybe_huge();
        let p = if d.often() {
            d.below(4) as f64
        } else {
            d.number()
        };
        either!(d.often(), x, norm / norm_keepdim, p, d.dims())
    });
    fuzz("logsumexp", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, logsumexp / logsumexp_keepdim, d.dims())
    });
    fuzz("cumsum", |d| {
        let x = d.maybe_huge();
        x.cumsum(d.dim())
    });
    fuzz("max", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, max / max_keepdim, d.dim()).map(|(values, _)| values)
    });
    fuzz("min", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, min / min_keepdim, d.dim()).map(|(values, _)| values)
    });
    fuzz("any", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, any / any_keepdim, d.dims())
    });
    fuzz("all", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, all / all_keepdim, d.dims())
    });
    fuzz("argmax", |d| {
        let x = d.tensor();
        either!(d.often(), x, argmax / argmax_keepdim, d.dim())
    });
    fuzz("argmin", |d| {
        let x = d.tensor();
        either!(d.often(), x, argmin / argmin_keepdim, d.dim())
    });
    fuzz("softmax", |d| {
        let x = d.maybe_huge();
        x.softmax(d.dim())
    });
    fuzz("log_softmax", |d| {
        let x = d.maybe_huge();
        x.log_softmax(d.dim())
    });
    fuzz("with_grad", |d| d.tensor().detach().with_grad());
    fuzz("sum_to", |d| {
        let x = d.tensor();
        x.sum_to(d.like(&x).shape())
    });
    fuzz("sums without elements", |d| {
        let mut shape = d.shape();
        shape.push(0);
        let x = Tensor::zeros(shape, DType::F32)?;
        x.with_grad()?.sum(d.dims())
    });
}

#[test]
fn products_and_windows() {
    fuzz("dot", |d| {
        let (n, m) = (d.below(3), d.below(3));
        let x = d.of_shape(&[n], DType::F32);
        let other = d.of_shape(&[m], DType::F32);
        if d.often() {
            x.dot(&other)
        } else {
            x.dot(&d.like(&x))
        }
    });
    fuzz("outer", |d| {
        let n = d.below(3);
        let x = d.of_shape(&[n], DType::F32);
        if d.often() {
            x.outer(&d.like(&x))
        } else {
            d.maybe_huge().outer(&x)
        }
    });
    fuzz("matmul", |d| {
        let x = d.maybe_huge();
        let other = d.like(&x);
        let other = if d.often() {
            other.transpose(-1, -2).unwrap_or(other)
        } else {
            other
        };
        x.matmul(&other)
    });
    fuzz("conv2d", |d| {
        let x = d.images();
        let weight = if d.often() { d.weight(&x) } else { d.images() };
        x.conv2d(&weight, d.conv())
    });
    fuzz("max_pool2d", |d| {
        let x = d.images();
        x.max_pool2d(d.pool())
    });
}

#[test]
fn views() {
    fuzz("reshape", |d| {
        let x = d.maybe_huge();
        let sizes: Vec<isize> = if d.often() {
            vec![-1; 1 + d.below(2)]
        } else {
            let n = d.below(5);
            (0..n)
                .map(|_| (d.size() as isize).wrapping_sub(d.below(2) as isize))
                .collect()
        };
        x.reshape(sizes)
    });
    fuzz("reshape_to", |d| {
        let x = d.maybe_huge();
        x.reshape(Shape::from(d.shape()))
    });
    fuzz("flatten", |d| {
        let x = d.maybe_huge();
        x.flatten(d.dim(), d.dim())
    });
    fuzz("permute", |d| {
        let x = d.maybe_huge();
        let order: Vec<isize> = if d.often() {
            (0..x.rank() as isize).rev().collect()
        } else {
            (0..d.below(5)).map(|_| d.dim()).collect()
        };
        x.permute(order)
    });
    fuzz("transpose", |d| {
        let x = d.maybe_huge();
        x.transpose(d.dim(), d.dim())
    });
    fuzz("t", |d| d.maybe_huge().t());
    fuzz("narrow", |d| {
        let x = d.maybe_huge();
        x.narrow(d.dim(), d.size()..d.size())
    });
    fuzz("unsqueeze", |d| {
        let x = d.maybe_huge();
        x.unsqueeze(d.dim())
    });
    fuzz("squeeze", |d| {
        let x = d.maybe_huge();
        x.squeeze(d.dims())
    });
    fuzz("expand", |d| {
        let x = d.tensor();
        let mut shape = d.shape();
        if d.often() {
            shape.truncate(1);
            shape.extend(x.shape().iter());
        }
        x.expand(shape)
    });
    fuzz("flip", |d| {
        let x = d.maybe_huge();
        x.flip(d.dims())
    });
    fuzz("roll", |d| {
        let x = d.maybe_huge();
        x.roll(d.dim(), d.dim())
    });
    fuzz("tril", |d| {
        let x = d.maybe_huge();
        x.tril(d.dim() as i64)
    });
    fuzz("triu", |d| {
        let x = d.maybe_huge();
        x.triu(d.dim() as i64)
    });
    fuzz("split", |d| {
        let x = d.maybe_huge();
        let mut parts = x.split(d.size(), d.dim())?;
        Ok(parts.swap_remove(d.below(parts.len())))
    });
    fuzz("chunk", |d| {
        let x = d.maybe_huge();
        let mut parts = x.chunk(d.size(), d.dim())?;
        Ok(parts.swap_remove(d.below(parts.len())))
    });
    fuzz("size", |d| {
        let x = d.maybe_huge();
        x.size(d.dim()).map(|_| x)
    });
    fuzz("to_vec and item", |d| {
        let x = d.maybe_huge();
        let _ = x.item::<f32>();
        x.to_vec::<f32>().map(|_| x)
    });
    fuzz("display", |d| {
        let x = d.maybe_huge();
        assert!(x.to_string().starts_with("tensor("));
        Ok(x)
    });
}

#[test]
fn joins_and_indices() {
    fuzz("cat", |d| {
        let x = d.maybe_huge();
        let (a, b) = (d.like(&x), d.like(&x));
        let parts = [&x, &a, &b];
        Tensor::cat(&parts[..d.below(4)], d.dim())
    });
    fuzz("stack", |d| {
        let x = d.maybe_huge();
        let a = d.like(&x);
        let parts = [&x, &a];
        Tensor::stack(&parts[..d.below(3)], d.dim())
    });
    let index = |d: &mut Draw, x: &Tensor| {
        let small = x.shape().iter().all(|&size| size < 10);
        let shape = if small && d.often() {
            x.shape().to_vec()
        } else {
            d.small_shape()
        };
        let index = d.index(&shape);
        let absurd = d.shape();
        if d.often() {
            index
        } else {
            index.expand(absurd).unwrap_or(index)
        }
    };
    fuzz("gather", |d| {
        let x = d.maybe_huge();
        x.gather(d.dim(), &index(d, &x))
    });
    fuzz("scatter_add", |d| {
        let x = d.maybe_huge();
        let index = index(d, &x);
        let source = if d.often() {
            d.like(&x)
        } else {
            d.like(&index)
        };
        x.scatter_add(d.dim(), &index, &source)
    });
    fuzz("index_add", |d| {
        let x = d.maybe_huge();
        let dim = d.dim();
        let n = d.below(3);
        let index = if d.often() {
            d.index(&[n])
        } else {
            index(d, &x)
        };
        let fitting = x.index_select(dim, &index);
        let source = match fitting {
            Ok(source) if d.often() => source,
            _ => d.like(&x),
        };
        x.index_add(dim, &index, &source)
    });
    fuzz("one_hot", |d| {
        let shape = d.small_shape();
        let classes = d.index(&shape);
        let absurd = d.shape();
        let classes = if d.often() {
            classes
        } else {
            classes.expand(absurd).unwrap_or(classes)
        };
        classes.one_hot(d.size())
    });
    fuzz("index_select", |d| {
        let x = d.maybe_huge();
        let n = d.below(4);
        let index = if d.often() {
            d.index(&[n])
        } else {
            index(d, &x)
        };
        x.index_select(d.dim(), &index)
    });
}

#[test]
fn creation() {
    let cpu = Device::cpu();
    fuzz("full", |d| {
        Tensor::full(d.shape(), d.scalar(), (d.dtype(), &cpu))
    });
    fuzz("zeros", |d| Tensor::zeros(d.shape(), (d.dtype(), &cpu)));
    fuzz("ones", |d| Tensor::ones(d.shape(), (d.dtype(), &cpu)));
    fuzz("from_vec", |d| {
        Tensor::from_vec(vec![0.5_f32; d.below(7)], d.shape())
    });
    fuzz("rand", |d| Tensor::rand(d.shape(), d.dtype()));
    fuzz("randn", |d| Tensor::randn(d.shape(), d.dtype()));
    fuzz("uniform", |d| {
        let (low, high) = (d.number(), d.number());
        Tensor::uniform(d.shape(), low, high, d.dtype(), &Generator::new(0))
    });
    fuzz("normal", |d| {
        let (mean, std) = (d.number(), d.number());
        Tensor::normal(d.shape(), mean, std, d.dtype(), &Generator::new(0))
    });
    fuzz("randperm", |d| Tensor::randperm(d.size(), ()));
    fuzz("arange", |d| {
        let ends = [0, 1, -3, 5, i64::MIN, i64::MAX, 1 << 60];
        Tensor::arange(d.of(&ends), d.of(&ends), ())
    });
}

#[test]
fn gradients() {
    fuzz("backward_with", |d| {
        let x = d.tensor();
        let y = x.mul(&x)?;
        y.backward_with(&d.like(&y), BackwardOptions::default())
            .map(|()| y)
    });
    fuzz("grad", |d| {
        let x = d.tensor();
        let y = x.mul(d.like(&x))?;
        let y = if d.often() { y.sum(..)? } else { y };
        let other = d.like(&x);
        let options = BackwardOptions::new()
            .retain_graph(d.often())
            .create_graph(d.often());
        autograd::grad(&[&y], &[&x, &other][..d.below(3)], options).map(|_| y)
    });
}

#[test]
fn any_number_of_empty_rows_costs_nothing() {
    let rows = Tensor::zeros([1 << 50, 0], DType::F32).unwrap();
    let x = rows.with_grad().unwrap();
    let y = Tensor::cat(&[&x, &x], 1).unwrap().narrow(0, 1..3).unwrap();
    assert_eq!(y.to_string(), "tensor([], size=(2, 0), grad_fn=<narrow>)");
    assert_eq!(
        x.detach().to_string(),
        "tensor([], size=(1125899906842624, 0))"
    );
    y.sum(..).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().shape(), x.shape());
    assert!(x.add(&x).unwrap().exp().unwrap().argmax(0).unwrap().numel() == 0);
}

#[test]
fn absurd_sizes_are_typed_errors() {
    let cpu = Device::cpu();
    let x = Tensor::from(1.0_f32);
    let large = x.expand([1_usize << 60]).unwrap();
    let image = Tensor::zeros([1, 1, 2, 2], (DType::F32, &cpu)).unwrap();
    let padded = |padding: usize, stride: usize| {
        let options = Conv2dOptions::new()
            .padding(Padding::Size([padding; 2]))
            .stride([stride; 2]);
        image.conv2d(&image, options)
    };
    let too_large = [
        x.expand([usize::MAX]),
        x.expand([1_usize << 40, 1 << 40]),
        Tensor::zeros([1 << 40, 1 << 40], (DType::U8, &cpu)),
        Tensor::ones([1 << 60], (DType::U8, &cpu)),
        Tensor::zeros([1 << 60], (DType::F32, &cpu)),
        Tensor::zeros([0, 1 << 40, 1 << 40], (DType::U8, &cpu)),
        Tensor::rand([1 << 58], DType::F32),
        Tensor::randn([1 << 62], DType::F64),
        Tensor::arange(i64::MIN, i64::MAX, ()),
        Tensor::arange(0, 1_i64 << 58, ()),
        Tensor::randperm(usize::MAX, ()),
        large.contiguous(),
        large.exp(),
        large.to_dtype(DType::U8),
        large.add(1.0),
        large.unsqueeze(1).unwrap().mul(&large),
        large.softmax(0),
        large.dropout(0.5),
        Tensor::cat(&[&large, &large], 0),
        Tensor::zeros([0, 1 << 58], (DType::F32, &cpu))
            .unwrap()
            .sum(0),
        padded(1 << 62, 1),
        padded(1 << 30, 1),
    ];
    for (i, result) in too_large.into_iter().enumerate() {
        let error = result.expect_err(&i.to_string());
        let typed = matches!(
            error.kind(),
            ErrorKind::Shape(ShapeError::TooLarge { .. }) | ErrorKind::Random(_)
        );
        assert!(typed, "{i}: {error}");
    }
    // Large strides in a small result are no reason to refuse.
    assert_eq!(
        padded(1 << 40, 1 << 40).unwrap().shape().to_string(),
        "[1, 1, 3, 3]"
    );
    let pool = Pool2dOptions::new([2, 2]).dilation([usize::MAX; 2]);
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = 2..1;
    let errors = [
        padded(usize::MAX, 1),
        image.max_pool2d(pool),
        image.narrow(2, usize::MAX..usize::MAX),
        image.narrow(2, 1..usize::MAX),
        image.narrow(2, reversed),
        image.reshape([isize::MAX, isize::MAX]),
        image.reshape([isize::MIN]),
        image.transpose(isize::MIN, isize::MAX),
    ];
    for (i, result) in errors.into_iter().enumerate() {
        assert!(result.is_err(), "{i}");
    }
}
