//! Ranges, evenly spaced numbers and the identity matrix.

use super::{Tensor, TensorOptions};
use crate::backend::{Element, check_host_allocatable, cpu_scratch, cpu_storage};
use crate::layout::Layout;
use crate::simd::{Loop, run_at_best_level};
use crate::{DType, DTypeError, Error, Result, Scalar, Shape};

impl Tensor {
    /// The numbers from `start` up to but not including `end`, in steps of 1: [`arange_step`](Self::arange_step) with a
    /// step of 1.
    ///
    /// # Errors
    ///
    /// Those of [`arange_step`](Self::arange_step).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// assert_eq!(Tensor::arange(2, 5, ())?.to_vec::<i64>()?, [2, 3, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn arange(
        start: impl Into<Scalar>,
        end: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        range(
            "arange",
            [start.into(), end.into(), 1.into()],
            options.into(),
        )
    }

    /// The numbers `start + i·step` up to but not including `end`: PyTorch's `arange(start, end, step)`. Without a dtype
    /// they are `I64` if all three are integers, otherwise of the default one.
    ///
    /// Floating-point numbers are computed in `f64` and rounded once.
    ///
    /// # Errors
    ///
    /// A step of 0, an end in the wrong direction, numbers that are not finite, a floating-point number for integers,
    /// `Bool`, a range that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::arange_step(0.0, 1.0, 0.25, DType::F32)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75]);
    /// let x = Tensor::arange_step(5, 0, -2, DType::I64)?;
    /// assert_eq!(x.to_vec::<i64>()?, [5, 3, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn arange_step(
        start: impl Into<Scalar>,
        end: impl Into<Scalar>,
        step: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        let scalars = [start.into(), end.into(), step.into()];
        range("arange_step", scalars, options.into())
    }

    /// `steps` equidistant numbers from `start` to `end`, inclusive.
    ///
    /// Each is `start + i·step` or `end - i·step`, from the nearer end, rounded once as in PyTorch: in `f64`, or in `f32`
    /// for `F32` and half precision, and then to the dtype; for integers, toward 0.
    ///
    /// # Errors
    ///
    /// `Bool`, more steps than memory can hold.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::linspace(0.0, 1.0, 5, DType::F32)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn linspace(
        start: f64,
        end: f64,
        steps: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        const NAME: &str = "linspace";
        let options = options.into();
        let dtype = options.dtype_or_default();
        numbers(NAME, dtype, false)?;
        Shape::from(steps).checked_numel(NAME, size_of::<f64>())?;
        check_host_allocatable::<f64>(steps)?;
        let values = match dtype {
            DType::F32 | DType::F16 | DType::BF16 => {
                let [start, end] = [start, end].map(|end| dtype.rounded(end) as f32);
                let step = if steps < 2 {
                    0.0
                } else {
                    (end - start) / (steps - 1) as f32
                };
                from_nearer_end(
                    steps,
                    move |i| step.mul_add(i as f32, start),
                    move |i| (-step).mul_add(i as f32, end),
                )
            }
            _ => {
                // Integers between the ends are computed as integers.
                let [start, end] = match dtype.is_floating_point() {
                    true => [start, end],
                    false => [start.trunc(), end.trunc()],
                };
                let step = if steps < 2 {
                    0.0
                } else {
                    (end - start) / (steps - 1) as f64
                };
                from_nearer_end(
                    steps,
                    move |i| step.mul_add(i as f64, start),
                    move |i| (-step).mul_add(i as f64, end),
                )
            }
        };
        options.move_and_track(NAME, values?.to_dtype(dtype)?)
    }

    /// A matrix of `n` rows and `m` columns with ones on its diagonal and zeros elsewhere.
    ///
    /// # Errors
    ///
    /// A shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::eye(2, 3, DType::I64)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 0, 0, 0, 1, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn eye(n: usize, m: usize, options: impl Into<TensorOptions>) -> Result<Self> {
        let options = options.into();
        let dtype = options.dtype_or_default();
        let shape = Shape::from([n, m]);
        shape.checked_numel("eye", dtype.size_in_bytes())?;
        let ones = Self::ones([n.min(m)], (dtype, options.device_or_default()))?;
        let diagonal = Layout::contiguous(shape.clone()).diagonal([0, 1], [0, 0], n.min(m));
        options.track("eye", ones.as_strided_scatter(&shape, &diagonal, 0.into())?)
    }
}

