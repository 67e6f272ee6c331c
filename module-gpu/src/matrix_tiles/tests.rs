//! The code of every tile is valid, whether or not the adapter of the tests has tensor cores.
#![allow(clippy::panic, clippy::unwrap_used)]

use wgpu::naga::front::wgsl::{Frontend, Options};
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};

use super::{DIRECTIVES, MatrixTile, WORKGROUP_BYTES};
use crate::elem::Elem;
use crate::map::declarations;
use crate::pipelines::with_parameters;
use crate::product::Factors;

fn code(tile: MatrixTile, out: Elem, adjacent_terms: [bool; 2], is_partial: bool) -> String {
    let finish = "fn finish(b: u32, m: u32, n: u32, x: f32) -> f32 { return x; }\n";
    let source = declarations(&[Elem::NativeF16; 2], out, false, false)
        + &Factors::default().code("f32")
        + finish
        + &tile.code(out, adjacent_terms, is_partial);
    let parameters = "@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 4>;\n";
    format!("{DIRECTIVES}{parameters}{}", with_parameters(&source))
}

#[test]
fn the_code_of_every_tile_is_valid() {
    let mut options = Options::new();
    options.capabilities = Capabilities::all();
    let mut frontend = Frontend::new_with_options(options);
    for tile in [MatrixTile::LARGE, MatrixTile::SMALL] {
        for (out, is_partial) in [(Elem::F16, false), (Elem::F32, false), (Elem::F32, true)] {
            for adjacent in [[true, true], [true, false], [false, true], [false, false]] {
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
    for tile in [MatrixTile::LARGE, MatrixTile::SMALL] {
        for adjacent in [[true, true], [true, false], [false, true], [false, false]] {
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
                count.parse::<u32>().unwrap() * if kind == "f16" { 2 } else { 4 }
            });
            assert!(bytes.sum::<u32>() <= WORKGROUP_BYTES);
        }
    }
}
