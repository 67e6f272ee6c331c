use super::*;

fn layout(shape: &[usize]) -> Layout {
    Layout::contiguous(shape.into())
}

#[test]
fn contiguous_strides_are_row_major() {
    assert_eq!(layout(&[2, 3, 4]).strides(), [12, 4, 1]);
    assert_eq!(layout(&[]).strides(), [0_usize; 0]);
    assert!(layout(&[0, usize::MAX, usize::MAX]).is_contiguous());
}

#[test]
fn a_reshape_splits_and_merges_without_a_copy_where_memory_allows() {
    let transposed = layout(&[2, 6]).permute(&[1, 0]);
    assert!(!transposed.is_contiguous());
    // Splitting the 6 keeps the elements where they are; merging 6 and 2 cannot.
    let split = transposed.reshape(&[3, 2, 2].into()).unwrap();
    assert_eq!(split.strides(), [2, 1, 6]);
    assert!(transposed.reshape(&[12].into()).is_none());
    let ones = transposed.reshape(&[1, 6, 1, 2, 1].into()).unwrap();
    assert_eq!((ones.strides()[1], ones.strides()[3]), (1, 6));
}

#[test]
fn a_stretched_dimension_has_stride_zero() {
    let row = layout(&[3]).broadcast_to("expand", &[2, 3].into()).unwrap();
    assert_eq!(row.strides(), [0, 1]);
    assert!(layout(&[3]).broadcast_to("expand", &[3, 2].into()).is_err());
    assert!(layout(&[2, 3]).broadcast_to("expand", &[3].into()).is_err());
}

#[test]
fn broadcasting_compares_from_the_last_dimension() {
    let shape = |a: &[usize], b: &[usize]| Shape::from(a).broadcast("add", &b.into());
    assert_eq!(shape(&[2, 1, 4], &[3, 1]).unwrap(), [2, 3, 4].into());
    assert_eq!(shape(&[0], &[1]).unwrap(), [0].into());
    assert_eq!(
        shape(&[2], &[3]).unwrap_err().to_string(),
        "add: shapes [2] and [3] cannot be broadcast together"
    );
}

#[test]
fn sizes_that_overflow_are_errors() {
    let huge = Shape::from([usize::MAX, 2]);
    assert!(huge.checked_numel("zeros", 4).is_err());
    assert!(
        Shape::from([isize::MAX as usize / 2])
            .checked_numel("zeros", 4)
            .is_err()
    );
    let empty = |sizes: [usize; 3]| Shape::from(sizes).checked_numel("zeros", 4);
    assert_eq!(empty([3, 2, 0]).unwrap(), 0);
    assert!(empty([usize::MAX, 2, 0]).is_err());
    assert!(empty([0, usize::MAX, 2]).is_err());
}

#[test]
fn minus_one_is_inferred_once() {
    let infer = |sizes: &[isize]| view::infer("reshape", &[2, 6].into(), sizes);
    assert_eq!(infer(&[3, -1]).unwrap(), [3, 4].into());
    assert!(infer(&[5, -1]).is_err());
    assert!(infer(&[-1, -1]).is_err());
    assert!(infer(&[-2, 6]).is_err());
    assert!(infer(&[0, -1]).is_err());
}

/// The elements of a layout in row-major order, as offsets in the storage.
fn positions<const N: usize>(layouts: [&Layout; N]) -> Vec<[usize; N]> {
    let mut positions = Vec::new();
    for run in Runs::new(layouts) {
        for i in 0..run.length {
            positions.push(std::array::from_fn(|n| run.offsets[n] + run.steps[n] * i));
        }
    }
    positions
}

/// The same, with arithmetic for every index.
fn reference(layout: &Layout) -> Vec<usize> {
    (0..layout.shape().numel())
        .map(|mut i| {
            let mut position = layout.offset();
            for (&size, &stride) in layout.shape().iter().zip(layout.strides()).rev() {
                position += i % size * stride;
                i /= size;
            }
            position
        })
        .collect()
}

#[test]
fn runs_visit_every_element_in_order() {
    let base = layout(&[2, 3, 4, 5]);
    let views = [
        base.permute(&[3, 1, 0, 2]),
        base.permute(&[1, 0, 2, 3]),
        base.slice(2, 1, 2, 1),
        layout(&[3, 1, 1])
            .broadcast_to("expand", base.shape())
            .unwrap(),
        layout(&[]),
        layout(&[2, 0, 3]),
        layout(&[1, 1]),
    ];
    for view in views {
        let beside = Layout::contiguous(view.shape().clone());
        let expected = reference(&view).into_iter().zip(reference(&beside));
        let expected: Vec<_> = expected.map(|(a, b)| [a, b]).collect();
        assert_eq!(positions([&view, &beside]), expected, "{view:?}");
    }
}

#[test]
fn blocks_visit_every_element_in_order() {
    let base = layout(&[2, 3, 4, 5]);
    let views = [
        base.slice(3, 1, 3, 1),
        base.slice(2, 1, 2, 1).slice(0, 0, 1, 1),
        base.permute(&[0, 2, 1, 3]),
        base.permute(&[3, 1, 0, 2]),
        layout(&[3, 1, 1])
            .broadcast_to("expand", base.shape())
            .unwrap(),
        layout(&[]),
        layout(&[2, 0, 3]),
        layout(&[1, 1]),
    ];
    for view in &views {
        let beside = Layout::contiguous(view.shape().clone());
        for (long, most) in [(1, 7), (6, 7), (6, 13), (100, 1), (100, 1000)] {
            let blocks = Runs::new([view, &beside]).blocks(long, most);
            let (are_runs, limit) = (blocks.are_runs(), blocks.numel());
            let mut found = Vec::new();
            for block in blocks {
                assert!(block.count * block.length <= limit, "{view:?}");
                assert!(!are_runs || block.count == 1, "{view:?}");
                for line in 0..block.count {
                    for i in 0..block.length {
                        let at = |n: usize| {
                            block.offsets[n] + line * block.strides[n] + i * block.steps[n]
                        };
                        found.push([at(0), at(1)]);
                    }
                }
            }
            let expected = reference(view).into_iter().zip(reference(&beside));
            let expected: Vec<_> = expected.map(|(a, b)| [a, b]).collect();
            assert_eq!(found, expected, "{view:?}, {long}, {most}");
        }
    }
}

#[test]
fn runs_are_as_long_as_memory_allows() {
    let image = layout(&[2, 3, 8, 8]);
    let channels = layout(&[3, 1, 1])
        .broadcast_to("expand", image.shape())
        .unwrap();
    let runs: Vec<_> = Runs::new([&image, &channels]).collect();
    assert_eq!(runs.len(), 6);
    assert!(
        runs.iter()
            .all(|run| run.length == 64 && run.steps == [1, 0])
    );
    assert_eq!(Runs::new([&image]).count(), 1);
}
