//! Elementwise formulas that change several tensors in one pass.

mod expr;

use smallvec::SmallVec;

use crate::backend::{
    ByFormula, CompiledFormula, Formula, FormulaOp, FormulaStep, UpdateFormula, cpu_computes,
    cpu_unshare, update_cpu,
};
use crate::tensor::{NoGradient, Tensor};
use crate::{DType, Result};

const NAME: &str = "update_elements";

/// Updates tensors element by element, by a formula of their elements and those of others, in one pass over memory: an
/// optimizer step composed of operations would be memory-bound.
///
/// The results have no gradient. The memory of the written tensors is overwritten in place if nothing else shares it, so
/// that no other tensor changes; an error leaves them unchanged. In half precision each operation rounds its result.
///
/// # Errors
///
/// Tensors of different shapes, dtypes or devices; a dtype that is not floating-point.
///
/// # Example
///
/// An SGD step with momentum:
///
/// ```
/// use module_tensor::Tensor;
/// use module_tensor::fused::{Real, UpdateFormula, update_elements};
///
/// #[derive(Clone, Copy)]
/// struct Momentum {
///     lr: f64,
///     kept: f64,
/// }
///
/// impl UpdateFormula<2, 1> for Momentum {
///     #[inline]
///     fn apply<T: Real>(self, [value, momentum]: [T; 2], [grad]: [T; 1]) -> [T; 2] {
///         let momentum = momentum * self.kept + grad;
///         [value.add_scaled(momentum, -self.lr), momentum]
///     }
/// }
///
/// let (mut value, mut momentum) = (Tensor::from([1.0, 2.0]), Tensor::from([0.5, 0.0]));
/// let grad = Tensor::from([1.0, -1.0]);
/// let formula = Momentum { lr: 0.5, kept: 0.5 };
/// update_elements([&mut value, &mut momentum], [&grad], formula)?;
/// assert_eq!(momentum.to_vec::<f64>()?, [1.25, -1.0]);
/// assert_eq!(value.to_vec::<f64>()?, [0.375, 2.5]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn update_elements<const W: usize, const R: usize>(
    mut written: [&mut Tensor; W],
    read: [&Tensor; R],
    formula: impl UpdateFormula<W, R>,
) -> Result<()> {
    let record = || expr::record(formula);
    update_untracked(&mut written, &read, &ByFormula(formula), &record)
}

/// Applies the formula, and marks the results as having no gradient.
fn update_untracked(
    written: &mut [&mut Tensor],
    read: &[&Tensor],
    formula: &dyn CompiledFormula,
    record: &dyn Fn() -> Formula,
) -> Result<()> {
    check(written, read)?;
    // No other handle must hold the memory while it is written.
    let edges: SmallVec<[_; 4]> = written.iter_mut().map(|x| x.edge.take()).collect();
    let done = update(written, read, formula, record);
    let is_tracked = edges.iter().chain(read.iter().map(|x| &x.edge));
    if is_tracked.flatten().next().is_some() {
        let tensors = written.iter().zip(edges);
        let before = tensors.map(|(x, edge)| Tensor {
            edge,
            ..(**x).clone()
        });
        let before: Vec<_> = before.collect();
        for (x, before_x) in written.iter_mut().zip(&before) {
            let inputs = before.iter().chain(read.iter().copied());
            **x = match done {
                Ok(()) => x.clone().record(inputs, |_| NoGradient(NAME)),
                Err(_) => before_x.clone(),
            };
        }
    }
    done
}

/// Gives a tensor its own memory, a copy if another handle shares it, so that [`update_elements`] need not copy: code that
/// must change several tensors or none calls this for all of them first.
///
/// # Errors
///
/// Not enough memory for the copy; the tensor is unchanged.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
/// use module_tensor::fused::unshare;
///
/// let x = Tensor::from([1.0_f32, 2.0]);
/// let mut own = x.clone();
/// unshare(&mut own)?;
/// assert_eq!(own.to_vec::<f32>()?, x.to_vec::<f32>()?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn unshare(x: &mut Tensor) -> Result<()> {
    if !cpu_computes(x.device(), x.dtype()) {
        return Ok(());
    }
    let edge = x.edge.take();
    let numel = x.numel();
    let done = x
        .lie_from_start()
        .and_then(|()| cpu_unshare(&mut x.storage, numel));
    x.edge = edge;
    done
}

