//! Operands and numbers for the tests of several kernels.

use super::CpuStorage;
use crate::backend::Operand;
use crate::layout::{Layout, Shape};

/// The numbers `number(i)` of all places `i` behind three others, and those that a layout shows.
pub(super) fn strided(
    sizes: [usize; 3],
    strides: [usize; 3],
    number: impl FnMut(usize) -> f32,
) -> (Operand, Vec<f32>) {
    let mut at = Vec::new();
    for i in 0..sizes[0] {
        for j in 0..sizes[1] {
            let start = 3 + i * strides[0] + j * strides[1];
            at.extend((0..sizes[2]).map(|k| start + k * strides[2]));
        }
    }
    let len = at.iter().max().map_or(0, |last| last + 1);
    let memory: Vec<f32> = (0..len).map(number).collect();
    let values = at.iter().map(|&at| memory[at]).collect();
    let layout = Layout::within(Shape::from(&sizes[..]), &strides, 3, len).unwrap();
    let storage = CpuStorage::wrap(memory);
    (Operand { storage, layout }, values)
}

/// Rows of which some of every 50 have a NaN, infinities or great numbers.
pub(super) fn odd_rows(rows: usize, size: usize) -> Vec<f32> {
    let number = |i: usize| match (i / size % 50, i % size) {
        (3, 0) => f32::NAN,
        (5, at) if at + 1 == size => f32::INFINITY,
        (7, _) => f32::NEG_INFINITY,
        (9, 0) => f32::NEG_INFINITY,
        (11, _) => 1e30,
        (row, at) => ((row * 37 + at * 101) % 89) as f32 / 7.0 - 6.0,
    };
    (0..rows * size).map(number).collect()
}
