//! The template of products: matrices, and whatever else is a sum of products of two elements.

use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Layout, Result};

use crate::elem::Elem;
use crate::fold::{FOLD_FIRST, Fold};
use crate::gpu::{Gpu, Launch, word};
use crate::map::{Map, NAMES, SMALL, declarations, typed_key};
use crate::matrix_tiles::{QUAD, Quads};
use crate::pool::Memory;
use crate::product_tile::ProductTile;
use crate::storage::GpuStorage;

/// Up to this many rows or columns, or terms, there are no tiles, unless there are more than [`FEW`] elements of so few rows or
/// columns: these are worth reading factors together.
const NARROW: usize = 4;
const FEW: usize = 1 << 18;

/// With at most half as many workgroups, sums of at least [`LONG`] terms are computed in parts of at least [`PART`].
const GROUPS: usize = 512;
const LONG: usize = 512;
const PART: usize = 128;

/// `batch` matrices of `rows` × `columns`, whose elements are sums of `terms` products.
pub(crate) struct Product<'a> {
    pub(crate) op: &'static str,
    pub(crate) key: String,
    pub(crate) reads: &'a [(&'a GpuStorage, Elem)],
    pub(crate) out: Elem,
    pub(crate) dtype: DType,
    pub(crate) batch: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) terms: usize,
    /// Whether the terms of a row of the left factor lie side by side in memory, and those of a column of the right one. It
    /// changes the speed only.
    pub(crate) adjacent_terms: [bool; 2],
    /// Whether the factors are elements of what it reads, and not computed from these.
    pub(crate) of_elements: bool,
    /// The operands of the left and the right factor, if its neighbors can be read four at a time: those that lie side by side, of
    /// which there are a multiple of four, and the first four of which are elements `line.x + term.x` and so on, where that is a
    /// multiple of four too. It changes the speed only.
    pub(crate) quads: Quads,
    /// Parameters from number [`PRODUCT_FIRST`] on.
    pub(crate) parameters: Vec<u32>,
    /// The type in which sums are computed, and its dtype.
    pub(crate) value: &'static str,
    pub(crate) kept: DType,
    /// Functions: `lhs(row, term)` and `rhs(column, term)`, the factors of a term, from four numbers each that depend on the
    /// row, the column and the term only: `row_of(b, m)`, `column_of(b, n)`, `left_term(b, k)` and `right_term(b, k)`; and
    /// `finish(b, m, n, x)`, the element from the sum.
    pub(crate) code: &'a dyn Fn() -> String,
}

/// The number of the first parameter that a kernel may choose; the sizes come before.
pub(crate) const PRODUCT_FIRST: usize = FOLD_FIRST + 5;

impl Product<'_> {
    fn numel(&self) -> usize {
        self.batch * self.rows * self.columns
    }

    /// Whether all that it reads and multiplies is `F16`.
    pub(crate) fn is_of_halves(&self) -> bool {
        self.of_elements && self.reads.iter().all(|&(_, elem)| elem == Elem::F16)
    }

    /// Its functions, and those of a fold that adds numbers up and finishes each sum.
    fn functions_of_sums(&self) -> String {
        let value = self.value;
        format!(
            "{}
fn join(x: {value}, y: {value}) -> {value} {{ return x + y; }}
fn start() -> {value} {{ return {value}(0); }}
fn finish(o: u32, x: {value}) -> {of} {{
    let n = o % ${COLUMNS};
    let m = (o / ${COLUMNS}) % ${ROWS};
    return product_finish(o / (${COLUMNS} * ${ROWS}), m, n, x);
}}
",
            (self.code)().replace("fn finish(", "fn product_finish("),
            of = self.out.computed()
        )
    }

    /// The parameters after those of the template.
    fn sizes(&self, parts: usize) -> Result<Vec<u32>> {
        let each = self.terms.div_ceil(parts.max(1)).max(1);
        let each = each.next_multiple_of(QUAD);
        let mut all = Vec::new();
        for size in [self.rows, self.columns, self.terms, parts, each] {
            all.push(word(self.op, size)?);
        }
        all.extend(&self.parameters);
        Ok(all)
    }
}

