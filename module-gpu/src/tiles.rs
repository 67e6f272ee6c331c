//! The tiles of a product. A workgroup computes one, and reads a block of both factors for some terms at a time.

use crate::elem::Elem;
use crate::product::{COLUMNS, EACH, PARTS, ROWS, TERMS};
use crate::recorder::MAX_GROUPS;

/// The terms of a block.
const STEP: usize = 8;

/// So many tiles of the largest size keep a large device busy: two for each of its 132 multiprocessors, in the case of the H100. With
/// less than half of them there can be as many parts of sums, of at least [`LONG`] terms.
const BUSY: usize = 256;
const LONG: usize = 512;

/// The shape of a tile.
///
/// Rows and columns are computed in groups of four, because a vector of four numbers is read from the memory of a workgroup at
/// once. Those of a group are a quarter of the tile apart, so that invocations side by side read and write side by side.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    /// The invocations, down and across.
    down: usize,
    across: usize,
    /// The groups of four rows and of four columns that each invocation computes.
    down_each: usize,
    across_each: usize,
}

impl Tile {
    /// The tile for `batch` matrices: as large as they allow, as what an invocation reads is then used most often, but so that
    /// there are enough of them. Numbers of eight bytes have smaller tiles, to fit into the memory of a workgroup.
    pub(crate) fn new(batch: usize, [rows, columns, terms]: [usize; 3], is_wide: bool) -> Self {
        let largest = if is_wide { 64 } else { 128 };
        let side = |size: usize| size.next_power_of_two().clamp(16, largest);
        let tile = Self::sized(side(rows), side(columns));
        let count = tile.count(rows, columns) * batch;
        let can_have_parts = count <= BUSY / 2 && count * (terms / LONG) >= BUSY;
        match count >= BUSY || can_have_parts || tile.height() < 128 {
            true => tile,
            false => Self::sized(side(rows), side(columns).min(64)),
        }
    }

    fn sized(height: usize, width: usize) -> Self {
        // A workgroup has at least 64 invocations.
        let (height, width) = match (height, width) {
            (16, _) => (16, width.max(64)),
            (_, 16) => (height.max(64), 16),
            sizes => sizes,
        };
        let is_narrow = height.min(width) == 16;
        let each = |size: usize| match size {
            128 => 2,
            64 if !is_narrow => 2,
            _ => 1,
        };
        Self {
            down: height / each(height) / 4,
            across: width / each(width) / 4,
            down_each: each(height),
            across_each: each(width),
        }
    }

    fn height(self) -> usize {
        4 * self.down * self.down_each
    }

    fn width(self) -> usize {
        4 * self.across * self.across_each
    }

    /// The invocations of a workgroup.
    fn invocations(self) -> usize {
        self.down * self.across
    }

    /// The number of tiles of a matrix.
    pub(crate) fn count(self, rows: usize, columns: usize) -> usize {
        rows.div_ceil(self.height()) * columns.div_ceil(self.width())
    }

    /// The part of a pipeline's key on which [`code`](Self::code) depends.
    pub(crate) fn key(self, adjacent_terms: [bool; 2]) -> String {
        let adjacent = adjacent_terms.map(|adjacent| if adjacent { 't' } else { 'l' });
        format!(
            "{} {} {}",
            self.height(),
            self.width(),
            String::from_iter(adjacent)
        )
    }

