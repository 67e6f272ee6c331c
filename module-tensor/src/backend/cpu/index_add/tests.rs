//! Rows that are added by index, compared with a plain loop.

use super::index_add;
use crate::backend::cpu::{CpuStorage, Operand, elements_of};
use crate::layout::{Layout, Shape};
use crate::set_num_threads;

fn operand(values: Vec<f32>, shape: &[usize]) -> Operand {
    Operand {
        storage: CpuStorage::wrap(values),
        layout: Layout::contiguous(Shape::from(shape)),
    }
}

#[test]
fn rows_are_added_in_the_order_of_the_index_by_any_number_of_threads() {
    let [size, inner, count] = if cfg!(miri) {
        [70, 3, 90]
    } else {
        [3001, 40, 9000]
    };
    let indices: Vec<i64> = (0..count).map(|i| (i * i % size) as i64).collect();
    // Sums of these depend on their order.
    let value = |i: usize| (i * 7919 % 1009) as f32 * 0.37;
    let values: Vec<f32> = (0..count * inner).map(value).collect();
    let start: Vec<f32> = (0..size * inner).map(|i| i as f32 * 0.01).collect();
    let mut expected = start.clone();
    for (&index, row) in indices.iter().zip(values.chunks_exact(inner)) {
        for (i, v) in row.iter().enumerate() {
            expected[index as usize * inner + i] += v;
        }
    }
    let index = Operand {
        storage: CpuStorage::wrap(indices),
        layout: Layout::contiguous(Shape::from(count)),
    };
    for threads in [1, 3] {
        set_num_threads(threads);
        let source = operand(values.clone(), &[count, inner]);
        // In the operand's own memory, and beside what others hold.
        let x = operand(start.clone(), &[size, inner]);
        let held = x.clone();
        let sums = index_add(x, 0, &index, &source).unwrap();
        assert!(elements_of::<f32>(&sums).unwrap() == expected, "{threads}");
        assert!(elements_of::<f32>(&held.storage).unwrap() == start);
        let sums = index_add(held, 0, &index, &source).unwrap();
        assert!(elements_of::<f32>(&sums).unwrap() == expected, "{threads}");
    }
}
