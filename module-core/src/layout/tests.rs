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