fn check(written: &[&mut Tensor], read: &[&Tensor]) -> Result<()> {
    let Some((first, others)) = written.split_first() else {
        return Ok(());
    };
    let others = others.iter().map(|x| &**x);
    first.check_step(NAME, others.chain(read.iter().copied()))
}

fn update(
    written: &mut [&mut Tensor],
    read: &[&Tensor],
    formula: &dyn CompiledFormula,
    record: &dyn Fn() -> Formula,
) -> Result<()> {
    let Some((device, dtype, numel)) = written.first().map(|x| (x.device(), x.dtype(), x.numel()))
    else {
        return Ok(());
    };
    let kernels = device.backend().updates();
    let kernels = kernels.filter(|kernels| kernels.serves(dtype));
    let by_cpu = cpu_computes(device, dtype);
    if !by_cpu && kernels.is_none() {
        return update_composed(written, read, &record());
    }
    written.iter_mut().try_for_each(|x| x.lie_from_start())?;
    let operands: SmallVec<[_; 4]> = read.iter().map(|x| x.operand()).collect();
    let storages = written.iter_mut().map(|x| &mut x.storage);
    let mut storages: SmallVec<[_; 4]> = storages.collect();
    match kernels.filter(|_| !by_cpu) {
        Some(kernels) => kernels.update(&mut storages, &operands, &record()),
        None => update_cpu(NAME, &mut storages, &operands, numel, formula),
    }
}

fn update_composed(written: &mut [&mut Tensor], read: &[&Tensor], formula: &Formula) -> Result<()> {
    let Some(dtype) = written.first().map(|x| x.dtype()) else {
        return Ok(());
    };
    let inputs = written.iter().map(|x| &**x).chain(read.iter().copied());
    let values = inputs.map(|x| x.detach().widened());
    let mut values = values.collect::<Result<Vec<Tensor>>>()?;
    for FormulaStep { op, inputs } in &formula.steps {
        let [a, b, c] = inputs.map(|i| &values[i]);
        values.push(compute(*op, dtype, [a, b, c])?.to_dtype(dtype)?.widened()?);
    }
    let results = formula.results.iter().map(|&i| values[i].to_dtype(dtype));
    let results = results.collect::<Result<Vec<Tensor>>>()?;
    for (x, result) in written.iter_mut().zip(results) {
        **x = result;
    }
    Ok(())
}

/// One step, whose operands are widened from `dtype`.
fn compute(op: FormulaOp, dtype: DType, [a, b, c]: [&Tensor; 3]) -> Result<Tensor> {
    match op {
        FormulaOp::Neg => a.neg(),
        FormulaOp::Abs => a.abs(),
        FormulaOp::Recip => a.reciprocal(),
        FormulaOp::Sqrt => a.sqrt(),
        FormulaOp::Sign => a.sign(),
        FormulaOp::Add => a.add(b),
        FormulaOp::Sub => a.sub(b),
        FormulaOp::Mul => a.mul(b),
        FormulaOp::Div => a.div(b),
        FormulaOp::Maximum => a.maximum(b),
        FormulaOp::AddNumber(s) => a.add(s),
        FormulaOp::MulNumber(s) => a.mul(s),
        FormulaOp::DivNumber(s) => a.div(s),
        FormulaOp::Clamp(min, max) => a.clamp(min, max),
        FormulaOp::AddScaled(s) => a.add_scaled(b, dtype.rounded(s)),
        FormulaOp::AddProduct(s) => a.add(&b.mul(s)?.mul(c)?),
        FormulaOp::AddQuotient(s) => a.add(&b.mul(s)?.div(c)?),
        FormulaOp::Lerp(weight) => {
            let difference = b.sub(a)?;
            match weight < 0.5 {
                true => a.add_scaled(&difference, weight),
                false => b.add_scaled(&difference, weight - 1.0),
            }
        }
        FormulaOp::WherePositive => a.gt(0.0)?.where_(b, c),
    }
}

#[cfg(test)]
mod tests;
