//! The code of tiles: it is valid, and computes products.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "../../tests/common/mod.rs"]
mod common;
pub(crate) mod emulation;
mod products;

use wgpu::naga::front::wgsl::{Frontend, Options};
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};

use super::{DIRECTIVES, MatrixTile, QUAD, Quads, WORKGROUP_BYTES};
use crate::elem::Elem;
use crate::map::declarations;
use crate::pipelines::with_parameters;
use crate::product::Factors;

fn code(tile: MatrixTile, out: Elem, adjacent_terms: [bool; 2], is_partial: bool) -> String {
    let finish = "fn finish(b: u32, m: u32, n: u32, x: f32) -> f32 { return x; }\n";
    let source = declarations(&[tile.elem(0), tile.elem(1)], out, false, false)
        + &Factors::default().code("f32")
        + finish
        + &tile.code(out, adjacent_terms, is_partial);
    let parameters = "@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 4>;\n";
    format!("{DIRECTIVES}{parameters}{}", with_parameters(&source))
}

const ADJACENT: [[bool; 2]; 4] = [[true, true], [true, false], [false, true], [false, false]];

const QUADS: [Quads; 4] = [
    [None, None],
    [Some(0), None],
    [None, Some(1)],
    [Some(1), Some(0)],
];

/// All tiles.
fn tiles() -> impl Iterator<Item = MatrixTile> {
    let of = |quads| [MatrixTile::large(quads), MatrixTile::small(quads)];
    QUADS.into_iter().flat_map(of)
}

#[test]
fn the_code_of_every_tile_is_valid() {
    let mut options = Options::new();
    options.capabilities = Capabilities::all();
    let mut frontend = Frontend::new_with_options(options);
    for tile in tiles() {
        for (out, is_partial) in [(Elem::F16, false), (Elem::F32, false), (Elem::F32, true)] {
            for adjacent in ADJACENT {
                let source = code(tile, out, adjacent, is_partial);
                let module = match frontend.parse(&source) {
                    Ok(module) => module,
                    Err(error) => panic!("{}\n{source}", error.emit_to_string(&source)),
                };
                let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
                if let Err(error) = validator.validate(&module) {
                    panic!("{}\n{source}", error.emit_to_string(&source));
                }
            }
        }
    }
}

#[test]
fn tiles_fit_into_the_memory_of_a_workgroup() {
    for tile in tiles() {
        for adjacent in ADJACENT {
            let source = code(tile, Elem::F16, adjacent, false);
            let arrays = source.split("var<workgroup>").skip(1);
            let bytes = arrays.map(|array| {
                let (kind, rest) = array
                    .split_once("array<")
                    .unwrap()
                    .1
                    .split_once(',')
                    .unwrap();
                let count = rest.split_once('>').unwrap().0.trim();
                let size = match kind {
                    "f16" => 2,
                    "vec4<f16>" => 2 * QUAD as u32,
                    _ => 4,
                };
                count.parse::<u32>().unwrap() * size
            });
            assert!(bytes.sum::<u32>() <= WORKGROUP_BYTES);
        }
    }
}