/// The factors of a product: expressions of the numbers of a row, a column and a term, and of the factors in these numbers.
pub(crate) struct Factors<'a> {
    pub(crate) row: &'a str,
    pub(crate) left_term: &'a str,
    pub(crate) left: &'a str,
    pub(crate) column: &'a str,
    pub(crate) right_term: &'a str,
    pub(crate) right: &'a str,
}

impl Default for Factors<'_> {
    fn default() -> Self {
        Self {
            row: "m",
            left_term: "k",
            left: "a(row.x + term.x)",
            column: "n",
            right_term: "k",
            right: "b(column.x + term.x)",
        }
    }
}

impl Factors<'_> {
    /// The functions of [`Product`], for factors of the type `of`.
    pub(crate) fn code(&self, of: &str) -> String {
        let Self {
            row,
            left_term,
            left,
            column,
            right_term,
            right,
        } = self;
        format!(
            "fn row_of(matrix: u32, m: u32) -> vec4<u32> {{ return vec4<u32>({row}); }}
fn left_term(matrix: u32, k: u32) -> vec4<u32> {{ return vec4<u32>({left_term}); }}
fn lhs(row: vec4<u32>, term: vec4<u32>) -> {of} {{ return {left}; }}
fn column_of(matrix: u32, n: u32) -> vec4<u32> {{ return vec4<u32>({column}); }}
fn right_term(matrix: u32, k: u32) -> vec4<u32> {{ return vec4<u32>({right_term}); }}
fn rhs(column: vec4<u32>, term: vec4<u32>) -> {of} {{ return {right}; }}
"
        )
    }
}

/// The sizes among the parameters.
pub(crate) const ROWS: usize = FOLD_FIRST;
pub(crate) const COLUMNS: usize = FOLD_FIRST + 1;
pub(crate) const TERMS: usize = FOLD_FIRST + 2;
pub(crate) const PARTS: usize = FOLD_FIRST + 3;
pub(crate) const EACH: usize = FOLD_FIRST + 4;

impl Gpu {
    /// The result of a kernel.
    pub(crate) fn product(&self, product: Product<'_>) -> Result<Storage> {
        let (rows, columns, terms) = (product.rows, product.columns, product.terms);
        let is_narrow = rows.min(columns) <= NARROW && product.numel() <= FEW;
        if is_narrow || terms <= NARROW || product.numel() == 0 {
            return self.product_narrow(product);
        }
        let tile = ProductTile::new(&product, self.has_tensor_cores());
        if !tile.can_write(product.out, columns) {
            return self.product_and_cast(product);
        }
        let groups = tile.count(rows, columns) * product.batch;
        let parts = match terms < LONG {
            true => 1,
            false => (GROUPS / groups).min(terms / PART),
        };
        if parts > 1 {
            return self.product_in_parts(product, tile, parts);
        }
        self.product_in_tiles(product, tile, 1, None)
    }

    /// Each element on its own.
    fn product_narrow(&self, product: Product<'_>) -> Result<Storage> {
        // Those of the larger factor decide.
        let adjacent_values = match product.rows <= product.columns {
            true => product.adjacent_terms[1],
            false => product.adjacent_terms[0],
        };
        let parameters = product.sizes(1)?;
        let value = product.value;
        let code = || {
            format!(
                "{}
fn value(o: u32, j: u32) -> {value} {{
    let n = o % ${COLUMNS};
    let m = (o / ${COLUMNS}) % ${ROWS};
    let b = o / (${COLUMNS} * ${ROWS});
    return lhs(row_of(b, m), left_term(b, j)) * rhs(column_of(b, n), right_term(b, j));
}}
",
                product.functions_of_sums()
            )
        };
        self.fold(Fold {
            op: product.op,
            key: format!("narrow {}", product.key),
            reads: product.reads,
            out: product.out,
            dtype: product.dtype,
            numel: product.numel(),
            count: product.terms,
            adjacent_values,
            parameters,
            value,
            kept: product.kept,
            code: &code,
        })
    }