    /// The entry point of a product of numbers of the type `value`, whose functions are those of
    /// [`Product`](crate::product::Product). `adjacent_terms` says of each factor whether terms lie side by side.
    ///
    /// A block of both factors is read before the terms of the one before it are added up, so that memory answers meanwhile.
    pub(crate) fn code(
        self,
        out: Elem,
        value: &str,
        adjacent_terms: [bool; 2],
        is_partial: bool,
    ) -> String {
        let (height, width) = (self.height(), self.width());
        let finished = if is_partial {
            "x"
        } else {
            "finish(b, m, n, x)"
        };
        let encoded = out.encoded(finished);
        let block = |name, lines: usize, functions, first, size, adjacent_terms| Block {
            name,
            groups: lines / 4,
            functions,
            first,
            size,
            invocations: self.invocations(),
            adjacent_terms,
        };
        let [of_left, of_right] = adjacent_terms;
        let left = block(
            "left",
            height,
            ["lhs", "row_of", "left_term"],
            "first_row",
            ROWS,
            of_left,
        );
        let right = block(
            "right",
            width,
            ["rhs", "column_of", "right_term"],
            "first_column",
            COLUMNS,
            of_right,
        );
        let both = |part: fn(&Block) -> String| part(&left) + &part(&right);
        format!(
            "{memory}
fn write(b: u32, m: u32, n: u32, x: {value}) {{
    if m < ${ROWS} && n < ${COLUMNS} {{
        out_memory[(b * ${ROWS} + m) * ${COLUMNS} + n] = {encoded};
    }}
}}

@compute @workgroup_size({invocations})
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
    let row = local / {columns}u;
    let column = local % {columns}u;
{sums}{lines}    var step = begin;
    loop {{
{reads}        if step > begin {{
            for (var k = 0u; k < {STEP}u; k++) {{
{terms}            }}
            workgroupBarrier();
        }}
        if step >= end {{ break; }}
{stores}        workgroupBarrier();
        step += {STEP}u;
    }}
    let m = first_row + row;
    let n = first_column + column;
{writes}}}
",
            memory = left.declared(value) + &right.declared(value),
            invocations = self.invocations(),
            columns = self.across,
            sums = self.sums(|sum, _| format!("    var {sum} = vec4<{value}>();\n")),
            lines = both(Block::lines),
            reads = both(Block::reads),
            stores = both(Block::stores),
            terms = self.terms(value, &left, &right),
            writes = self.writes(),
        )
    }

    /// For each sum, a row and a group of columns, what `line` gives for its name and its numbers: of the group of rows, of the
    /// row in that group, and of the group of columns.
    fn sums(self, line: impl Fn(&str, [usize; 3]) -> String) -> String {
        let mut all = String::new();
        for group in 0..self.down_each {
            for row in 0..4 {
                for columns in 0..self.across_each {
                    let name = format!("sum_{group}_{row}_{columns}");
                    all.push_str(&line(&name, [group, row, columns]));
                }
            }
        }
        all
    }

    /// The statements that add term `k` of the block.
    fn terms(self, value: &str, left: &Block, right: &Block) -> String {
        let rows = (0..self.down_each).map(|group| {
            let (stride, first) = (left.stride(), group * self.down);
            format!("                let x{group} = left[k * {stride}u + row + {first}u];\n")
        });
        let columns = (0..self.across_each).map(|group| {
            let (stride, first) = (right.stride(), group * self.across);
            format!("                let y{group} = right[k * {stride}u + column + {first}u];\n")
        });
        let factors: String = rows.chain(columns).collect();
        let added = self.sums(|sum, [group, row, columns]| {
            format!("                {sum} += vec4<{value}>(x{group}[{row}]) * y{columns};\n")
        });
        factors + &added
    }

    fn writes(self) -> String {
        self.sums(|sum, [group, row, columns]| {
            let m = group * self.down + row * self.height() / 4;
            let n = |i: usize| columns * self.across + i * self.width() / 4;
            let write = |i| format!("    write(b, m + {m}u, n + {}u, {sum}[{i}]);\n", n(i));
            (0..4).map(write).collect()
        })
    }
}

/// The part of a factor that a workgroup reads at once: vectors of four rows or columns, a line of them for each term.
struct Block {
    name: &'static str,
    groups: usize,
    /// The functions of a factor, of its row or column, and of its term.
    functions: [&'static str; 3],
    /// The first row or column, and the parameter that is their number.
    first: &'static str,
    size: usize,
    invocations: usize,
    /// Whether invocations side by side read terms side by side, and not rows or columns.
    adjacent_terms: bool,
}

/// A vector that an invocation reads.
struct Vector {
    /// Its number.
    number: usize,
    /// The expressions of its term in the block and of its place in that term's line.
    term: String,
    place: String,
    /// Whether all invocations have one.
    is_whole: bool,
}

impl Block {
    /// The distance of neighboring terms: odd, so that writes of several terms go to different banks of the memory.
    fn stride(&self) -> usize {
        self.groups + 1
    }

