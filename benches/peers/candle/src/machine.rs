//! What the machine can do at most: loops that only multiply and add, and only copy.

use std::hint::black_box;
use std::thread;

use crate::row::{Rows, work};

/// The multiply-adds of one run, and the elements that one run copies.
const MULTIPLY_ADDS: usize = 1 << 30;
const ELEMENTS: usize = 1 << 26;

/// Multiply-adds of sixteen numbers at a time, with enough accumulators to hide the latency.
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
fn multiply_add(count: usize) -> f32 {
    use std::arch::x86_64::{_mm512_fmadd_ps, _mm512_reduce_add_ps, _mm512_set1_ps};

    // SAFETY: the program is compiled for CPUs with these instructions.
    unsafe {
        let (a, b) = (_mm512_set1_ps(black_box(1.000_001)), _mm512_set1_ps(black_box(1e-9)));
        let mut sums = [_mm512_set1_ps(0.5); 10];
        let [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9] = &mut sums;
        for _ in 0..count / (10 * 16) {
            // Unrolled by hand, because the compiler keeps an array that is indexed in a loop in memory.
            *s0 = _mm512_fmadd_ps(*s0, a, b);
            *s1 = _mm512_fmadd_ps(*s1, a, b);
            *s2 = _mm512_fmadd_ps(*s2, a, b);
            *s3 = _mm512_fmadd_ps(*s3, a, b);
            *s4 = _mm512_fmadd_ps(*s4, a, b);
            *s5 = _mm512_fmadd_ps(*s5, a, b);
            *s6 = _mm512_fmadd_ps(*s6, a, b);
            *s7 = _mm512_fmadd_ps(*s7, a, b);
            *s8 = _mm512_fmadd_ps(*s8, a, b);
            *s9 = _mm512_fmadd_ps(*s9, a, b);
        }
        sums.into_iter().map(|sum| _mm512_reduce_add_ps(sum)).sum()
    }
}

/// The same, eight at a time.
#[cfg(all(target_arch = "x86_64", target_feature = "fma", not(target_feature = "avx512f")))]
fn multiply_add(count: usize) -> f32 {
    use std::arch::x86_64::{_mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_set1_ps};

    // SAFETY: the program is compiled for CPUs with these instructions.
    unsafe {
        let (a, b) = (_mm256_set1_ps(black_box(1.000_001)), _mm256_set1_ps(black_box(1e-9)));
        let mut sums = [_mm256_set1_ps(0.5); 10];
        let [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9] = &mut sums;
        for _ in 0..count / (10 * 8) {
            // Unrolled by hand, because the compiler keeps an array that is indexed in a loop in memory.
            *s0 = _mm256_fmadd_ps(*s0, a, b);
            *s1 = _mm256_fmadd_ps(*s1, a, b);
            *s2 = _mm256_fmadd_ps(*s2, a, b);
            *s3 = _mm256_fmadd_ps(*s3, a, b);
            *s4 = _mm256_fmadd_ps(*s4, a, b);
            *s5 = _mm256_fmadd_ps(*s5, a, b);
            *s6 = _mm256_fmadd_ps(*s6, a, b);
            *s7 = _mm256_fmadd_ps(*s7, a, b);
            *s8 = _mm256_fmadd_ps(*s8, a, b);
            *s9 = _mm256_fmadd_ps(*s9, a, b);
        }
        sums.into_iter().map(|sum| _mm256_cvtss_f32(sum)).sum()
    }
}

/// The same, four at a time, if the compiler vectorizes it.
#[cfg(not(all(target_arch = "x86_64", target_feature = "fma")))]
fn multiply_add(count: usize) -> f32 {
    let (a, b) = (black_box([1.000_001_f32; 4]), black_box([1e-9_f32; 4]));
    let mut sums = [[0.5_f32; 4]; 12];
    for _ in 0..count / (12 * 4) {
        sums = sums.map(|sum| [0, 1, 2, 3].map(|i| sum[i].mul_add(a[i], b[i])));
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