    /// In the dtype of the computation, then rounded.
    fn product_and_cast(&self, product: Product<'_>) -> Result<Storage> {
        let (op, out, dtype, numel) = (product.op, product.out, product.dtype, product.numel());
        let Some(kept) = Elem::of(product.kept) else {
            return self.product_narrow(product);
        };
        let wide = self.product(Product {
            key: format!("wide {}", product.key),
            out: kept,
            dtype: product.kept,
            ..product
        })?;
        let layout = Layout::contiguous(numel.into());
        let wide = Operand {
            storage: wide,
            layout,
        };
        self.map(Map {
            op,
            key: "round".to_owned(),
            reads: &[(self.data(op, &wide)?, kept)],
            out,
            dtype,
            numel,
            parameters: Vec::new(),
            index_size: None,
            code: &|| {
                let of = out.computed();
                format!("fn element(i: u32) -> {of} {{ return a(i); }}\n")
            },
        })
    }

    /// Parts of the sums in tiles, then their sums.
    fn product_in_parts(
        &self,
        product: Product<'_>,
        tile: ProductTile,
        parts: usize,
    ) -> Result<Storage> {
        let Some(kept) = Elem::of(product.kept) else {
            return self.product_in_tiles(product, tile, 1, None);
        };
        let (numel, value) = (product.numel(), product.value);
        let parameters = product.sizes(parts)?;
        let inner = Product {
            key: product.key.clone(),
            parameters: product.parameters.clone(),
            ..product
        };
        let partial = self.product_in_tiles(inner, tile, parts, Some((kept, product.kept)))?;
        let layout = Layout::contiguous((numel * parts).into());
        let partial = Operand {
            storage: partial,
            layout,
        };
        let mut reads = product.reads.to_vec();
        reads.push((self.data(product.op, &partial)?, kept));
        let name = NAMES[product.reads.len()];
        let code = || {
            format!(
                "{}
fn value(o: u32, j: u32) -> {value} {{
    let size = ${COLUMNS} * ${ROWS};
    return {name}((o / size * ${PARTS} + j) * size + o % size);
}}
",
                product.functions_of_sums()
            )
        };
        self.fold(Fold {
            op: product.op,
            key: format!("sum of parts {}", product.key),
            reads: &reads,
            out: product.out,
            dtype: product.dtype,
            numel,
            count: parts,
            adjacent_values: false,
            parameters,
            value,
            kept: product.kept,
            code: &code,
        })
    }

    /// Each workgroup computes a tile, or a part of its sums if their elements and dtype are given.
    fn product_in_tiles(
        &self,
        product: Product<'_>,
        tile: ProductTile,
        parts: usize,
        partial: Option<(Elem, DType)>,
    ) -> Result<Storage> {
        let (out, dtype) = partial.unwrap_or((product.out, product.dtype));
        let to = self.allocate(product.numel() * parts, dtype)?;
        let mut parameters = vec![word(product.op, product.numel() * parts)?, 0, 0, 0];
        parameters.extend(product.sizes(parts)?);
        let memory: Vec<&Memory> = product.reads.iter().map(|(data, _)| &data.memory).collect();
        let whole = if partial.is_some() { "parts" } else { "tiles" };
        let adjacent_terms = product.adjacent_terms;
        let key = format!("{whole} {} {}", tile.key(adjacent_terms), product.key);
        let divided = [
            product.batch * parts,
            product.rows,
            product.columns,
            product.terms,
        ];
        let is_small = divided.iter().all(|&number| number <= SMALL);
        let key = typed_key(key, out, product.reads, is_small);
        let reads: Vec<Elem> = product.reads.iter().map(|&(_, elem)| elem).collect();
        let source = || {
            let (directives, reads) = tile.reading(&reads);
            directives.to_owned()
                + &declarations(&reads, out, false, is_small)
                + &(product.code)()
                + &tile.code(out, product.value, adjacent_terms, partial.is_some())
        };
        let tiles = tile.count(product.rows, product.columns) * product.batch * parts;
        self.launch(Launch {
            op: product.op,
            key,
            reads: &memory,
            writes: &[&to.memory],
            parameters: &parameters,
            groups: tiles as u64,
            source: &source,
        })?;
        Ok(Storage::new(to))
    }
}
