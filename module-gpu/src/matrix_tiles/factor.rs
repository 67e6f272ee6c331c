//! The factors of a product on tensor cores, in the memory of a workgroup.

use super::{GAP, MatrixTile, QUAD, SIDE, STEP, SUBGROUP};
use crate::map::NAMES;

/// The part of a factor that a workgroup reads at once. Its rows or columns are lines of terms in the memory of the workgroup if
/// terms lie side by side, and otherwise the terms are lines of these.
pub(super) struct Factor {
    pub(super) name: &'static str,
    /// The functions of a factor, of its row or column, and of its term.
    pub(super) functions: [&'static str; 3],
    /// The first row or column, and the parameter that is their number.
    pub(super) first: &'static str,
    pub(super) size: usize,
    pub(super) tile: MatrixTile,
    pub(super) adjacent_terms: bool,
    /// The operand whose elements it is, if four of them are read at once.
    pub(super) quad: Option<usize>,
}

impl Factor {
    /// The distance of neighboring lines.
    fn stride(&self) -> usize {
        GAP + if self.adjacent_terms {
            STEP
        } else {
            self.tile.side
        }
    }

    /// How many elements are a unit of its memory.
    fn unit(&self) -> usize {
        if self.quad.is_some() { QUAD } else { 1 }
    }

    /// Its memory, and a function that reads a unit, which is 0 outside.
    pub(super) fn declared(&self) -> String {
        let (name, size, [factor, ..]) = (self.name, self.size, self.functions);
        let lines = match self.adjacent_terms {
            true => self.tile.side,
            false => STEP,
        };
        let (of, value) = match self.quad {
            Some(operand) => (
                "vec4<f16>",
                format!("{}_memory[(line.x + term.x) >> 2u]", NAMES[operand]),
            ),
            None => ("f16", format!("f16({factor}(line, term))")),
        };
        format!(
            "var<workgroup> {name}: array<{of}, {}>;
fn of_{name}(at: u32, line: vec4<u32>, is_term: bool, term: vec4<u32>) -> {of} {{
    if at >= ${size} || !is_term {{ return {of}(); }}
    return {value};
}}
",
            lines * self.stride() / self.unit()
        )
    }

    /// The rows or columns of an invocation, and its terms in the block, as expressions. Those of a unit are its first ones.
    fn places(&self) -> [Vec<String>; 2] {
        let (unit, side) = (self.unit(), self.tile.side);
        // Invocations side by side read elements side by side: so many of them, each the first of so many, from these on. Of
        // terms, an invocation reads neighbors.
        let (beside, each, firsts) = match self.adjacent_terms {
            true => (STEP / QUAD, QUAD, (0..QUAD).step_by(unit)),
            false => {
                let beside = (side / unit).min(SUBGROUP);
                (beside, unit, (0..side).step_by(beside * unit))
            }
        };
        let near = firsts.map(|i| format!("(local % {beside}u * {each}u + {i}u)"));
        let lines = if self.adjacent_terms { side } else { STEP };
        let far = (0..lines).step_by(self.tile.invocations() / beside);
        let far = far.map(|i| format!("(local / {beside}u + {i}u)"));
        match self.adjacent_terms {
            true => [far.collect(), near.collect()],
            false => [near.collect(), far.collect()],
        }
    }

    /// The statements that find out what all terms need to know of the rows or columns.
    pub(super) fn lines(&self) -> String {
        let (name, first, [_, of_line, _]) = (self.name, self.first, self.functions);
        let [lines, _] = self.places();
        let of = |(i, place): (usize, &String)| {
            format!(
                "    let at_{name}_{i} = {first} + {place};
    let line_{name}_{i} = {of_line}(matrix, at_{name}_{i});\n"
            )
        };
        lines.iter().enumerate().map(of).collect()
    }

    /// For each element of an invocation, what `line` gives for its variable, and for the numbers and the expressions of its row or
    /// column and of its term.
    fn each(&self, line: impl Fn(&str, [usize; 2], [&str; 2]) -> String) -> String {
        let [lines, terms] = self.places();
        let mut all = String::new();
        for (i, place) in lines.iter().enumerate() {
            for (j, term) in terms.iter().enumerate() {
                let variable = format!("{}_{i}_{j}", self.name);
                all.push_str(&line(&variable, [i, j], [place, term]));
            }
        }
        all
    }

    /// The statements that read the block from term `step` on.
    pub(super) fn reads(&self) -> String {
        let (name, [_, _, of_term]) = (self.name, self.functions);
        let [_, terms] = self.places();
        let of = |(j, term): (usize, &String)| {
            format!(
                "        let k_{name}_{j} = step + {term};
        let term_{name}_{j} = {of_term}(matrix, k_{name}_{j});\n"
            )
        };
        let terms: String = terms.iter().enumerate().map(of).collect();
        let reads = self.each(|variable, [i, j], _| {
            format!(
                "        let {variable} = of_{name}(at_{name}_{i}, line_{name}_{i}, k_{name}_{j} < end, term_{name}_{j});\n"
            )
        });
        terms + &reads
    }

    /// The statements that store what was read into the memory of the workgroup.
    pub(super) fn stores(&self) -> String {
        let (name, stride) = (self.name, self.stride());
        let unit = self.unit();
        self.each(|variable, _, [place, term]| {
            let (line, within) = match self.adjacent_terms {
                true => (place, term),
                false => (term, place),
            };
            format!("        {name}[({line} * {stride}u + {within}) / {unit}u] = {variable};\n")
        })
    }

    /// A matrix of the factor: its role, the first row or column of the subgroup, and its number in rows or columns and in terms.
    pub(super) fn matrix(&self, role: &str, own: &str, number: usize, k: usize) -> String {
        let (name, stride, unit) = (self.name, self.stride(), self.unit());
        let (place, term) = (format!("({own} + {}u)", number * SIDE), k * SIDE);
        let at = match self.adjacent_terms {
            true => format!("{place} * {stride}u + {term}u"),
            false => format!("{term}u * {stride}u + {place}"),
        };
        // The matrix of the left factor has rows of terms, that of the right one columns of terms.
        let load = match (role, self.adjacent_terms) {
            ("A", true) | ("B", false) => "coopLoadT",
            _ => "coopLoad",
        };
        format!(
            "{load}<coop_mat16x16<f16, {role}>>(&{name}[({at}) / {unit}u], {}u)",
            stride / unit
        )
    }
}
