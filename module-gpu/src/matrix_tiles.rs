//! The tiles of a product of `F16` on a GPU with tensor cores, which multiply matrices of 16 × 16. The invocations of a subgroup
//! hold such a matrix together; sums are in `F32`.

mod factor;
#[cfg(test)]
pub(crate) mod tests;

use self::factor::Factor;
use crate::elem::Elem;
use crate::product::{COLUMNS, EACH, PARTS, ROWS, TERMS};
use crate::recorder::MAX_GROUPS;

/// What the source begins with.
pub(crate) const DIRECTIVES: &str = "enable f16;\nenable wgpu_cooperative_matrix;\n";

/// Invocations of a subgroup, and rows, columns and terms of the matrices that it multiplies.
pub(crate) const SUBGROUP: usize = 32;
const SIDE: usize = 16;

/// The terms of a block, and the elements between lines in the memory of a workgroup that are not used: with them, reads of several
/// lines go to different banks.
const STEP: usize = 32;
const GAP: usize = 8;

/// The bytes of the memory of a workgroup that a tile takes at most.
pub(crate) const WORKGROUP_BYTES: u32 = 32 << 10;

/// Elements side by side that an invocation reads, at once where it can.
pub(crate) const QUAD: usize = 4;

/// The operands from whose memory the left and the right factor are read, four elements at once.
pub(crate) type Quads = [Option<usize>; 2];

/// The shape of a tile: a square.
#[derive(Clone, Copy)]
pub(crate) struct MatrixTile {
    side: usize,
    /// The subgroups, down and across.
    down: usize,
    across: usize,
    quads: Quads,
}

impl MatrixTile {
    /// The larger tile if there are `busy` of them in `batch` matrices, and these fill it; what a workgroup reads is then used more
    /// often.
    pub(crate) fn new(
        batch: usize,
        rows: usize,
        columns: usize,
        busy: usize,
        quads: Quads,
    ) -> Self {
        let fill_it = rows.min(columns) > Self::small(quads).side;
        let large = Self::large(quads);
        match fill_it && large.count(rows, columns) * batch >= busy {
            true => large,
            false => Self::small(quads),
        }
    }

    /// Where both factors are read quickly, the memory of the workgroup is what limits, and larger parts of a tile read it less.
    fn large(quads: Quads) -> Self {
        Self {
            side: 128,
            down: 2,
            across: if quads.iter().all(Option::is_some) {
                2
            } else {
                4
            },
            quads,
        }
    }

    fn small(quads: Quads) -> Self {
        Self {
            side: 64,
            down: 2,
            across: 2,
            quads,
        }
    }

    /// What the elements of operand `i` are taken for.
    pub(crate) fn elem(self, i: usize) -> Elem {
        match self.quads.contains(&Some(i)) {
            true => Elem::QuadF16,
            false => Elem::NativeF16,
        }
    }

    fn subgroups(self) -> usize {
        self.down * self.across
    }

    /// The invocations of a workgroup.
    pub(crate) fn invocations(self) -> usize {
        self.subgroups() * SUBGROUP
    }

    /// The number of tiles of a matrix.
    pub(crate) fn count(self, rows: usize, columns: usize) -> usize {
        rows.div_ceil(self.side) * columns.div_ceil(self.side)
    }

    /// The part of a pipeline's key on which [`code`](Self::code) depends.
    pub(crate) fn key(self, adjacent_terms: [bool; 2]) -> String {
        format!(
            "tensor cores {} {adjacent_terms:?} {:?}",
            self.side, self.quads
        )
    }

    /// The rows and columns of a subgroup, in matrices.
    fn matrices(self) -> [usize; 2] {
        [self.side / self.down / SIDE, self.side / self.across / SIDE]
    }

