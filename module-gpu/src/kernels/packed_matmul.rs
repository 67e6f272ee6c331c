//! Products with packed matrices, whose elements are unpacked in the kernel.

use module_tensor::backend::{Backend, Operand, Storage};
use module_tensor::{DType, Result};

use super::matmul::are_adjacent;
use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};
use crate::packed::PackedStorage;
use crate::product::{Factors, PRODUCT_FIRST, Product};
use crate::storage::GpuStorage;

const NAME: &str = "packed_matmul";

/// The parameters for the layouts, before those of the packed elements: the first element, and the steps along both
/// dimensions, of both factors; the first element of the row, and its step.
const LAYOUTS: usize = 8;

impl Gpu {
    /// `[m, k]` times packed `[k, n]`, plus a row of `n` if there is one.
    pub(crate) fn multiply_packed(
        &self,
        row: Option<Operand>,
        a: Operand,
        b: Operand,
    ) -> Result<Storage> {
        let dtype = a.storage.dtype();
        let elem = Elem::of(dtype).filter(|elem| elem.computed() == "f32");
        let packed = b.storage.downcast_ref::<PackedStorage>();
        let (Some(packed), Some(elem)) = (packed, elem) else {
            // Elements of other schemes are in host memory.
            if b.storage
                .packed()
                .is_some_and(|packed| packed.runs().is_some())
            {
                self.goes_through_host(NAME);
            }
            let b = self.unpacked(b, dtype)?;
            return self.multiply(row, a, b);
        };
        if let Some(out) = self.multiply_rounded(row.as_ref(), &a, &b, packed)? {
            return Ok(out);
        }
        let (rows, terms) = (a.layout.shape()[0], a.layout.shape()[1]);
        let mut parameters = Vec::new();
        for x in [&a, &b] {
            parameters.push(word(NAME, x.layout.offset())?);
            for &stride in x.layout.strides() {
                parameters.push(word(NAME, stride)?);
            }
        }
        let added = row
            .as_ref()
            .map(|row| [row.layout.offset(), row.layout.strides()[0]]);
        for number in added.unwrap_or_default() {
            parameters.push(word(NAME, number)?);
        }
        parameters.extend(packed.parameters());
        let mut reads: Vec<(&GpuStorage, Elem)> = vec![
            (self.data(NAME, &a)?, elem),
            (packed.bytes(NAME)?, Elem::U8),
        ];
        if let Some(row) = &row {
            reads.push((self.data(NAME, row)?, elem));
        }
        let sum = if added.is_some() { "plus a row" } else { "" };
        self.product(Product {
            op: NAME,
            key: format!("{NAME} {} {sum}", packed.key()),
            reads: &reads,
            out: elem,
            dtype,
            batch: 1,
            rows,
            columns: b.layout.shape()[1],
            terms,
            adjacent_terms: [
                are_adjacent(a.layout.strides(), 1),
                are_adjacent(b.layout.strides(), 0),
            ],
            of_elements: false,
            quads: [None; 2],
            parameters,
            value: "f32",
            kept: DType::F32,
            code: &|| {
                const P: usize = PRODUCT_FIRST;
                let factors = Factors {
                    row: &format!("${P} + m * ${}", P + 1),
                    left_term: &format!("k * ${}", P + 2),
                    right_term: &format!("${} + k * ${}", P + 3, P + 4),
                    column: &format!("n * ${}", P + 5),
                    right: "unpacked(column.x + term.x)",
                    ..Factors::default()
                };
                let finished = match added {
                    Some(_) => format!("x + c(${} + n * ${})", P + 6, P + 7),
                    None => "x".to_owned(),
                };
                format!(
                    "{}{}fn finish(matrix: u32, m: u32, n: u32, x: f32) -> f32 {{ return {finished}; }}
",
                    packed.code("b", P + LAYOUTS),
                    factors.code("f32"),
                )
            },
        })
    }

    /// The elements one by one.
    pub(crate) fn unpack(&self, packed: &PackedStorage) -> Result<Storage> {
        const NAME: &str = "unpack";
        self.map(Map {
            op: NAME,
            key: format!("{NAME} {}", packed.key()),
            reads: &[(packed.bytes(NAME)?, Elem::U8)],
            out: Elem::of(packed.dtype).unwrap_or(Elem::F32),
            dtype: packed.dtype,
            numel: packed.numel,
            parameters: packed.parameters(),
            index_size: None,
            code: &|| {
                let unpacked = packed.code("a", FIRST);
                format!("{unpacked}fn element(i: u32) -> f32 {{ return unpacked(i); }}\n")
            },
        })
    }
}
