//! The code of tiles without tensor cores: the invocations of a subgroup hold the same matrices, and multiply them in loops. So an
//! adapter that has no tensor cores can tell whether the code reads, multiplies and writes the right numbers.

use module_tensor::{Device, Result};

use crate::gpu::Gpu;
use crate::matrix_tiles::{DIRECTIVES, SIDE, SUBGROUP};

/// The directives that are left.
const LEFT: &str = "enable f16;\n";

/// The index of the device, beyond those of adapters.
const INDEX: usize = 1000;

/// A device of its own with the first adapter, whose tensor cores are emulated if it has none.
pub(crate) fn device() -> Result<Option<Device>> {
    let Some((adapter, mut about)) = crate::adapter::found().into_iter().next() else {
        return Ok(None);
    };
    about.index = INDEX;
    let gpu = Box::leak(Box::new(Gpu::open(&adapter, about, true)?));
    Device::register(gpu).map(Some)
}

/// The code of a tile, without operations of tensor cores.
pub(crate) fn emulated(source: &str) -> String {
    let Some(source) = source.strip_prefix(DIRECTIVES) else {
        return source.to_owned();
    };
    let mut out = LEFT.to_owned();
    for line in source.lines() {
        let mut line = line
            .replace(
                &format!("coopLoadT<coop_mat16x16<f32, C>>(&sums[own_sums], {SIDE}u)"),
                "Sums()",
            )
            .replace("coopMultiplyAdd(", "multiply_and_add(local, ");
        for (name, role) in [("left", 'A'), ("right", 'B')] {
            for (load, by_rows) in [("coopLoadT", true), ("coopLoad", false)] {
                let call = format!("{load}<coop_mat16x16<f16, {role}>>(&{name}[");
                if line.contains(&call) {
                    line = line.replace(&call, &format!("matrix_of_{name}({by_rows}, "));
                    line = line.replace("], ", ", ");
                }
            }
        }
        if let Some((before, sum)) = line.split_once("coopStoreT(") {
            let sum = sum.split(',').next().unwrap_or_default();
            line = format!("{before}store(local, own_sums, {sum});");
        }
        out.push_str(&line);
        out.push('\n');
    }
    for name in ["left", "right"] {
        let (unit, element) = match source.contains(&format!("{name}: array<vec4<f16>")) {
            true => (4, "[place / 4u][place % 4u]"),
            false => (1, "[place]"),
        };
        out.push_str(&format!(
            "fn {name}_at(x: Matrix, row: u32, column: u32) -> f32 {{
    let place = x.first + select(column * x.stride + row, row * x.stride + column, x.is_by_rows);
    return f32({name}{element});
}}
fn matrix_of_{name}(is_by_rows: bool, first: u32, stride: u32) -> Matrix {{
    return Matrix(first * {unit}u, stride * {unit}u, is_by_rows);
}}
"
        ));
    }
    // Two invocations hold a row.
    let each = SIDE * SIDE / SUBGROUP;
    out.push_str(&format!(
        "alias Sums = array<f32, {each}>;
struct Matrix {{ first: u32, stride: u32, is_by_rows: bool }}
fn multiply_and_add(local: u32, x: Matrix, y: Matrix, sums: Sums) -> Sums {{
    let row = local % {SUBGROUP}u / 2u;
    let first = local % 2u * {each}u;
    var all = sums;
    for (var k = 0u; k < {SIDE}u; k++) {{
        let factor = left_at(x, row, k);
        for (var i = 0u; i < {each}u; i++) {{ all[i] += factor * right_at(y, k, first + i); }}
    }}
    return all;
}}
fn store(local: u32, own_sums: u32, given: Sums) {{
    var all = given;
    let first = own_sums + local % {SUBGROUP}u * {each}u;
    for (var i = 0u; i < {each}u; i++) {{ sums[first + i] = all[i]; }}
}}
"
    ));
    out
}
