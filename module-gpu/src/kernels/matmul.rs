//! Matrix products.

#[cfg(test)]
mod tests;

use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Layout, Result};

use super::number::computed;
use crate::dims::Dims;
use crate::elem::Elem;
use crate::elementwise::Code;
use crate::gpu::{Gpu, word};
use crate::matrix_tiles::QUAD;
use crate::product::{Factors, PRODUCT_FIRST, Product};
use crate::storage::GpuStorage;

/// `[…, m, k]` times `[…, k, n]`, whose matrices are as many.
pub(crate) struct MatrixProduct<'a> {
    pub(crate) op: &'static str,
    pub(crate) factors: [&'a Operand; 2],
    /// The elements of both.
    pub(crate) elem: Elem,
    pub(crate) out: (Elem, DType),
    pub(crate) finish: Finish<'a>,
}

/// What becomes of each sum.
pub(crate) struct Finish<'a> {
    /// Says all that the code depends on.
    pub(crate) key: String,
    /// The memory that it reads, if any, as `c(i)`.
    pub(crate) reads: Option<(&'a GpuStorage, Elem)>,
    pub(crate) parameters: Vec<u32>,
    /// Functions, and statements that return the element from `x`, the sum in row `m` and column `n` of matrix number `matrix`. It
    /// is given the number of the first of its parameters.
    pub(crate) code: &'a dyn Fn(usize) -> Code,
}

impl Default for Finish<'_> {
    /// The sum is the element.
    fn default() -> Self {
        Self {
            key: String::new(),
            reads: None,
            parameters: Vec::new(),
            code: &|_| Code::value("x"),
        }
    }
}

/// Whether neighbors in dimension `dim` of a matrix are not farther from each other than those in the other.
pub(super) fn are_adjacent(strides: &[usize], dim: usize) -> bool {
    strides[dim] <= strides[1 - dim]
}

/// Whether four neighbors in dimension `dim` of the last two can be read at a time.
fn has_quads(layout: &Layout, dim: usize) -> bool {
    let (shape, strides) = (layout.shape(), layout.strides());
    let beside = shape.len() - 2 + dim;
    let is_aligned = |number: usize| number.is_multiple_of(QUAD);
    let mut others = (0..shape.len()).filter(|&other| other != beside && shape[other] > 1);
    strides[beside] == 1
        && is_aligned(shape[beside])
        && is_aligned(layout.offset())
        && others.all(|other| is_aligned(strides[other]))
}

impl Gpu {
    /// `[…, m, k]` times `[…, k, n]`, plus a row of `n` if there is one.
    pub(crate) fn multiply(&self, row: Option<Operand>, a: Operand, b: Operand) -> Result<Storage> {
        let op = if row.is_some() { "addmm" } else { "matmul" };
        let Some(elem) = self.computes_numbers(&a) else {
            let [rows, columns] = [&a, &b].map(|x| &x.layout.shape()[..]);
            let leading = rows.len() - 2;
            let numel = rows[..=leading].iter().product::<usize>() * columns[leading + 1];
            return match row {
                Some(row) => self.through_host(op, [row, a, b], numel, |cpu, [row, a, b]| {
                    cpu.addmm(row, a, b)
                }),
                None => self.through_host(op, [a, b], numel, |cpu, [a, b]| cpu.matmul(a, b)),
            };
        };
        let mut finish = Finish::default();
        if let Some(row) = &row {
            finish = Finish {
                key: "row".to_owned(),
                reads: Some((self.data(op, row)?, elem)),
                parameters: vec![
                    word(op, row.layout.offset())?,
                    word(op, row.layout.strides()[0])?,
                ],
                code: &|first| Code::value(&format!("x + c(${first} + n * ${})", first + 1)),
            };
        }
        self.matrix_product(MatrixProduct {
            op,
            factors: [&a, &b],
            elem,
            out: (elem, a.storage.dtype()),
            finish,
        })
    }

    pub(crate) fn matrix_product(&self, product: MatrixProduct<'_>) -> Result<Storage> {
        let MatrixProduct {
            op,
            factors: [a, b],
            elem,
            out: (out, dtype),
            finish,
        } = product;
        let leading = a.layout.rank() - 2;
        let [of_a, of_b] = [a, b].map(|x| &x.layout.strides()[leading..]);
        let matrices = &a.layout.shape()[..leading];
        let of_batch = Dims::of(
            op,
            matrices,
            &[a, b].map(|x| &x.layout.strides()[..leading]),
            &[a, b].map(|x| x.layout.offset()),
        )?;
        let mut parameters = Vec::new();
        for &stride in of_a.iter().chain(of_b) {
            parameters.push(word(op, stride)?);
        }
        of_batch.push(&mut parameters);
        let of_finish = PRODUCT_FIRST + parameters.len();
        parameters.extend(finish.parameters);
        let mut reads = vec![(self.data(op, a)?, elem), (self.data(op, b)?, elem)];
        reads.extend(finish.reads);
        let adjacent_terms = [are_adjacent(of_a, 1), are_adjacent(of_b, 0)];
        // The dimensions in which neighbors lie side by side.
        let beside = [
            usize::from(adjacent_terms[0]),
            usize::from(!adjacent_terms[1]),
        ];
        let value = elem.computed();
        self.product(Product {
            op,
            key: format!("{op} {} {}", of_batch.key(), finish.key),
            reads: &reads,
            out,
            dtype,
            batch: matrices.iter().product(),
            rows: a.layout.shape()[leading],
            columns: b.layout.shape()[leading + 1],
            terms: a.layout.shape()[leading + 1],
            adjacent_terms,
            of_elements: true,
            quads: [
                has_quads(&a.layout, beside[0]).then_some(0),
                has_quads(&b.layout, beside[1]).then_some(1),
            ],
            parameters,
            value,
            kept: computed(elem),
            code: &|| {
                const P: usize = PRODUCT_FIRST;
                let factors = Factors {
                    row: &format!("of_a(matrix) + m * ${P}"),
                    left_term: &format!("k * ${}", P + 1),
                    right_term: &format!("k * ${}", P + 2),
                    column: &format!("of_b(matrix) + n * ${}", P + 3),
                    ..Factors::default()
                };
                let Code {
                    functions,
                    statements,
                } = (finish.code)(of_finish);
                format!(
                    "{}{}{functions}fn finish(matrix: u32, m: u32, n: u32, x: {value}) -> {} {{
{statements}}}
",
                    of_batch.code(P + 4, &["of_a", "of_b"]),
                    factors.code(value),
                    out.computed(),
                )
            },
        })
    }
}
