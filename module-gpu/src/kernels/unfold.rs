use module_tensor::Result;
use module_tensor::backend::{Operand, Storage, UnfoldGeometry, UnfoldOp};

use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};

const NAME: &str = "unfold";

/// The parameters of each spatial dimension: the sizes of input, windows and kernel, stride, padding and dilation.
const PER_DIM: usize = 6;

fn at(dim: usize, part: usize) -> String {
    format!("${}", FIRST + 1 + PER_DIM * dim + part)
}

/// Statements that take the number `rest` apart to indices `{name}0`, ….
fn apart(name: &str, rank: usize, part: usize) -> String {
    let step = |dim: usize| {
        let size = at(dim, part);
        format!("    let {name}{dim} = rest % {size};\n    rest = rest / {size};\n")
    };
    (0..rank).rev().map(step).collect()
}

fn together(before: &str, name: &str, rank: usize, part: usize) -> String {
    (0..rank).fold(before.to_owned(), |all, dim| {
        format!("({all}) * {} + {name}{dim}", at(dim, part))
    })
}

impl Gpu {
    /// The windows of a convolution side by side, or added back.
    pub(crate) fn unfold_windows(
        &self,
        op: UnfoldOp,
        x: Operand,
        geometry: &UnfoldGeometry,
    ) -> Result<Storage> {
        let (window, windows): (usize, usize) = (
            geometry.kernel.iter().product(),
            geometry.output.iter().product(),
        );
        let (batch, channels) = (geometry.input[0], geometry.input[1]);
        let (numel, elem) = match op {
            UnfoldOp::Fold => (geometry.input.numel(), self.computes_numbers(&x)),
            UnfoldOp::Unfold => {
                let bits = Elem::bits(x.storage.dtype());
                (batch * channels * window * windows, Some(bits))
            }
        };
        let Some(elem) = elem else {
            return self.through_host(NAME, [x], numel, |cpu, [x]| cpu.unfold(op, x, geometry));
        };
        let rank = geometry.kernel.len();
        let mut parameters = vec![word(NAME, channels)?];
        for dim in 0..rank {
            for number in [
                geometry.input[dim + 2],
                geometry.output[dim],
                geometry.kernel[dim],
                geometry.stride[dim],
                geometry.padding[dim],
                geometry.dilation[dim],
            ] {
                parameters.push(word(NAME, number)?);
            }
        }
        let x = self.in_order(NAME, x)?;
        let of = elem.computed();
        self.map(Map {
            op: NAME,
            key: format!("{op:?} {rank}"),
            reads: &[(self.data(NAME, &x)?, elem)],
            out: elem,
            dtype: x.storage.dtype(),
            numel,
            parameters,
            index_size: None,
            code: &|| match op {
                UnfoldOp::Unfold => unfold(of, rank),
                UnfoldOp::Fold => fold(of, rank),
            },
        })
    }
}

fn unfold(of: &str, rank: usize) -> String {
    let places: String = (0..rank)
        .map(|dim| {
            let [input, stride, padding, dilation] = [0, 3, 4, 5].map(|part| at(dim, part));
            // A number below 0 becomes a large one.
            format!(
                "    let p{dim} = o{dim} * {stride} + k{dim} * {dilation} - {padding};
    if p{dim} >= {input} {{ return {of}(); }}\n"
            )
        })
        .collect();
    format!(
        "fn element(i: u32) -> {of} {{
    var rest = i;
{}{}{places}    return a({});
}}
",
        apart("o", rank, 1),
        apart("k", rank, 2),
        together("rest", "p", rank, 0)
    )
}

fn fold(of: &str, rank: usize) -> String {
    let (mut open, mut close) = (String::new(), String::new());
    for dim in 0..rank {
        let [windows, kernel, stride, padding, dilation] =
            [1, 2, 3, 4, 5].map(|part| at(dim, part));
        open.push_str(&format!(
            "    for (var k{dim} = 0u; k{dim} < {kernel}; k{dim}++) {{
    let far{dim} = p{dim} + {padding};
    let near{dim} = k{dim} * {dilation};
    let o{dim} = (far{dim} - near{dim}) / {stride};
    if far{dim} >= near{dim} && (far{dim} - near{dim}) % {stride} == 0u && o{dim} < {windows} {{\n"
        ));
        close.push_str("    }\n    }\n");
    }
    let column = together("rest", "k", rank, 2);
    format!(
        "fn element(i: u32) -> {of} {{
    var rest = i;
{}    var sum = {of}(0);
{open}    sum = sum + a({});
{close}    return sum;
}}
",
        apart("p", rank, 0),
        together(&column, "o", rank, 1)
    )
}