    fn count(&self) -> usize {
        STEP * self.groups
    }

    /// Whether all vectors of an invocation have the same rows or columns.
    fn has_one_place(&self) -> bool {
        !self.adjacent_terms && self.invocations.is_multiple_of(self.groups)
    }

    /// Its memory, and a function that reads four factors of a term, which are 0 outside.
    fn declared(&self, value: &str) -> String {
        let (name, size, [factor, _, of_term]) = (self.name, self.size, self.functions);
        let component = |(i, component): (usize, &str)| {
            format!(
                "    if first + {}u < ${size} {{ all.{component} = {factor}(line{i}, term); }}\n",
                i * self.groups
            )
        };
        let components = ["x", "y", "z", "w"].into_iter().enumerate();
        let components: String = components.map(component).collect();
        let lines: String = (0..4).map(|i| format!(", line{i}: vec4<u32>")).collect();
        format!(
            "var<workgroup> {name}: array<vec4<{value}>, {}>;
fn four_of_{name}(matrix: u32, first: u32, k: u32, end: u32{lines}) -> vec4<{value}> {{
    var all = vec4<{value}>();
    if k >= end {{ return all; }}
    let term = {of_term}(matrix, k);
{components}    return all;
}}
",
            STEP * self.stride()
        )
    }

    fn vectors(&self) -> impl Iterator<Item = Vector> {
        let starts = (0..self.count()).step_by(self.invocations);
        starts.enumerate().map(move |(number, start)| {
            let fast = if self.adjacent_terms {
                STEP
            } else {
                self.groups
            };
            let at = format!("(local + {start}u)");
            let [low, high] = ['%', '/'].map(|sign| format!("{at} {sign} {fast}u"));
            let (term, place) = match self.adjacent_terms {
                true => (low, high),
                false => (high, low),
            };
            Vector {
                number,
                term,
                place,
                is_whole: start + self.invocations <= self.count(),
            }
        })
    }

    /// The statements that find out what all terms need to know of the rows or columns of the vectors.
    fn lines(&self) -> String {
        let (name, first, [_, of_line, _]) = (self.name, self.first, self.functions);
        let count = if self.has_one_place() { 1 } else { usize::MAX };
        let lines = |Vector { number, place, .. }: Vector| {
            let at = format!("first_of_{name}_{number}");
            let mut lines = format!("    let {at} = {first} + {place};\n");
            for i in 0..4 {
                let distance = i * self.groups;
                lines.push_str(&format!(
                    "    let line_of_{name}_{number}_{i} = {of_line}(matrix, {at} + {distance}u);\n"
                ));
            }
            lines
        };
        self.vectors().take(count).map(lines).collect()
    }

    /// The statements that read the block from term `step` on.
    fn reads(&self) -> String {
        let name = self.name;
        let read = |Vector { number, term, .. }: Vector| {
            let place = if self.has_one_place() { 0 } else { number };
            let lines: String = (0..4)
                .map(|i| format!(", line_of_{name}_{place}_{i}"))
                .collect();
            format!(
                "        let {name}_{number} = four_of_{name}(matrix, first_of_{name}_{place}, step + {term}, end{lines});\n"
            )
        };
        self.vectors().map(read).collect()
    }

    /// The statements that store what was read into the memory of the workgroup.
    fn stores(&self) -> String {
        let (name, stride) = (self.name, self.stride());
        let store = |Vector {
                         number,
                         term,
                         place,
                         is_whole,
                     }: Vector| {
            let condition = match is_whole {
                true => String::new(),
                false => format!("if local < {}u ", self.count() % self.invocations),
            };
            format!(
                "        {condition}{{ {name}[{term} * {stride}u + {place}] = {name}_{number}; }}\n"
            )
        };
        self.vectors().map(store).collect()
    }
}
