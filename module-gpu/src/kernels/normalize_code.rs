//! Where normalization finds elements, and the functions that its kernels share.

use module_tensor::Result;
use module_tensor::backend::{NormGeometry, NormOver};

use crate::gpu::word;

pub(super) const NAME: &str = "normalization";

/// The parameters that say where elements lie: the groups, channels and elements of a channel, then `eps`.
pub(super) fn parameters(geometry: &NormGeometry) -> Result<Vec<u32>> {
    Ok(vec![
        word(NAME, geometry.groups)?,
        word(NAME, geometry.channels)?,
        word(NAME, geometry.inner)?,
        (geometry.eps as f32).to_bits(),
    ])
}

/// Functions of places: `place(o, j)`, that of value `j` of statistics `o`; `of_statistics(i)` and `channel(i)`, the numbers of
/// the statistics and of the channel of place `i`; `of_channel(o, j)`, the place of value `j` of a channel.
pub(super) fn places(over: NormOver, first: usize) -> String {
    let (groups, channels, inner) = (first, first + 1, first + 2);
    let row = format!("(${channels} * ${inner})");
    let (place, statistics) = match over {
        NormOver::Row => (format!("o * {row} + j"), format!("quotient(i, {row})")),
        _ => (
            format!("quotient(j, {row}) * {row} * (${groups} - 1u) + o * {row} + j"),
            format!("quotient(i, {row}) - quotient(i, {row} * ${groups}) * ${groups}"),
        ),
    };
    format!(
        "fn place(o: u32, j: u32) -> u32 {{ return {place}; }}
fn of_statistics(i: u32) -> u32 {{ return {statistics}; }}
fn channel(i: u32) -> u32 {{
    let all = ${groups} * ${channels};
    return quotient(i, ${inner}) - quotient(i, ${inner} * all) * all;
}}
fn of_channel(o: u32, j: u32) -> u32 {{
    let image = quotient(j, ${inner});
    return (image * (${groups} * ${channels} - 1u) + o) * ${inner} + j;
}}
"
    )
}

/// The sum of values.
pub(super) const SUM: &str = "
fn start() -> f32 { return 0.0; }
fn join(x: f32, y: f32) -> f32 { return x + y; }
";
