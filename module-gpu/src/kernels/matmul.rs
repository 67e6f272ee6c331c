//! Matrix products.

use module_tensor::Result;
use module_tensor::backend::{Operand, Storage};

use super::number::computed;
use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::product::{Factors, PRODUCT_FIRST, Product};
use crate::storage::GpuStorage;

/// Whether neighbors in dimension `dim` of a matrix are not farther from each other than those in the other.
pub(super) fn are_adjacent(strides: &[usize], dim: usize) -> bool {
    strides[dim] <= strides[1 - dim]
}

impl Gpu {
    /// `[…, m, k]` times `[…, k, n]`, plus a row of `n` if there is one.
    pub(crate) fn multiply(&self, row: Option<Operand>, a: Operand, b: Operand) -> Result<Storage> {
        let op = if row.is_some() { "addmm" } else { "matmul" };
        let rank = a.layout.rank();
        let leading = rank - 2;
        let (rows, terms) = (a.layout.shape()[leading], a.layout.shape()[leading + 1]);
        let columns = b.layout.shape()[leading + 1];
        let batch: usize = a.layout.shape()[..leading].iter().product();
        let Some(elem) = self.computes_numbers(&a) else {
            let numel = batch * rows * columns;
            return match row {
                Some(row) => self.through_host(op, [row, a, b], numel, |cpu, [row, a, b]| {
                    cpu.addmm(row, a, b)
                }),
                None => self.through_host(op, [a, b], numel, |cpu, [a, b]| cpu.matmul(a, b)),
            };
        };
        let of_batch = Dims::of(
            op,
            &a.layout.shape()[..leading],
            &[
                &a.layout.strides()[..leading],
                &b.layout.strides()[..leading],
            ],
            &[a.layout.offset(), b.layout.offset()],
        )?;
        let mut parameters = Vec::new();
        for x in [&a, &b] {
            for stride in &x.layout.strides()[leading..] {
                parameters.push(word(op, *stride)?);
            }
        }
        let added = row
            .as_ref()
            .map(|row| (row.layout.offset(), row.layout.strides()[0]));
        let (offset, stride) = added.unwrap_or_default();
        parameters.extend([word(op, offset)?, word(op, stride)?]);
        of_batch.push(&mut parameters);
        let data = [Some(&a), Some(&b), row.as_ref()].into_iter().flatten();
        let data = data.map(|x| Ok((self.data(op, x)?, elem)));
        let reads: Vec<(&GpuStorage, Elem)> = data.collect::<Result<_>>()?;
        let of = elem.computed();
        self.product(Product {
            op,
            key: format!("{op} {}", of_batch.key()),
            reads: &reads,
            out: elem,
            dtype: a.storage.dtype(),
            batch,
            rows,
            columns,
            terms,
            adjacent_terms: [
                are_adjacent(&a.layout.strides()[leading..], 1),
                are_adjacent(&b.layout.strides()[leading..], 0),
            ],
            of_elements: true,
            parameters,
            value: of,
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
                let finished = match added {
                    Some(_) => format!("x + c(${} + n * ${})", P + 4, P + 5),
                    None => "x".to_owned(),
                };
                format!(
                    "{}{}fn finish(matrix: u32, m: u32, n: u32, x: {of}) -> {of} {{ return {finished}; }}
",
                    of_batch.code(P + 6, &["of_a", "of_b"]),
                    factors.code(of),
                )
            },
        })
    }
}
