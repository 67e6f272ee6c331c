use super::{Maxima, MaximaMut, Meet, MeetPairs, MeetRows, MeetTwoMore};
use crate::simd::{Loop, run_at_best_level};

/// Checks that a loop gives the same on every processor as on this one.
macro_rules! check {
    ($to:ident => $work:expr) => {{
        let (mut values, mut offsets) = ([[0.5_f32; 150]; 2], [[7_u32; 150]; 2]);
        let [plain, best] = &mut values;
        let [plain_offsets, best_offsets] = &mut offsets;
        let $to = MaximaMut {
            values: &mut plain[..],
            offsets: &mut plain_offsets[..],
        };
        Loop::run($work);
        let $to = MaximaMut {
            values: &mut best[..],
            offsets: &mut best_offsets[..],
        };
        run_at_best_level($work);
        assert_eq!(plain.map(f32::to_bits), best.map(f32::to_bits));
        assert_eq!(plain_offsets, best_offsets);
        assert_ne!(plain_offsets, &[7; 150]);
    }};
}

#[test]
fn every_level_finds_the_same_maxima() {
    let number = |i: u32| match i * i % 13 {
        0 => f32::from_bits(0x7fc0_0000 + i),
        1 => -0.0,
        2 => 0.0,
        v => (v % 5) as f32,
    };
    let values: Vec<f32> = (0..400).map(number).collect();
    let offsets: Vec<u32> = (1000..1400).collect();
    let from = Maxima {
        values: &values,
        offsets: &offsets,
    };
    let (second, distance) = (from.skip(17), 5);
    let others = [(second, distance), (from.skip(40), 90)];
    check!(to => Meet { first: from, others: [others[0]], to });
    check!(to => Meet { first: from, others, to });
    check!(to => MeetTwoMore { others, to });
    check!(to => MeetPairs { from, distance, to });
    let windows = &[(0, 3), (1, 1), (4, 3), (2, 2)][..];
    let (pitch, step, columns) = (38, 2, 37);
    check!(to => MeetRows { from, pitch, windows, step, distance, to, columns });
}
