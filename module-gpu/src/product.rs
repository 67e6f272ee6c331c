//! The template of products: matrices, and whatever else is a sum of products of two elements.

use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Layout, Result};

use crate::elem::Elem;
use crate::fold::{FOLD_FIRST, Fold};
use crate::gpu::{Gpu, Launch, word};
use crate::map::{GROUP, Map, NAMES, declarations, is_small, typed_key};
use crate::pool::Memory;
use crate::recorder::MAX_GROUPS;
use crate::storage::GpuStorage;

/// Rows and columns of the invocations of a workgroup.
const SIDE: usize = 8;

/// Terms of the sums that a workgroup reads at once.
const STEP: usize = 16;

/// The rows and columns of a tile, which a workgroup computes, that each invocation has.
#[derive(Clone, Copy)]
struct Tile {
    rows: usize,
    columns: usize,
}

impl Tile {
    /// The tile for a matrix: up to 8 × 8 elements for each invocation, as what it reads is then used most often, and fewer
    /// where the matrix is small.
    fn new(rows: usize, columns: usize) -> Self {
        let each = |size: usize| match size.div_ceil(SIDE) {
            0..=2 => 2,
            3..=4 => 4,
            _ => 8,
        };
        Self {
            rows: each(rows),
            columns: each(columns),
        }
    }

    /// The number of tiles of a matrix.
    fn count(self, rows: usize, columns: usize) -> usize {
        rows.div_ceil(SIDE * self.rows) * columns.div_ceil(SIDE * self.columns)
    }
}

/// Up to this many rows or columns, there are no tiles.
const NARROW: usize = 4;

/// With fewer tiles, the sums are computed in parts.
const TILES: usize = 64;

/// Terms of such a part at least.
const PART: usize = 256;

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
    /// Parameters from number [`PRODUCT_FIRST`] on.
    pub(crate) parameters: Vec<u32>,
    /// The type in which sums are computed, and its dtype.
    pub(crate) value: &'static str,
    pub(crate) kept: DType,
    /// Functions: `lhs(b, m, k)` and `rhs(b, k, n)`, the factors of term `k`; and `finish(b, m, n, x)`, the element from the
    /// sum.
    pub(crate) code: &'a dyn Fn() -> String,
}

/// The number of the first parameter that a kernel may choose; the sizes come before.
pub(crate) const PRODUCT_FIRST: usize = FOLD_FIRST + 5;

impl Product<'_> {
    fn numel(&self) -> usize {
        self.batch * self.rows * self.columns
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
        let mut all = Vec::new();
        for size in [self.rows, self.columns, self.terms, parts, each] {
            all.push(word(self.op, size)?);
        }
        all.extend(&self.parameters);
        Ok(all)
    }
}

/// The sizes among the parameters.
const ROWS: usize = FOLD_FIRST;
const COLUMNS: usize = FOLD_FIRST + 1;
pub(crate) const TERMS: usize = FOLD_FIRST + 2;
const PARTS: usize = FOLD_FIRST + 3;
const EACH: usize = FOLD_FIRST + 4;

impl Gpu {
    /// The result of a kernel.
    pub(crate) fn product(&self, product: Product<'_>) -> Result<Storage> {
        let (rows, columns, terms) = (product.rows, product.columns, product.terms);
        if rows <= NARROW || columns <= NARROW || terms <= NARROW || product.numel() == 0 {
            return self.product_narrow(product);
        }
        if product.out.per_word() > 1 {
            // Tiles write whole words.
            return self.product_and_cast(product);
        }
        let tiles = Tile::new(rows, columns).count(rows, columns) * product.batch;
        let parts = (TILES / tiles).min(terms / PART);
        if parts > 1 {
            return self.product_in_parts(product, parts);
        }
        self.product_in_tiles(product, 1, None)
    }