/// The numbers from the first of three up to but not including the second, in steps of the third.
fn range(op: &'static str, scalars: [Scalar; 3], options: TensorOptions) -> Result<Tensor> {
    let any_float = scalars.iter().any(|scalar| scalar.is_float());
    let dtype = match any_float {
        true => options.dtype_or_default(),
        false => options.dtype_or(DType::I64),
    };
    numbers(op, dtype, any_float)?;
    let fail = |problem: &str| {
        let [start, end, step] = scalars;
        let range = format_args!("({start}, {end}, {step})");
        Error::argument(op, "(start, end, step)", range, problem)
    };
    let direction = "has a step of 0 or one that leads away from the end";
    let count = |length: usize| -> Result<()> {
        Shape::from(length).checked_numel(op, size_of::<f64>())?;
        check_host_allocatable::<f64>(length)
    };
    let values = if let [Scalar::Int(start), Scalar::Int(end), Scalar::Int(step)] = scalars {
        let distance = i128::from(end) - i128::from(start);
        let step = i128::from(step);
        if step == 0 || distance.signum() == -step.signum() {
            return Err(fail(direction));
        }
        // Rounded up, away from 0.
        let length = (distance + step - step.signum()) / step;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        count(length)?;
        // The distance from the start may overflow even if the number itself, which is within the end, does not.
        let step = step as i64;
        let value = move |i: i64| start.wrapping_add(i.wrapping_mul(step));
        match dtype {
            DType::F32 => counted(length, move |i| value(i) as f32)?,
            _ => counted(length, value)?,
        }
    } else {
        let [start, end, step] = scalars.map(Scalar::to_f64);
        let length = ((end - start) / step).ceil();
        if !(start.is_finite() && end.is_finite() && step.is_finite()) {
            return Err(fail("must be finite"));
        }
        if step == 0.0 || length < 0.0 {
            return Err(fail(direction));
        }
        // A length beyond the integers saturates; there is no memory for it.
        let length = length as usize;
        count(length)?;
        let value = move |i: i64| start + i as f64 * step;
        match dtype {
            DType::F32 => counted(length, move |i| value(i) as f32)?,
            _ => counted(length, value)?,
        }
    };
    options.move_and_track(op, values.to_dtype(dtype)?)
}

/// A vector of what the numbers from 0 on give.
fn counted<T: Element>(length: usize, value: impl Fn(i64) -> T) -> Result<Tensor> {
    let mut values = cpu_scratch::<T>(length)?;
    run_at_best_level(Count {
        slots: values.iter_mut(),
        value,
    });
    Ok(Tensor::fresh(cpu_storage(values), length.into()))
}

/// Numbers from how many steps each is away from the nearer end; a single number is the start.
fn from_nearer_end<T: Element>(
    steps: usize,
    from_start: impl Fn(i64) -> T,
    from_end: impl Fn(i64) -> T,
) -> Result<Tensor> {
    let mut values = cpu_scratch::<T>(steps)?;
    let (first, last) = values.split_at_mut((steps / 2).max(1).min(steps));
    run_at_best_level(Count {
        slots: first.iter_mut(),
        value: from_start,
    });
    run_at_best_level(Count {
        slots: last.iter_mut().rev(),
        value: from_end,
    });
    Ok(Tensor::fresh(cpu_storage(values), steps.into()))
}

/// Fills slots with what their numbers give. In code for every processor, a fused multiplication and addition is a call.
struct Count<S, F> {
    slots: S,
    value: F,
}

impl<'a, T: 'a, S: Iterator<Item = &'a mut T>, F: Fn(i64) -> T> Loop for Count<S, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self { slots, value } = self;
        for (i, slot) in (0..).zip(slots) {
            *slot = value(i);
        }
    }
}

/// Checks that a dtype holds numbers, and fractions if there are any.
fn numbers(op: &'static str, dtype: DType, fractions: bool) -> Result<()> {
    let needs = match dtype {
        DType::Bool => "a dtype of numbers",
        _ if fractions && !dtype.is_floating_point() => {
            "a floating-point dtype for floating-point numbers"
        }
        _ => return Ok(()),
    };
    Err(DTypeError::Unsupported { op, dtype, needs }.into())
}
