//! Formulas of optimizers, each as one kernel.

use module_tensor::backend::{Formula, FormulaOp, FormulaStep, Operand, Storage, UpdateKernels};
use module_tensor::{DType, Layout, Result};

use crate::elem::Elem;
use crate::gpu::{Gpu, Launch, word};
use crate::map::{NAMES, library};
use crate::pool::Memory;
use crate::spread::Spread;
use crate::storage::GpuStorage;

const NAME: &str = "update_elements";

/// The number of the first parameter of a formula.
const FIRST: usize = 1;

/// The expression of a step, whose numbers are parameters; they are appended.
fn step(op: FormulaOp, [a, b, c]: [String; 3], numbers: &mut Vec<u32>) -> Option<String> {
    let mut number = |value: f64| {
        numbers.push((value as f32).to_bits());
        format!("$f{}", FIRST + numbers.len())
    };
    Some(match op {
        FormulaOp::Neg => format!("-{a}"),
        FormulaOp::Abs => format!("abs({a})"),
        FormulaOp::Recip => format!("divided(1.0, {a})"),
        FormulaOp::Sqrt => format!("sqrt_({a})"),
        FormulaOp::Sign => format!("sign_({a})"),
        FormulaOp::Add => format!("{a} + {b}"),
        FormulaOp::Sub => format!("{a} - {b}"),
        FormulaOp::Mul => format!("{a} * {b}"),
        FormulaOp::Div => format!("divided({a}, {b})"),
        FormulaOp::Maximum => format!("greater({a}, {b})"),
        FormulaOp::AddNumber(s) => format!("{a} + {}", number(s)),
        FormulaOp::MulNumber(s) => format!("{a} * {}", number(s)),
        FormulaOp::DivNumber(s) => format!("divided({a}, {})", number(s)),
        FormulaOp::Clamp(low, high) => {
            let low = number(low);
            format!("clamp_({a}, {low}, {})", number(high))
        }
        FormulaOp::AddScaled(s) => format!("{a} + {} * {b}", number(s)),
        FormulaOp::AddProduct(s) => format!("{a} + ({} * {b}) * {c}", number(s)),
        FormulaOp::AddQuotient(s) => format!("{a} + divided({} * {b}, {c})", number(s)),
        FormulaOp::Lerp(w) if w < 0.5 => format!("{a} + {} * ({b} - {a})", number(w)),
        FormulaOp::Lerp(w) => format!("{b} + {} * ({b} - {a})", number(w - 1.0)),
        FormulaOp::WherePositive => format!("select({c}, {b}, !is_nan({a}) && {a} > 0.0)"),
        _ => return None,
    })
}

/// The statements of a formula and its numbers; `None` if it has an operation that is not known here.
fn statements(formula: &Formula) -> Option<(String, Vec<u32>)> {
    let (mut code, mut numbers) = (String::new(), Vec::new());
    let first = formula.written + formula.read;
    for (i, FormulaStep { op, inputs }) in formula.steps.iter().enumerate() {
        let inputs = inputs.map(|input| format!("v{input}"));
        let value = step(*op, inputs, &mut numbers)?;
        code.push_str(&format!("    let v{} = {value};\n", first + i));
    }
    Some((code, numbers))
}

/// The part of a pipeline's key for a formula: its steps without their numbers.
fn key(formula: &Formula) -> String {
    let mut key = format!("{NAME} {} {}", formula.written, formula.read);
    for FormulaStep { op, inputs } in &formula.steps {
        let name = match op {
            FormulaOp::Lerp(w) => format!("Lerp{}", *w < 0.5),
            op => format!("{op:?}"),
        };
        let name = name.split('(').next().unwrap_or_default();
        key.push_str(&format!(" {name} {inputs:?}"));
    }
    key + &format!(" {:?}", formula.results)
}

impl UpdateKernels for Gpu {
    fn serves(&self, dtype: DType) -> bool {
        dtype == DType::F32
    }

    fn update(
        &self,
        written: &mut [&mut Storage],
        read: &[Operand],
        formula: &Formula,
    ) -> Result<()> {
        self.apply_formula(NAME, written, read, formula)
    }
}

impl Gpu {
    /// Computes a formula in place, for an operation that errors name.
    pub(super) fn apply_formula(
        &self,
        op: &'static str,
        written: &mut [&mut Storage],
        read: &[Operand],
        formula: &Formula,
    ) -> Result<()> {
        let Some((code, numbers)) = statements(formula) else {
            return Err(self.device().unavailable(op));
        };
        let count = match (read.first(), written.first()) {
            (Some(x), _) => x.layout.shape().numel(),
            (None, Some(x)) => x.data::<GpuStorage>(op, self.device())?.numel,
            (None, None) => return Ok(()),
        };
        if count == 0 {
            return Ok(());
        }
        let read = read.iter().map(|x| self.in_order(op, x.clone()));
        let read = read.collect::<Result<Vec<_>>>()?;
        // Memory that other handles share is replaced by a copy.
        let mut targets = Vec::new();
        for to in written.iter_mut() {
            to.data::<GpuStorage>(op, self.device())?;
            let own = to
                .downcast_mut::<GpuStorage>()
                .map(|data| data.memory.clone());
            targets.push(match own {
                Some(memory) => (memory, None),
                None => {
                    let data: &GpuStorage = to.data(op, self.device())?;
                    let layout = Layout::contiguous(data.numel.into());
                    let storage = (**to).clone();
                    let copy = self.copy_elements(op, &Operand { storage, layout })?;
                    let memory = copy.data::<GpuStorage>(op, self.device())?.memory.clone();
                    (memory, Some(copy))
                }
            });
        }
        let reads = read.iter().map(|x| Ok(&self.data(op, x)?.memory));
        let reads: Vec<&Memory> = reads.collect::<Result<_>>()?;
        let writes: Vec<&Memory> = targets.iter().map(|(memory, _)| memory).collect();
        let mut parameters = vec![word(op, count)?, 0];
        parameters.extend(numbers);
        let spread = Spread::new(count);
        let source = || source(formula, &code) + &spread.entry();
        self.launch(Launch {
            op,
            key: key(formula) + spread.key(),
            reads: &reads,
            writes: &writes,
            parameters: &parameters,
            groups: spread.groups(count),
            source: &source,
        })?;
        for (to, (_, copy)) in written.iter_mut().zip(targets) {
            if let Some(copy) = copy {
                **to = copy;
            }
        }
        Ok(())
    }
}

fn source(formula: &Formula, code: &str) -> String {
    let Formula { written, read, .. } = *formula;
    let mut source = String::new();
    let mut loads = String::new();
    for (i, name) in (0..read).zip(NAMES) {
        let binding = i + 1;
        source.push_str(&format!(
            "@group(0) @binding({binding}) var<storage, read> {name}_memory: array<u32>;\n"
        ));
        source.push_str(&Elem::F32.reader(name, &format!("{name}_memory")));
        loads.push_str(&format!("    let v{} = {name}(i);\n", written + i));
    }
    let mut stores = String::new();
    for (i, result) in (0..written).zip(&formula.results) {
        let binding = read + i + 1;
        source.push_str(&format!(
            "@group(0) @binding({binding}) var<storage, read_write> out_{i}: array<u32>;\n"
        ));
        loads.push_str(&format!("    let v{i} = bitcast<f32>(out_{i}[i]);\n"));
        stores.push_str(&format!("    out_{i}[i] = bitcast<u32>(v{result});\n"));
    }
    source
        + library()
        + &format!(
            "
fn visit(i: u32) {{
    if i >= $0 {{ return; }}
{loads}{code}{stores}}}
"
        )
}
