//! Operands for the tests of kernels that visit elements in any layout.

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
