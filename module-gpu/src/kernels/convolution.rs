//! Convolutions and their gradients, as products whose factors are looked up in the windows.

use module_tensor::Result;
use module_tensor::backend::{ConvGeometry, ConvOp, Operand, Storage};

use super::number::computed;
use crate::gpu::{Gpu, word};
use crate::map::take_index;
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

/// The expression of a number of indices `{name}0`, … after those of `before`.
fn together(before: &str, name: &str, rank: usize, size: Size) -> String {
    (0..rank).fold(before.to_owned(), |all, dim| {
        format!("({all}) * {} + {name}{dim}", at(dim, size))
    })
}

/// Statements that find the place `p0`, … in the input of element `k` of the window of output `o`, or return 0 where that is
/// outside.
fn input_place(rank: usize, of: &str) -> String {
    let step = |dim: usize| {
        let [input, stride, padding, dilation] =
            [Size::Input, Size::Stride, Size::Padding, Size::Dilation].map(|size| at(dim, size));
        // A number below 0 becomes a large one.
        format!(
            "    let p{dim} = o{dim} * {stride} + k{dim} * {dilation} - {padding};
    if p{dim} >= {input} {{ return {of}(0); }}\n"
        )
    };
    (0..rank).map(step).collect()
}

/// Statements that find the place `o0`, … in the output whose window has input `p` as element `k`, or return 0 where there is
/// none.
fn output_place(rank: usize, of: &str) -> String {
    let step = |dim: usize| {
        let [output, stride, padding, dilation] =
            [Size::Output, Size::Stride, Size::Padding, Size::Dilation].map(|size| at(dim, size));
        format!(
            "    let far{dim} = p{dim} + {padding};
    let near{dim} = k{dim} * {dilation};
    if far{dim} < near{dim} {{ return {of}(0); }}
    let o{dim} = quotient(far{dim} - near{dim}, {stride});
    if o{dim} * {stride} != far{dim} - near{dim} {{ return {of}(0); }}
    if o{dim} >= {output} {{ return {of}(0); }}\n"
        )
    };
    (0..rank).map(step).collect()
}

/// The functions of the factors.
fn factors(op: ConvOp, rank: usize, of: &str) -> String {
    let [groups, outs, ins] = [0, 1, 2].map(|i| format!("${}", PRODUCT_FIRST + i));
    let kernel = |from: &str| apart(from, "k", rank, Size::Kernel);
    let outputs = |from: &str| apart(from, "o", rank, Size::Output);
    let inputs = |from: &str| apart(from, "p", rank, Size::Input);
    match op {
        // The matrix of an image and a group has a row for each of its output channels, and a column for each output.
        ConvOp::Forward => format!(
            "fn lhs(matrix: u32, m: u32, k: u32) -> {of} {{
    var size = 1u;
{size}    return b(((matrix - quotient(matrix, {groups}) * {groups}) * {outs} + m) * {ins} * size + k);
}}
fn rhs(matrix: u32, k: u32, n: u32) -> {of} {{
    var term = k;
    var place = n;
{}{}{}    return a({});
}}
",
            kernel("term"),
            outputs("place"),
            input_place(rank, of),
            together(&format!("matrix * {ins} + term"), "p", rank, Size::Input),
            size = window_size(rank),
        ),
        // A row for each of its input channels, and a column for each input.
        ConvOp::Input => format!(
            "fn lhs(matrix: u32, m: u32, k: u32) -> {of} {{
    var size = 1u;
{size}    return b((((matrix - quotient(matrix, {groups}) * {groups}) * {outs} + quotient(k, size)) * {ins} + m) * size + k - quotient(k, size) * size);
}}
fn rhs(matrix: u32, k: u32, n: u32) -> {of} {{
    var term = k;
    var place = n;
{}{}{}    return a({});
}}
",
            kernel("term"),
            inputs("place"),
            output_place(rank, of),
            together(&format!("matrix * {outs} + term"), "o", rank, Size::Output),
            size = window_size(rank),
        ),
        // A matrix for each group: a row for each output channel, a column for each element of the window in each channel; the
        // terms are the outputs of all images.
        ConvOp::Weight => format!(
            "fn lhs(matrix: u32, m: u32, k: u32) -> {of} {{
    var size = 1u;
{outs_size}    return b(((quotient(k, size) * {groups} + matrix) * {outs} + m) * size + k - quotient(k, size) * size);
}}
fn rhs(matrix: u32, k: u32, n: u32) -> {of} {{
    var place = k;
    var term = n;
{}{}{}    return a({});
}}
",
            outputs("place"),
            kernel("term"),
            input_place(rank, of),
            together(
                &format!("(place * {groups} + matrix) * {ins} + term"),
                "p",
                rank,
                Size::Input
            ),
            outs_size = output_size(rank),
        ),
    }
}

/// Statements that multiply `size` by the sizes of the window.
fn window_size(rank: usize) -> String {
    let step = |dim| format!("    size = size * {};\n", at(dim, Size::Kernel));
    (0..rank).map(step).collect()
}

/// Statements that multiply `size` by the sizes of the output.
fn output_size(rank: usize) -> String {
    let step = |dim| format!("    size = size * {};\n", at(dim, Size::Output));
    (0..rank).map(step).collect()
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
        let (rank, of) = (geometry.stride.len(), elem.computed());
        self.product(Product {
            op: NAME,
            key: format!("{NAME} {op:?} {rank}"),
            reads: &[(self.data(NAME, &a)?, elem), (self.data(NAME, &b)?, elem)],
            out: elem,
            dtype: a.storage.dtype(),
            batch,
            rows,
            columns,
            terms,
            parameters: parameters(geometry)?,
            value: of,
            kept: computed(elem),
            code: &|| {
                let factors = factors(op, rank, of);
                format!("{factors}fn finish(matrix: u32, m: u32, n: u32, x: {of}) -> {of} {{ return x; }}\n")
            },
        })
    }
}