    /// Each element on its own.
    fn product_narrow(&self, product: Product<'_>) -> Result<Storage> {
        let parameters = product.sizes(1)?;
        let value = product.value;
        let code = || {
            format!(
                "{}
fn value(o: u32, j: u32) -> {value} {{
    let n = o % ${COLUMNS};
    let m = (o / ${COLUMNS}) % ${ROWS};
    let b = o / (${COLUMNS} * ${ROWS});
    return lhs(b, m, j) * rhs(b, j, n);
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
    fn product_in_parts(&self, product: Product<'_>, parts: usize) -> Result<Storage> {
        let Some(kept) = Elem::of(product.kept) else {
            return self.product_in_tiles(product, 1, None);
        };
        let (numel, value) = (product.numel(), product.value);
        let parameters = product.sizes(parts)?;
        let inner = Product {
            key: product.key.clone(),
            parameters: product.parameters.clone(),
            ..product
        };
        let partial = self.product_in_tiles(inner, parts, Some((kept, product.kept)))?;
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
        parts: usize,
        partial: Option<(Elem, DType)>,
    ) -> Result<Storage> {
        let (out, dtype) = partial.unwrap_or((product.out, product.dtype));
        let to = self.allocate(product.numel() * parts, dtype)?;
        let mut parameters = vec![word(product.op, product.numel() * parts)?, 0, 0, 0];
        parameters.extend(product.sizes(parts)?);
        let memory: Vec<&Memory> = product.reads.iter().map(|(data, _)| &data.memory).collect();
        let whole = if partial.is_some() { "parts" } else { "tiles" };
        let tile = Tile::new(product.rows, product.columns);
        let (down, across) = (tile.rows, tile.columns);
        let key = format!("{whole} {down} {across} {}", product.key);
        let is_small = is_small(product.reads, product.numel() * parts);
        let key = typed_key(key, out, product.reads, is_small);
        let reads: Vec<Elem> = product.reads.iter().map(|&(_, elem)| elem).collect();
        let source = || {
            declarations(&reads, out, false, is_small)
                + &(product.code)()
                + &tiles(tile, out, product.value, partial.is_some())
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

/// The entry point of a product in tiles.
fn tiles(tile: Tile, out: Elem, value: &str, is_partial: bool) -> String {
    let Tile { rows, columns } = tile;
    let pairs = || (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let sums: String = pairs()
        .map(|(i, j)| format!("    var c{i}_{j} = {value}(0);\n"))
        .collect();
    let (height, width) = (SIDE * rows, SIDE * columns);
    let left = (0..rows)
        .map(|i| format!("            let x{i} = left[k * {height}u + row * {rows}u + {i}u];\n"));
    let right = (0..columns).map(|j| {
        format!("            let y{j} = right[k * {width}u + column * {columns}u + {j}u];\n")
    });
    let factors: String = left.chain(right).collect();
    let terms: String = pairs()
        .map(|(i, j)| format!("            c{i}_{j} += x{i} * y{j};\n"))
        .collect();
    let writes: String = pairs()
        .map(|(i, j)| format!("    write(b, m + {i}u, n + {j}u, c{i}_{j});\n"))
        .collect();
    let finished = if is_partial {
        "x"
    } else {
        "finish(b, m, n, x)"
    };
    let encoded = out.encoded(finished);
    format!(
        "
var<workgroup> left: array<{value}, {left_size}>;
var<workgroup> right: array<{value}, {right_size}>;

fn write(b: u32, m: u32, n: u32, x: {value}) {{
    if m < ${ROWS} && n < ${COLUMNS} {{
        out_memory[(b * ${ROWS} + m) * ${COLUMNS} + n] = {encoded};
    }}
}}

@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {{
    let place = group.y * {MAX_GROUPS}u + group.x;
    let across = (${COLUMNS} + {width}u - 1u) / {width}u;
    let down = (${ROWS} + {height}u - 1u) / {height}u;
    let b = place / (across * down);
    if b * ${ROWS} * ${COLUMNS} >= $0 {{ return; }}
    let first_row = (place / across) % down * {height}u;
    let first_column = place % across * {width}u;
    let matrix = b / ${PARTS};
    let begin = b % ${PARTS} * ${EACH};
    let end = min(begin + ${EACH}, ${TERMS});
    let row = local / {SIDE}u;
    let column = local % {SIDE}u;
{sums}
    for (var step = begin; step < end; step += {STEP}u) {{
        for (var at = local; at < {left_size}u; at += {GROUP}u) {{
            let m = first_row + at / {STEP}u;
            let k = step + at % {STEP}u;
            var x = {value}(0);
            if m < ${ROWS} && k < end {{ x = lhs(matrix, m, k); }}
            left[at % {STEP}u * {height}u + at / {STEP}u] = x;
        }}
        for (var at = local; at < {right_size}u; at += {GROUP}u) {{
            let n = first_column + at % {width}u;
            let k = step + at / {width}u;
            var y = {value}(0);
            if n < ${COLUMNS} && k < end {{ y = rhs(matrix, k, n); }}
            right[at] = y;
        }}
        workgroupBarrier();
        for (var k = 0u; k < {STEP}u; k++) {{
{factors}{terms}        }}
        workgroupBarrier();
    }}
    let m = first_row + row * {rows}u;
    let n = first_column + column * {columns}u;
{writes}}}
",
        left_size = height * STEP,
        right_size = width * STEP,
    )
}
