//! What the machine can do at most: loops that only multiply and add, and only copy.

use std::hint::black_box;
use std::thread;

use crate::row::{Rows, work};

/// Multiply-adds of one run, and elements that one run copies.
const MULTIPLY_ADDS: usize = 1 << 30;
const ELEMENTS: usize = 1 << 26;

/// As many sums as fill the registers, each 16 wide.
fn multiply_add(count: usize) -> f32 {
    let (a, b) = (black_box([1.000_001_f32; 16]), black_box([1e-9_f32; 16]));
    let mut sums = [[0.5_f32; 16]; 12];
    for _ in 0..count / (12 * 16) {
        for sum in &mut sums {
            for i in 0..16 {
                sum[i] = sum[i].mul_add(a[i], b[i]);
            }
        }
    }
    sums.iter().flatten().sum()
}

pub fn add(rows: &mut Rows) {
    let threads = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_usize);
    rows.add("machine: multiply-adds", move || {
        work(move || {
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| black_box(multiply_add(MULTIPLY_ADDS / threads)));
                }
            });
            Ok(())
        })
    });
    rows.add("machine: copy", move || {
        let (source, mut target) = (vec![1_f32; ELEMENTS], vec![0_f32; ELEMENTS]);
        work(move || {
            let part = ELEMENTS / threads;
            thread::scope(|scope| {
                for (target, source) in target.chunks_mut(part).zip(source.chunks(part)) {
                    scope.spawn(move || target.copy_from_slice(source));
                }
            });
            Ok(black_box(target[0]))
        })
    });
}
