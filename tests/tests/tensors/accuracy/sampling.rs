//! Sampling of images at given places, with the gradients of image and places.

use module_nn::{GridSampleOptions, Tensor};

use super::case::{Case, draw};
use super::tape::{Tape, Var, formula};

/// The pixels before and after a place of a line from -1 to 1, with their weights.
fn neighbors<'t>(tape: &'t Tape, place: Var<'t>, size: usize) -> [(f64, Var<'t>); 2] {
    let (one, half) = (tape.number(1.0), tape.number(0.5));
    let source = ((place + one) * tape.number(size as f64) - one) * half;
    let left = source.value().floor();
    let after = source - tape.number(left);
    [(left, one - after), (left + 1.0, after)]
}

/// An image `[1, channels, height, width]`, of which `count` places are sampled.
fn case(channels: usize, [height, width]: [usize; 2], count: usize) -> Case {
    // The place counts four roundings, its weights two each, and their product and that with the pixel two; a gradient
    // counts as many, and adds up those of all places and channels.
    let reference = formula(
        20.0,
        4 * count.max(channels),
        Box::new(move |tape, operands| {
            let (image, grid) = (&operands[0], &operands[1]);
            let inside = |pixel: f64, size: usize| (0.0..size as f64).contains(&pixel);
            let mut out = vec![tape.number(0.0); channels * count];
            for place in 0..count {
                let columns = neighbors(tape, grid[2 * place], width);
                let rows = neighbors(tape, grid[2 * place + 1], height);
                for channel in 0..channels {
                    let mut pairs = Vec::new();
                    for (y, down) in rows {
                        for (x, across) in columns {
                            if inside(y, height) && inside(x, width) {
                                let line = channel * height + y as usize;
                                pairs.push((down * across, image[line * width + x as usize]));
                            }
                        }
                    }
                    out[channel * count + place] = tape.dot(pairs.into_iter());
                }
            }
            out
        }),
    );
    let operands = vec![
        draw(&[1, channels, height, width], 1),
        // Some of the places are outside of the image.
        draw(&[1, 1, count, 2], 2).mul(0.6).unwrap(),
    ];
    let operation = |x: &[Tensor]| x[0].grid_sample(&x[1], GridSampleOptions::default());
    let name = format!("grid_sample of {channels} {height} {width} at {count}");
    Case::new(name, operands, operation, reference)
}

/// Around vectors of channels and the 256 places of a block.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(1, [2, 3], 5),
        case(3, [15, 17], 16),
        case(5, [31, 33], 257),
        case(2, [16, 64], 1023),
        case(3, [64, 63], 1025),
        case(16, [7, 9], 256),
        case(17, [9, 5], 31),
        case(48, [16, 15], 300),
    ]
}
