//! At most 64 dimensions, whatever the origin of a tensor.

use super::*;
use crate::{ErrorKind, MAX_RANK, ShapeError};

#[track_caller]
fn refused<T>(result: Result<T>, op: &str, rank: usize) {
    let Err(error) = result else {
        panic!("{op} made {rank} dimensions");
    };
    let expected = format!("{op}: {rank} dimensions are more than the 64 that a tensor may have");
    assert_eq!(error.to_string(), expected);
    assert!(matches!(
        error.kind(),
        ErrorKind::Shape(ShapeError::Rank { .. })
    ));
}

#[test]
fn more_dimensions_than_64_are_refused_by_whatever_would_make_them() {
    let cpu = Device::cpu();
    let most = Tensor::from(1.0_f32)
        .reshape(vec![1_usize; MAX_RANK])
        .unwrap();
    assert_eq!(most.rank(), 64);
    // Five million dimensions fail as fast as 65.
    for rank in [MAX_RANK + 1, 100, 5_000_000] {
        let sizes = || vec![1_usize; rank];
        refused(Tensor::zeros(sizes(), (DType::F32, &cpu)), "zeros", rank);
        refused(Tensor::full(sizes(), 1, (DType::I64, &cpu)), "full", rank);
        refused(Tensor::from_vec(vec![1_i64], sizes()), "from_vec", rank);
        refused(Tensor::randn(sizes(), DType::F32), "randn", rank);
        refused(most.reshape(sizes()), "reshape", rank);
        refused(most.reshape_to(&sizes().into()), "reshape", rank);
        refused(most.expand(sizes()), "expand", rank);
        refused(most.unflatten(0, sizes()), "unflatten", rank);
        let text = format!("[{}1]", "1,".repeat(rank - 1));
        let shape: Result<Shape, _> = serde_json::from_str(&text);
        let message = shape.unwrap_err().to_string();
        assert!(
            message.starts_with("a shape has at most 64 sizes"),
            "{message}"
        );
    }
    refused(most.unsqueeze(0), "unsqueeze", 65);
    refused(most.unsqueeze(-1), "unsqueeze", 65);
    refused(most.unfold(0, 1, 1), "unfold", 65);
    refused(most.unflatten(3, [1, 1]), "reshape", 65);
    refused(Tensor::stack(&[&most, &most], 0), "stack", 65);
    refused(
        most.to_dtype(DType::I64).unwrap().one_hot(2),
        "unsqueeze",
        65,
    );
    // Nothing that a tensor of 64 can do is lost.
    assert_eq!(most.sum(..).unwrap().item::<f32>().unwrap(), 1.0);
    assert_eq!(most.add(&most).unwrap().rank(), 64);
    assert_eq!(most.flatten(0, -1).unwrap().rank(), 1);
    assert_eq!(most.movedim(0, -1).unwrap().rank(), 64);
}

#[test]
fn tensors_of_many_dimensions_print() {
    let cpu = Device::cpu();
    for rank in [20, 63, 64] {
        let one = Tensor::full(vec![1; rank], 3, (DType::I64, &cpu)).unwrap();
        let (open, close) = ("[".repeat(rank), "]".repeat(rank));
        assert_eq!(one.to_string(), format!("tensor({open}3{close})"));
        // Too many elements to print, so the middle of the long dimensions is omitted.
        let mut sizes = vec![1; rank];
        (sizes[0], sizes[rank / 2], sizes[rank - 1]) = (9, 20, 50);
        let text = Tensor::zeros(sizes, (DType::I64, &cpu))
            .unwrap()
            .to_string();
        assert_eq!(text.matches('0').count(), 6 * 6 * 6, "{rank}");
        assert_eq!(text.matches("...").count(), 1 + 6 + 36, "{rank}");
        let empty = Tensor::zeros(vec![0; rank], (DType::I64, &cpu)).unwrap();
        let shape = "0, ".repeat(rank - 1);
        assert!(empty.to_string().contains(&format!("size=({shape}0)")));
    }
}