    /// The entry point of a product, whose functions are those of [`Product`](crate::product::Product). `adjacent_terms` says of
    /// each factor whether terms lie side by side. Of elements that share a word, their number in a row is even.
    ///
    /// A block of both factors is read before the terms of the one before it are added up, so that memory answers meanwhile.
    pub(crate) fn code(self, out: Elem, adjacent_terms: [bool; 2], is_partial: bool) -> String {
        let [of_left, of_right] = adjacent_terms;
        let left = Factor {
            name: "left",
            functions: ["lhs", "row_of", "left_term"],
            first: "first_row",
            size: ROWS,
            tile: self,
            adjacent_terms: of_left,
            quad: self.quads[0],
        };
        let right = Factor {
            name: "right",
            functions: ["rhs", "column_of", "right_term"],
            first: "first_column",
            size: COLUMNS,
            tile: self,
            adjacent_terms: of_right,
            quad: self.quads[1],
        };
        let both = |part: fn(&Factor) -> String| part(&left) + &part(&right);
        let (side, down) = (self.side, self.side / self.down);
        format!(
            "{memory}var<workgroup> sums: array<f32, {sums}>;
{write}
@compute @workgroup_size({invocations})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {{
    let place = group.y * {MAX_GROUPS}u + group.x;
    let across = (${COLUMNS} + {side}u - 1u) / {side}u;
    let down = (${ROWS} + {side}u - 1u) / {side}u;
    let b = place / (across * down);
    if b * ${ROWS} * ${COLUMNS} >= $0 {{ return; }}
    let first_row = (place / across) % down * {side}u;
    let first_column = place % across * {side}u;
    let matrix = b / ${PARTS};
    let begin = b % ${PARTS} * ${EACH};
    let end = min(begin + ${EACH}, ${TERMS});
    let subgroup = local / {SUBGROUP}u;
    let own_sums = subgroup * {square}u;
    let own_row = subgroup / {across_each}u * {down}u;
    let own_column = subgroup % {across_each}u * {column}u;
    for (var i = local; i < {sums}u; i += {invocations}u) {{ sums[i] = 0.0; }}
    workgroupBarrier();
{start}{lines}    {{
        let step = begin;
{reads}{stores}    }}
    workgroupBarrier();
    for (var step = begin + {STEP}u; step < end + {STEP}u; step += {STEP}u) {{
{reads}{terms}        workgroupBarrier();
{stores}        workgroupBarrier();
    }}
{writes}}}
",
            memory = both(Factor::declared),
            sums = self.subgroups() * SIDE * SIDE,
            square = SIDE * SIDE,
            write = write(out, is_partial),
            invocations = self.invocations(),
            across_each = self.across,
            column = self.side / self.across,
            start = self.each_sum(|sum, _| format!(
                "    var {sum} = coopLoadT<coop_mat16x16<f32, C>>(&sums[own_sums], {SIDE}u);\n"
            )),
            lines = both(Factor::lines),
            reads = both(Factor::reads),
            stores = both(Factor::stores),
            terms = self.terms(&left, &right),
            writes = self.writes(out, is_partial),
        )
    }

    /// For each sum, what `line` gives for its name and the numbers of its rows and columns.
    fn each_sum(self, line: impl Fn(&str, [usize; 2]) -> String) -> String {
        let [down, across] = self.matrices();
        let numbers = (0..down).flat_map(|m| (0..across).map(move |n| [m, n]));
        numbers
            .map(|[m, n]| line(&format!("sum_{m}_{n}"), [m, n]))
            .collect()
    }

    /// The statements that add the terms of a block.
    fn terms(self, left: &Factor, right: &Factor) -> String {
        let [down, across] = self.matrices();
        let mut all = String::new();
        for k in 0..STEP / SIDE {
            for m in 0..down {
                let matrix = left.matrix("A", "own_row", m, k);
                all.push_str(&format!("        let x_{k}_{m} = {matrix};\n"));
            }
            for n in 0..across {
                let matrix = right.matrix("B", "own_column", n, k);
                all.push_str(&format!("        let y_{k}_{n} = {matrix};\n"));
            }
            all.push_str(&self.each_sum(|sum, [m, n]| {
                format!("        {sum} = coopMultiplyAdd(x_{k}_{m}, y_{k}_{n}, {sum});\n")
            }));
        }
        all
    }

    /// The statements that write the sums, through the memory of the workgroup.
    fn writes(self, out: Elem, is_partial: bool) -> String {
        let each = if is_partial { 1 } else { out.per_word() };
        let arguments = match each {
            1 => "sums[own_sums + i]",
            _ => "sums[own_sums + i], sums[own_sums + i + 1u]",
        };
        self.each_sum(|sum, [m, n]| {
            format!(
                "    coopStoreT({sum}, &sums[own_sums], {SIDE}u);
    workgroupBarrier();
    for (var i = local % {SUBGROUP}u * {each}u; i < {square}u; i += {all}u) {{
        let m = first_row + own_row + {row}u + i / {SIDE}u;
        let n = first_column + own_column + {column}u + i % {SIDE}u;
        write(b, m, n, {arguments});
    }}
    workgroupBarrier();
",
                square = SIDE * SIDE,
                all = SUBGROUP * each,
                row = m * SIDE,
                column = n * SIDE,
            )
        })
    }
}

/// The function that writes one sum, or the two of a word.
fn write(out: Elem, is_partial: bool) -> String {
    let inside = format!("if m < ${ROWS} && n < ${COLUMNS}");
    let place = format!("(b * ${ROWS} + m) * ${COLUMNS} + n");
    let finished = |n: &str, sum: &str| match is_partial {
        true => out.encoded(sum),
        false => out.encoded(&format!("finish(b, m, {n}, {sum})")),
    };
    let first = finished("n", "x");
    match out.per_word() {
        1 => format!(
            "fn write(b: u32, m: u32, n: u32, x: f32) {{
    {inside} {{ out_memory[{place}] = {first}; }}
}}
"
        ),
        _ => format!(
            "fn write(b: u32, m: u32, n: u32, x: f32, y: f32) {{
    {inside} {{ out_memory[({place}) >> 1u] = {first} | ({second} << 16u); }}
}}
",
            second = finished("n + 1u", "y"),
        ),
    }
}
