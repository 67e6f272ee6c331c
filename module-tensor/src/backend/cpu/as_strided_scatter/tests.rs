//! Elements that are written through a layout, compared with a loop over all positions.

use super::as_strided_scatter;
use crate::backend::cpu::{CpuStorage, Operand, elements_of};
use crate::layout::{Layout, Shape};
use crate::set_num_threads;

/// Writes numbers through a layout of these sizes and strides into `numel` elements; those for one place are added to 0.
fn check(sizes: &[usize], strides: &[usize], offset: usize, numel: usize) {
    let shape = Shape::from(sizes);
    let count = shape.numel();
    let values: Vec<i64> = (1..=count as i64).collect();
    let layout = Layout::within(shape.clone(), strides, offset, numel).unwrap();
    let overlaps = layout.overlaps();
    let mut expected = vec![if overlaps { 0 } else { -7 }; numel];
    for (i, &v) in values.iter().enumerate() {
        let (mut rest, mut at) = (i, offset);
        for (&size, &stride) in sizes.iter().zip(strides).rev() {
            at += rest % size * stride;
            rest /= size;
        }
        expected[at] = if overlaps { expected[at] + v } else { v };
    }
    // The elements in the order of the layout, and with the dimensions the other way around in memory.
    let straight = Operand {
        storage: CpuStorage::wrap(values.clone()),
        layout: Layout::contiguous(shape.clone()),
    };
    let turned_sizes: Shape = sizes.iter().rev().copied().collect();
    let order: Vec<usize> = (0..sizes.len()).rev().collect();
    let turned = Layout::contiguous(turned_sizes).permute(&order);
    let mut memory = vec![0; count];
    for (i, &v) in values.iter().enumerate() {
        let (mut rest, mut at) = (i, 0);
        for (&size, &stride) in sizes.iter().zip(turned.strides()).rev() {
            at += rest % size * stride;
            rest /= size;
        }
        memory[at] = v;
    }
    let turned = Operand {
        storage: CpuStorage::wrap(memory),
        layout: turned,
    };
    for threads in [1, 2, 5] {
        set_num_threads(threads);
        for x in [&straight, &turned] {
            let out = as_strided_scatter(x.clone(), &layout, numel, (-7).into()).unwrap();
            let out = elements_of::<i64>(&out).unwrap();
            assert!(out == expected, "{sizes:?} {strides:?} {offset} {threads}");
        }
    }
}

#[test]
fn every_element_is_written_and_the_others_are_the_number() {
    // Padding of one and of several dimensions, at the start and at the end.
    check(&[3, 4], &[6, 1], 7, 30);
    check(&[2, 3, 4, 5], &[210, 42, 7, 1], 8, 420);
    check(&[5], &[1], 0, 5);
    check(&[], &[], 3, 9);
    // Every third element, a diagonal, and sizes of 1.
    check(&[7], &[3], 2, 25);
    check(&[6], &[8], 1, 49);
    check(&[1, 4, 1], &[100, 5, 3], 2, 40);
    // Dimensions in another order.
    check(&[4, 3], &[1, 5], 2, 20);
    // Several pieces of several slices each, and a shorter one.
    check(&[1000, 7], &[10, 1], 3, 10_010);
    check(&[300, 4, 5], &[28, 7, 1], 1, 8410);
    check(&[3, 5, 2], &[10, 1, 5], 0, 30);
    check(&[3, 5, 2], &[12, 1, 6], 5, 50);
    if !cfg!(miri) {
        check(&[70, 64, 60], &[66 * 64, 64, 1], 67, 72 * 66 * 64);
        check(&[3, 300, 200], &[310 * 205, 205, 1], 1000, 4 * 310 * 205);
        check(&[150_000], &[2], 1, 300_001);
        check(&[400], &[401], 0, 160_000);
    }
}

#[test]
fn elements_for_one_place_are_added() {
    // Windows of lines, each in a line of its own, with a shorter last one; repeated lines, and windows without a line.
    check(&[5, 3, 4], &[8, 2, 1], 1, 41);
    check(&[300, 31, 4], &[64, 2, 1], 0, 300 * 64);
    check(&[6, 3, 3, 4], &[40, 8, 2, 1], 2, 300);
    check(&[3, 0, 4], &[2, 0, 1], 0, 8);
    check(&[4, 5, 6], &[6, 0, 1], 3, 27);
    check(&[9, 4], &[2, 1], 3, 23);
    check(&[3, 4], &[0, 0], 1, 2);
    check(&[4, 3, 5], &[3, 9, 1], 0, 60);
}

#[test]
fn without_elements_there_is_only_the_number() {
    let layout = Layout::contiguous(Shape::from([2, 0]));
    let x = Operand {
        storage: CpuStorage::wrap(Vec::<f32>::new()),
        layout: layout.clone(),
    };
    for numel in [0, 5] {
        let out = as_strided_scatter(x.clone(), &layout, numel, 2.0.into()).unwrap();
        assert_eq!(elements_of::<f32>(&out).unwrap(), vec![2.0; numel]);
    }
}
