//! Update formulas, evaluated element by element in the order of their steps.

use module_tensor::backend::{
    Formula, FormulaOp, FormulaStep, HostData, Operand, Storage, UpdateKernels,
};
use module_tensor::{DType, Device, Layout, Result, Shape};

use crate::storage::{MirrorStorage, len};
use crate::{Family, Mirror};

impl UpdateKernels for Mirror {
    fn serves(&self, dtype: DType) -> bool {
        matches!(dtype, DType::F32 | DType::F64)
    }

    fn update(
        &self,
        written: &mut [&mut Storage],
        read: &[Operand],
        formula: &Formula,
    ) -> Result<()> {
        let Some(first) = written.first() else {
            return Ok(());
        };
        let (dtype, shape) = (first.dtype(), self.shape_of(first, read)?);
        self.note(Family::Updates, dtype);
        let mut columns = Vec::new();
        for x in written.iter() {
            let data: &MirrorStorage = x.data("update_elements", self.device())?;
            let (storage, layout) = (data.behind.clone(), Layout::contiguous(shape.clone()));
            columns.push(numbers(&Operand { storage, layout })?);
        }
        for x in read {
            columns.push(numbers(&self.read(x.clone())?)?);
        }
        let round = |v: f64| {
            if dtype == DType::F32 {
                f64::from(v as f32)
            } else {
                v
            }
        };
        let mut results = vec![Vec::new(); written.len()];
        for i in 0..shape.numel() {
            let mut values: Vec<f64> = columns.iter().map(|column| column[i]).collect();
            for FormulaStep { op, inputs } in &formula.steps {
                let [a, b, c] = inputs.map(|i| values[i]);
                values.push(computed(*op, [a, b, c], round));
            }
            for (to, &result) in results.iter_mut().zip(&formula.results) {
                to.push(values[result]);
            }
        }
        for (to, values) in written.iter_mut().zip(results) {
            let data = match dtype {
                DType::F32 => HostData::F32(values.into_iter().map(|v| v as f32).collect()),
                _ => HostData::F64(values),
            };
            **to = self.hide(Device::cpu().backend().upload(data)?);
        }
        Ok(())
    }
}

impl Mirror {
    /// The shape of an update: of what is read, if there is any.
    fn shape_of(&self, written: &Storage, read: &[Operand]) -> Result<Shape> {
        if let Some(x) = read.first() {
            return Ok(x.layout.shape().clone());
        }
        let data: &MirrorStorage = written.data("update_elements", self.device())?;
        Ok([len(&data.behind)].into())
    }
}

fn numbers(x: &Operand) -> Result<Vec<f64>> {
    Ok(match Device::cpu().backend().download(x)? {
        HostData::F32(values) => values.into_iter().map(f64::from).collect(),
        HostData::F64(values) => values,
        _ => Vec::new(),
    })
}

/// Sums, products, quotients and square roots of `f32` that are rounded from `f64` equal those of `f32`.
fn computed(op: FormulaOp, [a, b, c]: [f64; 3], round: impl Fn(f64) -> f64) -> f64 {
    let times = |number: f64, v: f64| round(round(number) * v);
    round(match op {
        FormulaOp::Neg => -a,
        FormulaOp::Abs => a.abs(),
        FormulaOp::Recip => 1.0 / a,
        FormulaOp::Sqrt => a.sqrt(),
        FormulaOp::Sign if a > 0.0 => 1.0,
        FormulaOp::Sign if a < 0.0 => -1.0,
        FormulaOp::Sign => 0.0,
        FormulaOp::Add => a + b,
        FormulaOp::Sub => a - b,
        FormulaOp::Mul => a * b,
        FormulaOp::Div => a / b,
        FormulaOp::Maximum if a.is_nan() || a > b => a,
        FormulaOp::Maximum => b,
        FormulaOp::AddNumber(number) => a + round(number),
        FormulaOp::MulNumber(number) => a * round(number),
        FormulaOp::DivNumber(number) => a / round(number),
        FormulaOp::Clamp(min, max) => a.max(round(min)).min(round(max)),
        FormulaOp::AddScaled(s) => a + times(s, b),
        FormulaOp::AddProduct(s) => a + round(times(s, b) * c),
        FormulaOp::AddQuotient(s) => a + round(times(s, b) / c),
        FormulaOp::Lerp(w) if w < 0.5 => a + times(w, round(b - a)),
        FormulaOp::Lerp(w) => b + times(w - 1.0, round(b - a)),
        FormulaOp::WherePositive => return if a > 0.0 { b } else { c },
        other => unreachable!("{other:?} is not an operation that the mirror knows"),
    })
}
