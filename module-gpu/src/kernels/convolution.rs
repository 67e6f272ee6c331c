//! Convolutions and their gradients, as products whose factors are looked up in the windows.

use module_tensor::Result;
use module_tensor::backend::{ConvGeometry, ConvOp, Operand, Storage};

use super::number::computed;
use crate::gpu::{Gpu, word};
use crate::map::take_index;
use crate::matrix_tiles::QUAD;
use crate::product::{PRODUCT_FIRST, Product};

const NAME: &str = "convolution";

/// The parameters of each spatial dimension.
const PER_DIM: usize = 6;

/// The number of the first parameter of the spatial dimensions.
const DIMS: usize = PRODUCT_FIRST + 3;

/// The parameters: groups, channels of a group of the output and of the input; then for each spatial dimension the sizes of
/// input, output and kernel, stride, padding and dilation.
fn parameters(geometry: &ConvGeometry) -> Result<Vec<u32>> {
    let groups = geometry.groups.max(1);
    let mut all = vec![
        word(NAME, groups)?,
        word(NAME, geometry.weight[0] / groups)?,
        word(NAME, geometry.weight[1])?,
    ];
    for dim in 0..geometry.stride.len() {
        for number in [
            geometry.input[dim + 2],
            geometry.output[dim + 2],
            geometry.weight[dim + 2],
            geometry.stride[dim],
            geometry.padding[dim],
            geometry.dilation[dim],
        ] {
            all.push(word(NAME, number)?);
        }
    }
    Ok(all)
}

/// A parameter of a spatial dimension.
#[derive(Clone, Copy)]
enum Size {
    Input,
    Output,
    Kernel,
    Stride,
    Padding,
    Dilation,
}

fn at(dim: usize, size: Size) -> String {
    format!("${}", DIMS + PER_DIM * dim + size as usize)
}

/// Statements that take a number apart to indices `{name}0`, … of the spatial dimensions, and leave the rest in `from`.
fn apart(from: &str, name: &str, rank: usize, size: Size) -> String {
    let step = |dim: usize| take_index(from, &format!("{name}{dim}"), &at(dim, size));
    (0..rank).rev().map(step).collect()
}

/// The product of the sizes of the spatial dimensions.
fn all(rank: usize, size: Size) -> String {
    let sizes: Vec<String> = (0..rank).map(|dim| at(dim, size)).collect();
    format!("({})", sizes.join(" * "))
}

/// A vector of a number and one of each spatial dimension, which `of` gives for its sizes.
fn vector(first: &str, rank: usize, of: impl Fn(usize) -> String) -> String {
    let mut numbers = vec![first.to_owned()];
    numbers.extend((0..3).map(|dim| if dim < rank { of(dim) } else { "0u".to_owned() }));
    format!("vec4<u32>({})", numbers.join(", "))
}

/// The component of a vector for a spatial dimension.
fn component(dim: usize) -> &'static str {
    ["y", "z", "w"][dim]
}

/// The place of indices `{name}0`, … within a channel.
fn within(name: &str, rank: usize, size: Size) -> String {
    (1..rank).fold(format!("{name}0"), |place, dim| {
        format!("(({place}) * {} + {name}{dim})", at(dim, size))
    })
}

/// The element of the input in the window of an output, or 0 where that is outside. The first vector of an output is `o ×
/// stride − padding` of each dimension, that of an element of the window is `k × dilation`.
fn of_input(rank: usize, of: &str) -> String {
    let step = |dim: usize| {
        let (part, input) = (component(dim), at(dim, Size::Input));
        // A number below 0 is a large one.
        format!(
            "    let p{dim} = column.{part} + term.{part};
    is_inside = is_inside & (p{dim} < {input});\n"
        )
    };
    let steps: String = (0..rank).map(step).collect();
    element(&steps, &within("p", rank, Size::Input), of)
}

/// The element of the output whose window has an input as one of its elements, or 0 where there is none. The vector of an input
/// is `p + padding` of each dimension, that of an element of the window is `k × dilation`.
fn of_output(strides: &[usize], of: &str) -> String {
    // Every element is divided by the stride, which is a literal for that.
    let step = |(dim, stride): (usize, &usize)| {
        let (part, output) = (component(dim), at(dim, Size::Output));
        format!(
            "    let far{dim} = column.{part} - term.{part};
    let o{dim} = far{dim} / {stride}u;
    let is_whole{dim} = (column.{part} >= term.{part}) & (o{dim} * {stride}u == far{dim});
    is_inside = is_inside & is_whole{dim} & (o{dim} < {output});\n"
        )
    };
    let steps: String = strides.iter().enumerate().map(step).collect();
    element(&steps, &within("o", strides.len(), Size::Output), of)
}

/// Statements that return the element at a place within a channel, or 0 if `steps` find that it is not inside. There are no
/// branches, so that several elements are read at once.
fn element(steps: &str, place: &str, of: &str) -> String {
    format!(
        "    var is_inside = true;
{steps}    let place = select(0u, column.x + term.x + {place}, is_inside);
    return select({of}(0), a(place), is_inside);\n"
    )
}

