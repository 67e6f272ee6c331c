//! The windows of pooling, in the code of kernels.

use module_tensor::Result;
use module_tensor::backend::{PoolGeometry, PoolWindows};

use crate::gpu::word;
use crate::map::{FIRST, take_index};

/// The parameters of each spatial dimension: the sizes of input and output, then window, stride, padding and dilation.
pub(crate) const PER_DIM: usize = 6;

/// The parameters of all spatial dimensions.
pub(crate) fn parameters(op: &'static str, geometry: &PoolGeometry) -> Result<Vec<u32>> {
    let mut all = Vec::new();
    for dim in 0..geometry.input.rank() - 2 {
        all.push(word(op, geometry.input[dim + 2])?);
        all.push(word(op, geometry.output[dim + 2])?);
        let window = match &geometry.windows {
            PoolWindows::Sliding(windows) => {
                let window = windows[dim];
                [
                    window.kernel_size,
                    window.stride,
                    window.padding,
                    window.dilation,
                ]
            }
            PoolWindows::Adaptive => [1; 4],
        };
        for number in window {
            all.push(word(op, number)?);
        }
    }
    Ok(all)
}

/// Whether windows adapt to the sizes.
pub(crate) fn is_adaptive(geometry: &PoolGeometry) -> bool {
    geometry.windows == PoolWindows::Adaptive
}

/// Whether the products of adaptive windows fit 32 bits.
pub(crate) fn fits(geometry: &PoolGeometry) -> bool {
    let sizes = geometry.input.iter().zip(geometry.output.iter()).skip(2);
    let mut products = sizes.map(|(&input, &output)| (input as u64 + 1) * (output as u64 + 1));
    products.all(|product| product < 1 << 31)
}

/// The part of a key that says which code is made.
pub(crate) fn key(geometry: &PoolGeometry) -> String {
    format!("{} {}", geometry.input.rank(), is_adaptive(geometry))
}

/// Functions of each spatial dimension `d`: `begin_d(o)` and `end_d(o)`, the first place of the window of output `o` and the one
/// after the last, both inside the input; `first_d(p)` and `last_d(p)`, between which lie the outputs whose windows have place
/// `p`; `has_d(o, p)`, whether one does; `step_d()`, the distance of neighbors in a window.
pub(crate) fn windows(geometry: &PoolGeometry) -> String {
    let mut code = String::new();
    for dim in 0..geometry.input.rank() - 2 {
        let [input, output, window, stride, padding, dilation] =
            std::array::from_fn(|i| format!("${}", FIRST + PER_DIM * dim + i));
        if is_adaptive(geometry) {
            code.push_str(&format!(
                "
fn step_{dim}() -> u32 {{ return 1u; }}
fn begin_{dim}(o: u32) -> u32 {{ return o * {input} / {output}; }}
fn end_{dim}(o: u32) -> u32 {{ return ((o + 1u) * {input} + {output} - 1u) / {output}; }}
fn first_{dim}(p: u32) -> u32 {{ return p * {output} / {input}; }}
fn last_{dim}(p: u32) -> u32 {{ return min(((p + 1u) * {output} + {input} - 1u) / {input}, {output}); }}
"
            ));
        } else {
            code.push_str(&format!(
                "
fn step_{dim}() -> u32 {{ return {dilation}; }}
fn begin_{dim}(o: u32) -> u32 {{
    let start = o * {stride};
    if start >= {padding} {{ return start - {padding}; }}
    let outside = ({padding} - start + {dilation} - 1u) / {dilation} * {dilation};
    return start + outside - {padding};
}}
fn end_{dim}(o: u32) -> u32 {{
    let end = o * {stride} + {dilation} * ({window} - 1u) + 1u;
    return min(select(end - {padding}, 0u, end < {padding}), {input});
}}
fn first_{dim}(p: u32) -> u32 {{
    let far = p + {padding};
    let reach = {dilation} * ({window} - 1u);
    if far < reach {{ return 0u; }}
    return (far - reach + {stride} - 1u) / {stride};
}}
fn last_{dim}(p: u32) -> u32 {{ return min((p + {padding}) / {stride} + 1u, {output}); }}
"
            ));
        }
        code.push_str(&format!(
            "
fn has_{dim}(o: u32, p: u32) -> bool {{
    let begin = begin_{dim}(o);
    return p >= begin && p < end_{dim}(o) && (p - begin) % step_{dim}() == 0u;
}}
"
        ));
    }
    code
}

/// Statements that take the number `i` apart to the plane and indices `{name}0`, … of the spatial dimensions.
pub(crate) fn apart(name: &str, rank: usize, part: usize) -> String {
    let mut code = "    var plane = i;\n".to_owned();
    for dim in (0..rank).rev() {
        let size = FIRST + PER_DIM * dim + part;
        code.push_str(&take_index(
            "plane",
            &format!("{name}{dim}"),
            &format!("${size}"),
        ));
    }
    code
}

/// The number of the place with indices `{name}0`, … after `before`.
pub(crate) fn together(before: &str, name: &str, rank: usize, part: usize) -> String {
    (0..rank).fold(before.to_owned(), |all, dim| {
        format!("({all}) * ${} + {name}{dim}", FIRST + PER_DIM * dim + part)
    })
}

/// The place of the size of the input among the parameters of a dimension.
pub(crate) const INPUT: usize = 0;
/// That of the size of the output.
pub(crate) const OUTPUT: usize = 1;

/// Nested loops over the places `p0`, … of the window of output `o0`, ….
pub(crate) fn over_window(rank: usize, body: &str) -> String {
    let open = |dim: usize| {
        format!(
            "    for (var p{dim} = begin_{dim}(o{dim}); p{dim} < end_{dim}(o{dim}); p{dim} += step_{dim}()) {{\n"
        )
    };
    (0..rank).map(open).collect::<String>() + body + &"    }\n".repeat(rank)
}

/// Nested loops over the outputs `o0`, … that may have place `p0`, … in their windows.
pub(crate) fn over_outputs(rank: usize, body: &str) -> String {
    let open = |dim: usize| {
        format!(
            "    for (var o{dim} = first_{dim}(p{dim}); o{dim} < last_{dim}(p{dim}); o{dim}++) {{\n    if has_{dim}(o{dim}, p{dim}) {{\n"
        )
    };
    (0..rank).map(open).collect::<String>() + body + &"    }\n".repeat(2 * rank)
}
