//! Tiles of sums, at every level.

use super::super::super::simd::{Level, Padding, Tap, WindowProduct, WindowTile};
use super::numbers;

/// A tile of one shape at a level.
fn tile<
    const VECTORS: usize,
    const LINES: usize,
    const WIDTH: usize,
    const STEP: usize,
    const MANY: bool,
>(
    level: Level,
    add: bool,
) -> Vec<u32> {
    let (data, panel) = (numbers(900, 1), numbers(40 * 16 * VECTORS, 2));
    let tap = |row: u32| Tap {
        offset: row * 7 % 60,
        row,
        count: if MANY { 1 + row % 3 } else { 1 },
        padding: Padding {
            lines: if LINES > 1 { row % (1 << LINES) } else { 0 },
            columns: (1 << row >> 3) & if LINES == 1 { 0b1111 } else { 0b1001 },
        },
    };
    let lines: [usize; LINES] = std::array::from_fn(|line| 50 * line + line / 3);
    let taps: Vec<Tap> = (0..8).map(tap).collect();
    let product = WindowProduct {
        data: &data,
        taps: &taps,
        first: 3,
        count: 30,
        step: 3,
        channel_steps: [70, 8],
        lines: &lines,
        panel: &panel,
        add,
    };
    let mut sums = numbers(28 * 16 * VECTORS, 3);
    f32::window_tile::<VECTORS, LINES, WIDTH, STEP, MANY>(level, &product, &mut sums);
    sums.iter().map(|sum| sum.to_bits()).collect()
}

#[test]
fn tiles_have_the_same_bits_at_every_level() {
    let levels = Level::all();
    // Without an instruction for multiply-adds, products are rounded.
    let fused = levels.iter().filter(|level| level.name() != "default");
    for &level in fused {
        for add in [false, true] {
            let highest = levels[0];
            let at = |level| {
                [
                    tile::<2, 1, 14, 1, false>(level, add),
                    tile::<2, 1, 14, 2, false>(level, add),
                    tile::<2, 2, 7, 1, false>(level, add),
                    tile::<2, 2, 7, 2, false>(level, add),
                    tile::<2, 2, 4, 1, false>(level, add),
                    tile::<2, 2, 4, 1, true>(level, add),
                    tile::<2, 3, 3, 1, true>(level, add),
                    tile::<1, 1, 28, 1, false>(level, add),
                    tile::<1, 4, 4, 1, true>(level, add),
                    tile::<1, 9, 3, 1, true>(level, add),
                ]
            };
            assert_eq!(at(level), at(highest));
        }
    }
}
