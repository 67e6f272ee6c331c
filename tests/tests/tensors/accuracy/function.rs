//! Elementwise functions of one operand, with their derivatives.

use module_nn::{DType, Result, Tensor};

use super::case::{Case, Element, tensor};

/// A function of one element.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) operation: fn(&Tensor) -> Result<Tensor>,
    /// The least and the greatest argument.
    pub(super) domain: [f64; 2],
    pub(super) value: fn(f64) -> f64,
    /// The scale of the value.
    pub(super) scale: fn(f64) -> f64,
    pub(super) slope: fn(f64) -> f64,
    /// The scale of the derivative.
    pub(super) slope_scale: fn(f64) -> f64,
    /// Those of the value and of the gradient.
    pub(super) bounds: [f64; 2],
}

impl Function {
    /// One whose value and derivative are their own scales.
    pub(super) const fn new(
        name: &'static str,
        operation: fn(&Tensor) -> Result<Tensor>,
        domain: [f64; 2],
        value: fn(f64) -> f64,
        slope: fn(f64) -> f64,
        bounds: [f64; 2],
    ) -> Self {
        Self {
            name,
            operation,
            domain,
            value,
            scale: value,
            slope,
            slope_scale: slope,
            bounds,
        }
    }

    pub(super) const fn scale(mut self, scale: fn(f64) -> f64) -> Self {
        self.scale = scale;
        self
    }

    pub(super) const fn slope_scale(mut self, scale: fn(f64) -> f64) -> Self {
        self.slope_scale = scale;
        self
    }

    pub(super) fn case(&'static self, count: usize) -> Case {
        self.with(format!("{} of {count}", self.name), count, |x| {
            (self.operation)(x)
        })
    }

    /// The function of a matrix whose columns are contiguous.
    pub(super) fn case_of_columns(&'static self, [rows, columns]: [usize; 2]) -> Case {
        let name = format!("{} of {rows} columns {columns}", self.name);
        self.with(name, rows * columns, move |x| {
            let turned = x.reshape([rows, columns])?.t()?;
            (self.operation)(&turned)?.t()?.reshape([rows * columns])
        })
    }

    fn with(
        &'static self,
        name: String,
        count: usize,
        operation: impl Fn(&Tensor) -> Result<Tensor> + 'static,
    ) -> Case {
        let operands = vec![tensor(spread(self.domain, count), &[count])];
        let operation = move |x: &[Tensor]| operation(&x[0]);
        let [bound, slope_bound] = self.bounds;
        Case::new(
            name,
            operands,
            operation,
            Box::new(move |operands, grad| {
                let value = |&x: &f64| Element::near((self.value)(x), (self.scale)(x), bound);
                let slope = |(&x, grad): (&f64, &f64)| {
                    let (slope, scale) = ((self.slope)(x), (self.slope_scale)(x));
                    Element::near(grad * slope, grad * scale, slope_bound)
                };
                let x = &operands[0];
                vec![
                    x.iter().map(value).collect(),
                    x.iter().zip(grad).map(slope).collect(),
                ]
            }),
        )
    }
}

/// Numbers of a domain: half of them equally far from each other, half of them of every magnitude down to `2⁻³⁰`.
pub(super) fn spread([low, high]: [f64; 2], count: usize) -> Vec<f32> {
    let most = low.abs().max(high.abs());
    let octaves = most.log2() + 30.0;
    let number = |i: usize| {
        // Multiples of the golden ratio lie evenly, and no two coincide.
        let share = (i as f64 * 0.618_033_988_749_895).fract();
        let even = low + (high - low) * share;
        let magnitude = most * (-octaves * share).exp2();
        let other = if i % 4 == 1 { magnitude } else { -magnitude };
        let inside = (low..=high).contains(&other);
        let x = if i % 2 == 1 && inside { other } else { even } as f32;
        // The bounds themselves may not be numbers of `f32`.
        x.clamp(low as f32, high as f32)
    };
    (0..count).map(number).collect()
}

/// Above the size from which threads share the work, and no multiple of a vector.
pub(super) const MANY: usize = (1 << 17) + 13;

/// Around vectors, the 1,024 elements from which memory is aligned, and pieces of 4,096.
pub(super) const COUNTS: [usize; 9] = [1, 3, 15, 16, 17, 65, 1025, 4095, 4097];

/// Our kernel for `f64`, which calls another library for functions that the standard library lacks.
pub(super) fn double(x: f64, function: fn(&Tensor) -> Result<Tensor>) -> f64 {
    let y = function(&Tensor::from([x]).to_dtype(DType::F64).unwrap()).unwrap();
    y.to_vec::<f64>().unwrap()[0]
}
