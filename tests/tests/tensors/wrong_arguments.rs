//! Whatever its arguments, an operation succeeds or returns an error: it never panics.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod activation;
mod by_index;
mod creation;
mod data;
mod elementwise;
mod functions;
mod losses;
mod more;
mod normalization;
mod optim;
mod recurrent;
mod reductions;
mod views;
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
