//! Which factors are read four elements at a time; products of these are compared in `tests/tensor_cores.rs`.
#![allow(clippy::unwrap_used)]

use module_tensor::Layout;

use super::has_quads;

fn layout(shape: [usize; 3], strides: [usize; 3], offset: usize) -> Layout {
    Layout::within(shape.into(), &strides, offset, 1000).unwrap()
}

#[test]
fn four_elements_are_read_at_a_time_where_all_lie_at_multiples_of_four() {
    let shape = [2, 8, 12];
    assert!(has_quads(&layout(shape, [96, 12, 1], 0), 1));
    assert!(has_quads(&layout(shape, [200, 20, 1], 8), 1));
    // The same matrix for the whole batch, and one matrix whose stride does not count.
    assert!(has_quads(&layout(shape, [0, 12, 1], 0), 1));
    assert!(has_quads(&layout([1, 8, 12], [3, 12, 1], 0), 1));
    // Rows side by side.
    assert!(has_quads(&layout(shape, [96, 1, 8], 0), 0));
}

#[test]
fn other_elements_are_read_one_by_one() {
    let shape = [2, 8, 12];
    for (name, layout) in [
        ("an odd offset", layout(shape, [96, 12, 1], 2)),
        ("an odd distance of rows", layout(shape, [200, 13, 1], 0)),
        ("an odd distance of matrices", layout(shape, [98, 12, 1], 0)),
        ("not side by side", layout(shape, [400, 24, 2], 0)),
        (
            "a part of four at the end",
            layout([2, 8, 10], [96, 12, 1], 0),
        ),
    ] {
        assert!(!has_quads(&layout, 1), "{name}");
    }
    assert!(!has_quads(&layout([2, 6, 12], [96, 1, 8], 0), 0));
}