/// The functions of the factors.
fn factors(op: ConvOp, strides: &[usize], of: &str) -> String {
    let rank = strides.len();
    let [groups, outs, ins] = [0, 1, 2].map(|i| format!("${}", PRODUCT_FIRST + i));
    let [window, output, input] =
        [Size::Kernel, Size::Output, Size::Input].map(|size| all(rank, size));
    let group = format!("(matrix - quotient(matrix, {groups}) * {groups})");
    let kernels = |from: &str| apart(from, "k", rank, Size::Kernel);
    let outputs = |from: &str| apart(from, "o", rank, Size::Output);
    let inputs = |from: &str| apart(from, "p", rank, Size::Input);
    let of_kernel = |dim| format!("k{dim} * {}", at(dim, Size::Dilation));
    let of_window = |dim| {
        let (stride, padding) = (at(dim, Size::Stride), at(dim, Size::Padding));
        format!("o{dim} * {stride} - {padding}")
    };
    let padded = |dim| format!("p{dim} + {}", at(dim, Size::Padding));
    // The number of an element in a row of the left factor, whose lines of `size` elements are `distance` apart.
    let in_lines = |size: &str, distance: &str| {
        format!(
            "let line = quotient(k, {size}); return vec4<u32>(line * {distance} + k - line * {size});"
        )
    };
    let (row, left_term, column, right_term, factor) = match op {
        // The matrix of an image and a group has a row for each of its output channels, and a column for each output.
        ConvOp::Forward => (
            format!("({group} * {outs} + m) * {ins} * {window}"),
            "return vec4<u32>(k);".to_owned(),
            outputs("rest")
                + &returned(&vector(
                    &format!("matrix * {ins} * {input}"),
                    rank,
                    of_window,
                )),
            kernels("rest") + &returned(&vector(&format!("rest * {input}"), rank, of_kernel)),
            of_input(rank, of),
        ),
        // A row for each of its input channels, and a column for each input.
        ConvOp::Input => (
            format!("({group} * {outs} * {ins} + m) * {window}"),
            in_lines(&window, &format!("{ins} * {window}")),
            inputs("rest")
                + &returned(&vector(
                    &format!("matrix * {outs} * {output}"),
                    rank,
                    padded,
                )),
            kernels("rest") + &returned(&vector(&format!("rest * {output}"), rank, of_kernel)),
            of_output(strides, of),
        ),
        // A matrix for each group: a row for each output channel, a column for each element of the window in each channel; the
        // terms are the outputs of all images.
        ConvOp::Weight => (
            format!("(matrix * {outs} + m) * {output}"),
            in_lines(&output, &format!("{groups} * {outs} * {output}")),
            kernels("rest")
                + &returned(&vector(
                    &format!("(matrix * {ins} + rest) * {input}"),
                    rank,
                    of_kernel,
                )),
            outputs("rest")
                + &returned(&vector(
                    &format!("rest * {groups} * {ins} * {input}"),
                    rank,
                    of_window,
                )),
            of_input(rank, of),
        ),
    };
    format!(
        "fn row_of(matrix: u32, m: u32) -> vec4<u32> {{ return vec4<u32>({row}); }}
fn left_term(matrix: u32, k: u32) -> vec4<u32> {{ {left_term} }}
fn lhs(row: vec4<u32>, term: vec4<u32>) -> {of} {{ return b(row.x + term.x); }}
fn column_of(matrix: u32, n: u32) -> vec4<u32> {{
    var rest = n;
{column}}}
fn right_term(matrix: u32, k: u32) -> vec4<u32> {{
    var rest = k;
{right_term}}}
fn rhs(column: vec4<u32>, term: vec4<u32>) -> {of} {{
{factor}}}
"
    )
}

fn returned(value: &str) -> String {
    format!("    return {value};\n")
}

impl Gpu {
    pub(crate) fn convolve(
        &self,
        op: ConvOp,
        a: Operand,
        b: Operand,
        geometry: &ConvGeometry,
    ) -> Result<Storage> {
        let result = match op {
            ConvOp::Forward => &geometry.output,
            ConvOp::Input => &geometry.input,
            ConvOp::Weight => &geometry.weight,
        };
        let Some(elem) = self.computes_numbers(&a).filter(|elem| elem.is_float()) else {
            return self.through_host(NAME, [a, b], result.numel(), |cpu, [a, b]| {
                cpu.convolution(op, a, b, geometry)
            });
        };
        let groups = geometry.groups.max(1);
        let (outs, ins) = (geometry.weight[0] / groups, geometry.weight[1]);
        let spatial = |shape: &[usize]| shape[2..].iter().product::<usize>();
        let (window, output, input) = (
            spatial(&geometry.weight),
            spatial(&geometry.output),
            spatial(&geometry.input),
        );
        let images = geometry.input[0];
        let (batch, rows, columns, terms) = match op {
            ConvOp::Forward => (images * groups, outs, output, ins * window),
            ConvOp::Input => (images * groups, ins, input, outs * window),
            ConvOp::Weight => (groups, outs, ins * window, images * output),
        };
        let (a, b) = (self.in_order(NAME, a)?, self.in_order(NAME, b)?);
        if let Some(out) = self.convolve_points(op, [&a, &b], elem, geometry)? {
            return Ok(out);
        }
        // The elements of the left factor that lie side by side in a row.
        let line = match op {
            ConvOp::Forward => ins * window,
            ConvOp::Input => window,
            ConvOp::Weight => output,
        };
        let of = elem.computed();
        let mut key = format!("{NAME} {op:?} {}", geometry.stride.len());
        if op == ConvOp::Input {
            key.push_str(&format!(" {:?}", geometry.stride));
        }
        self.product(Product {
            op: NAME,
            key,
            reads: &[(self.data(NAME, &a)?, elem), (self.data(NAME, &b)?, elem)],
            out: elem,
            dtype: a.storage.dtype(),
            batch,
            rows,
            columns,
            terms,
            adjacent_terms: [true, op == ConvOp::Weight],
            of_elements: true,
            quads: [line.is_multiple_of(QUAD).then_some(1), None],
            parameters: parameters(geometry)?,
            value: of,
            kept: computed(elem),
            code: &|| {
                let factors = factors(op, &geometry.stride, of);
                format!("{factors}fn finish(matrix: u32, m: u32, n: u32, x: {of}) -> {of} {{ return x; }}\n")
            },
        })
    }
}
