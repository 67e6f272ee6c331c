//! One case: an operation in `f32`, its reference in `f64`, and how far apart they may be.

use module_nn::{BackwardOptions, DType, Result, Tensor, fork_rng, set_num_threads};
use module_tests::processes::ran_in_a_child;

/// What one element of an output or of a gradient is compared with.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    pub(crate) value: f64,
    /// A unit in the last place of its scale.
    pub(crate) unit: f64,
    /// The greatest error, in such units.
    pub(crate) bound: f64,
}

impl Element {
    /// Of an elementwise function.
    pub(crate) fn near(value: f64, scale: f64, bound: f64) -> Self {
        let unit = ulp(scale);
        Self { value, unit, bound }
    }

    /// Of a sum of products whose magnitudes add up to `scale`.
    pub(crate) fn sum(value: f64, scale: f64, bound: f64) -> Self {
        let unit = scale * f64::from(f32::EPSILON);
        Self { value, unit, bound }
    }
}

/// The distance from a number's magnitude to the next in `f32`.
fn ulp(x: f64) -> f64 {
    let x = x.abs() as f32;
    f64::from(x.next_up()) - f64::from(x)
}

pub(crate) type Operation = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;

/// From the values of the operands and the gradient of the output: the output and the gradients of the operands.
pub(crate) type Reference = Box<dyn Fn(&[Vec<f64>], &[f64]) -> Vec<Vec<Element>>>;

pub(crate) struct Case {
    pub(crate) name: String,
    /// All of them get gradients.
    pub(crate) operands: Vec<Tensor>,
    pub(crate) operation: Operation,
    pub(crate) reference: Reference,
}

/// Normally distributed numbers.
pub(crate) fn draw(shape: &[usize], seed: u64) -> Tensor {
    fork_rng(seed, || Tensor::randn(shape.to_vec(), DType::F32)).unwrap()
}

/// Numbers whose sums do not cancel.
pub(crate) fn draw_positive(shape: &[usize], seed: u64) -> Tensor {
    draw(shape, seed).abs().unwrap()
}

pub(crate) fn tensor(values: Vec<f32>, shape: &[usize]) -> Tensor {
    Tensor::from_vec(values, shape.to_vec()).unwrap()
}

fn widened(x: &Tensor) -> Vec<f64> {
    x.to_dtype(DType::F64).unwrap().to_vec().unwrap()
}

impl Case {
    pub(crate) fn new(
        name: impl Into<String>,
        operands: Vec<Tensor>,
        operation: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
        reference: Reference,
    ) -> Self {
        Self {
            name: name.into(),
            operands,
            operation: Box::new(operation),
            reference,
        }
    }

    /// The output and the gradients, and the gradient of the output.
    fn run(&self) -> Result<(Vec<Vec<f32>>, Tensor)> {
        let leaves = self.operands.iter().map(|x| x.detach().with_grad());
        let leaves = leaves.collect::<Result<Vec<_>>>()?;
        let y = (self.operation)(&leaves)?;
        let grad = draw(y.shape(), 99);
        y.backward_with(&grad, BackwardOptions::default())?;
        let mut results = vec![y.detach().to_vec()?];
        for leaf in &leaves {
            results.push(leaf.grad().expect("a gradient").to_vec()?);
        }
        Ok((results, grad))
    }

    /// The greatest errors of the output and of the gradients, in units, or what is wrong.
    fn errors(&self) -> std::result::Result<Vec<f64>, String> {
        let bits = |results: &[Vec<f32>]| -> Vec<Vec<u32>> {
            let of = |x: &Vec<f32>| x.iter().map(|v| v.to_bits()).collect();
            results.iter().map(of).collect()
        };
        set_num_threads(1);
        let (results, grad) = self.run().map_err(|error| error.to_string())?;
        let alone = bits(&results);
        for threads in [2, 3] {
            set_num_threads(threads);
            let (results, _) = self.run().map_err(|error| error.to_string())?;
            if bits(&results) != alone {
                return Err(format!("other bits with {threads} threads"));
            }
        }
        let operands: Vec<_> = self.operands.iter().map(widened).collect();
        let expected = (self.reference)(&operands, &widened(&grad));
        assert_eq!(results.len(), expected.len(), "{}", self.name);
        let mut worst = vec![0.0_f64; results.len()];
        for (of, (results, expected)) in results.iter().zip(&expected).enumerate() {
            assert_eq!(results.len(), expected.len(), "{}, result {of}", self.name);
            for (i, (&got, element)) in results.iter().zip(expected).enumerate() {
                let error = (f64::from(got) - element.value).abs();
                let allowed = element.bound * element.unit;
                if error.is_nan() || error > allowed {
                    let what = match of {
                        0 => "the output".to_owned(),
                        of => format!("the gradient of operand {}", of - 1),
                    };
                    return Err(format!(
                        "element {i} of {what} is {got:e} and not {:e}: off by {:.2} ULP, and not {:.2}",
                        element.value,
                        error / element.unit,
                        element.bound
                    ));
                }
                if error > 0.0 {
                    worst[of] = worst[of].max(error / element.unit);
                }
            }
        }
        Ok(worst)
    }
}

/// Checks all cases in a child process, because the number of threads belongs to the process.
pub(crate) fn check(test: &str, cases: fn() -> Vec<Case>) {
    if ran_in_a_child(&format!("accuracy::{test}")) {
        return;
    }
    let capability = module_nn::cpu_capability();
    let mut failures = Vec::new();
    for case in cases() {
        match case.errors() {
            Ok(errors) => {
                let errors = errors.iter().map(|error| format!("{error:.2}"));
                let errors = errors.collect::<Vec<_>>().join(" ");
                println!("{test} with {capability}: {}: {errors}", case.name);
            }
            Err(error) => failures.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(
        failures.is_empty(),
        "{test} with {capability}:\n{}",
        failures.join("\n")
    );
}
