//! Products of 8-bit integers: inputs are rounded row by row, as on the CPU.

use module_tensor::backend::{Operand, ReduceOp, Storage};
use module_tensor::{DType, Layout, Result};

use crate::elem::Elem;
use crate::elementwise::{Code, Elementwise};
use crate::gpu::{Gpu, word};
use crate::map::FIRST;
use crate::packed::{PackedStorage, Scheme};
use crate::product::{Factors, PRODUCT_FIRST, Product};
use crate::storage::GpuStorage;

const NAME: &str = "packed_matmul";

/// So many products of 8-bit integers are summed in 32 bits without overflow.
const MOST_TERMS: usize = (i32::MAX / (127 * 128)) as usize;

/// The scale and the zero point of a row of inputs from its least and greatest element, by PyTorch's rule for integers from 0 to
/// 127; a NaN scale for a row that has NaN or an infinity, which would otherwise be hidden.
const ROUNDING: &str = "
fn rounding(low: f32, high: f32) -> vec2<f32> {
    if is_nan(low) || is_nan(high) { return vec2<f32>(nan(), 0.0); }
    let least = min(low, 0.0);
    let greatest = max(high, 0.0);
    let range = greatest - least;
    if is_inf(range) { return vec2<f32>(nan(), 0.0); }
    // What the subtraction and the division round off is added again.
    let above = range - greatest;
    let lost = (greatest - (range - above)) - (least + above);
    let near = range / 127.0;
    var scale = near + (fma(-near, 127.0, range) + lost) / 127.0;
    // Numbers below have no inverse.
    if !(scale > 2.9387359e-39) { scale = 0.1; }
    let zero = clamp(round(-least / scale), 0.0, 127.0);
    return vec2<f32>(max(scale, 6.1e-5), zero);
}
";

impl Gpu {
    /// The product with a packed matrix whose inputs are rounded, plus a row if there is one; `None` if they are not: for other
    /// schemes, gradients, and views that do not keep rows whole.
    pub(super) fn multiply_rounded(
        &self,
        row: Option<&Operand>,
        a: &Operand,
        b: &Operand,
        packed: &PackedStorage,
    ) -> Result<Option<Storage>> {
        let Scheme::Int8 {
            group_size,
            rounds_inputs: true,
        } = packed.scheme
        else {
            return Ok(None);
        };
        let (rows, terms) = (a.layout.shape()[0], a.layout.shape()[1]);
        let (columns, offset) = (b.layout.shape()[1], b.layout.offset());
        let is_whole = *b.layout.strides() == [1, group_size]
            && terms == group_size
            && offset.is_multiple_of(group_size);
        if !is_whole || rows == 0 || columns == 0 || terms > MOST_TERMS {
            return Ok(None);
        }
        let elem = Elem::of(a.storage.dtype()).unwrap_or(Elem::F32);
        let end = |op| -> Result<Operand> {
            let storage = self.reduce_dims(op, a.clone(), &[1])?;
            let layout = Layout::contiguous(rows.into());
            Ok(Operand { storage, layout })
        };
        let ends = [end(ReduceOp::Min)?, end(ReduceOp::Max)?];
        let [low, high] = [self.data(NAME, &ends[0])?, self.data(NAME, &ends[1])?];
        let codes = self.elementwise(Elementwise {
            op: NAME,
            key: "round inputs".to_owned(),
            operands: &[(a, elem)],
            others: &[(low, elem), (high, elem)],
            out: Elem::I8,
            dtype: DType::I8,
            parameters: vec![word(NAME, terms)?],
            code: &|| Code {
                functions: ROUNDING.to_owned(),
                statements: format!(
                    "    let row = i / ${FIRST};
    let by = rounding(b(row), c(row));
    if is_nan(by.x) {{ return 0; }}
    return i32(clamp(round(x * (1.0 / by.x) + by.y), 0.0, 127.0) - by.y);
"
                ),
            },
        })?;
        let mut reads: Vec<(&GpuStorage, Elem)> = vec![
            (codes.data(NAME, self.device())?, Elem::I8),
            (packed.bytes(NAME)?, Elem::U8),
            (low, elem),
            (high, elem),
        ];
        let mut parameters = vec![word(NAME, offset)?];
        parameters.extend(packed.parameters());
        let first = PRODUCT_FIRST + 1;
        let added = PRODUCT_FIRST + parameters.len();
        if let Some(row) = row {
            reads.push((self.data(NAME, row)?, elem));
            parameters.push(word(NAME, row.layout.offset())?);
            parameters.push(word(NAME, row.layout.strides()[0])?);
        }
        let sum = if row.is_some() { "plus a row" } else { "" };
        let out = self.product(Product {
            op: NAME,
            key: format!("rounded {NAME} {sum}"),
            reads: &reads,
            out: Elem::F32,
            dtype: DType::F32,
            batch: 1,
            rows,
            columns,
            terms,
            adjacent_terms: [true, true],
            of_elements: false,
            quads: [None; 2],
            parameters,
            value: "i32",
            kept: DType::I32,
            code: &|| {
                const P: usize = PRODUCT_FIRST;
                let next = added + 1;
                let plus = match row {
                    Some(_) => format!(" + e(${added} + n * ${next})"),
                    None => String::new(),
                };
                let integers = PackedStorage::integer_code("b", first);
                let terms = crate::product::TERMS;
                let factors = Factors {
                    row: &format!("m * ${terms}"),
                    right_term: &format!("${P} + k"),
                    column: &format!("n * ${terms}"),
                    right: "code(column.x + term.x)",
                    ..Factors::default()
                };
                let factors = factors.code("i32");
                format!(
                    "{ROUNDING}{integers}
{factors}fn finish(matrix: u32, m: u32, n: u32, x: i32) -> f32 {{
    return f32(x) * (rounding(c(m), d(m)).x * scale(${P} / ${terms} + n)){plus};
}}
",
                )
            },
        })?;
        if elem == Elem::F32 {
            return Ok(Some(out));
        }
        let layout = Layout::contiguous((rows * columns).into());
        let storage = out;
        self.convert(Operand { storage, layout }, a.storage.dtype())
            .map(Some)
    }
}
