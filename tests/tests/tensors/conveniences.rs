//! Conveniences for short formulas: operators on results and parameters, numbers, sizes and arrays.
#![allow(clippy::unwrap_used)]

use module_core::{PadMode, Scalar};
use module_nn::prelude::*;

fn floats(x: Result<Tensor>) -> Vec<f32> {
    x.unwrap().to_vec().unwrap()
}

#[test]
fn results_and_tensors_are_operands_of_each_other() {
    let (x, y) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([3.0_f32, 5.0]));
    let failed = || x.reshape([7]);
    assert_eq!(floats((&x + &y) + &x), [5.0, 9.0]);
    assert_eq!(floats(&x + (&x + &y)), [5.0, 9.0]);
    assert_eq!(floats((&x - &y) - x.clone()), [-3.0, -5.0]);
    assert_eq!(floats(x.clone() - (&x - &y)), [3.0, 5.0]);
    assert_eq!(floats((&x * &y) * &x), [3.0, 20.0]);
    assert_eq!(floats(&x / (&y / &x)), [1.0 / 3.0, 2.0 / 2.5]);
    assert_eq!(floats((&y / &x) / &y), [1.0, 0.5]);
    for result in [
        failed() + &x,
        &x + failed(),
        x.clone() * failed(),
        failed() / x.clone(),
    ] {
        assert!(result.unwrap_err().to_string().starts_with("reshape"));
    }
}

#[test]
fn sums_of_calls_need_one_question_mark() -> Result<()> {
    let (a, b) = (Linear::new(2, 3)?, Linear::new(2, 3)?);
    let (x, c) = (
        Tensor::from([[1.0_f32, -2.0]]),
        Tensor::from([0.5_f32, 1.0, 2.0]),
    );
    let sum = (a.call(x.clone())? + b.call(x.clone()) + &c)?;
    let expected = a.call(x.clone())?.add(&b.call(x)?)?.add(&c)?;
    assert!(sum.equal(&expected)?);
    Ok(())
}

#[test]
fn parameters_and_buffers_are_operands_with_gradients() -> Result<()> {
    let weight = Parameter::new(Tensor::from([2.0_f32, 4.0]))?;
    let mean = Buffer::new(Tensor::from([1.0_f32, 1.0]));
    let x = Tensor::from([3.0_f32, 5.0]);
    assert_eq!(floats(&x * &weight), [6.0, 20.0]);
    assert_eq!(floats(&weight * &x), [6.0, 20.0]);
    assert_eq!(floats(&weight - 1.0), [1.0, 3.0]);
    assert_eq!(floats(1.0 - &weight), [-1.0, -3.0]);
    assert_eq!(floats(1 / &weight), [0.5, 0.25]);
    assert_eq!(floats(-&weight), [-2.0, -4.0]);
    assert_eq!(floats(&x - &mean), [2.0, 4.0]);
    assert_eq!(floats(&mean - &x), [-2.0, -4.0]);
    assert_eq!(floats((&x - &mean) / &weight), [1.0, 1.0]);
    assert_eq!(floats(x.mul(&weight)), [6.0, 20.0]);
    (&x * &weight + &mean)?.sum(..)?.backward()?;
    assert_eq!(weight.grad().unwrap().to_vec::<f32>()?, [3.0, 5.0]);
    Ok(())
}

#[test]
fn numbers_of_every_type_meet_tensors() -> Result<()> {
    let x = Tensor::from([1.0_f32, 2.0]);
    let (count, rate): (usize, f32) = (4, 0.5);
    assert_eq!(floats(&x * count), [4.0, 8.0]);
    assert_eq!(floats(&x * 3_u32), [3.0, 6.0]);
    assert_eq!(floats(&x * rate), [0.5, 1.0]);
    assert_eq!(floats(Scalar::from(rate) * &x), [0.5, 1.0]);
    assert_eq!(floats(Scalar::from(count) - x.clone()), [3.0, 2.0]);
    // A literal on the left determines its type.
    assert_eq!(floats((1.0 - &x)?.exp()), [1.0, (-1.0_f32).exp()]);
    assert_eq!(Scalar::from(7_usize), Scalar::Int(7));
    assert_eq!(Scalar::from(u32::MAX), Scalar::Int(4_294_967_295));
    assert_eq!(
        Scalar::from(u64::MAX),
        Scalar::Float(18_446_744_073_709_551_615.0)
    );
    assert_eq!(Scalar::from(-3_isize), Scalar::Int(-3));
    Ok(())
}

#[test]
fn sizes_are_told_apart_and_put_together() -> Result<()> {
    let x = Tensor::arange(0, 24, ())?.reshape([2, 3, 4])?;
    let [batch, steps, size] = x.dims()?;
    assert_eq!([batch, steps, size], [2, 3, 4]);
    assert_eq!(
        x.dims::<2>().unwrap_err().to_string(),
        "dims: expected 2 dimension(s), got shape [2, 3, 4]"
    );
    let [] = Tensor::from(1.0_f32).dims()?;
    assert_eq!(**x.reshape((batch, -1))?.shape(), [2, 12]);
    assert_eq!(
        **x.view((-1, steps, 2_usize, 2_isize))?.shape(),
        [2, 3, 2, 2]
    );
    assert_eq!(**x.unflatten(-1, (-1, 2_usize))?.shape(), [2, 3, 2, 2]);
    assert_eq!(**x.expand((5, batch, -1, -1))?.shape(), [5, 2, 3, 4]);
    let more = x.reshape((1, batch, 1, steps, 1, -1))?;
    assert_eq!(**more.shape(), [1, 2, 1, 3, 1, 4]);
    assert!(x.reshape((usize::MAX, -1)).is_err());
    Ok(())
}

#[test]
fn parts_come_as_arrays() -> Result<()> {
    let x = Tensor::arange(0, 12, ())?.reshape([2, 6])?;
    let [q, k, v] = x.chunk_array(-1)?;
    let chunks = x.chunk(3, -1)?;
    for (part, chunk) in [q, k, v].iter().zip(&chunks) {
        assert!(part.equal(chunk)?);
    }
    let [a, b] = x.split_array([1, 5], 1)?;
    assert_eq!((a.size(1)?, b.size(1)?), (1, 5));
    let [first, second] = x.unbind_array(0)?;
    assert_eq!(first.to_vec::<i64>()?, [0, 1, 2, 3, 4, 5]);
    assert_eq!(second.to_vec::<i64>()?, [6, 7, 8, 9, 10, 11]);
    // Six elements by four are three chunks, as in PyTorch.
    assert_eq!(
        x.chunk_array::<4>(1).unwrap_err().to_string(),
        "chunk_array: dim = 1: of shape [2, 6] gives 3 part(s), where an array of 4 was requested"
    );
    assert_eq!(
        x.unbind_array::<5>(1).unwrap_err().to_string(),
        "unbind_array: dim = 1: of shape [2, 6] gives 6 part(s), where an array of 5 was requested"
    );
    assert!(x.split_array([1, 4], 1).is_err());
    assert!(x.chunk_array::<0>(1).is_err());
    assert!(x.chunk_array::<2>(2).is_err());
    Ok(())
}

#[test]
fn padding_takes_any_number() -> Result<()> {
    let x = Tensor::from([1.0_f32, 2.0]);
    assert_eq!(floats(x.pad([1, 1], 0.5)), [0.5, 1.0, 2.0, 0.5]);
    assert_eq!(floats(x.pad([1, 0], PadMode::constant(3))), [3.0, 1.0, 2.0]);
    assert_eq!(
        floats(x.pad([1, 0], PadMode::constant(0.0))),
        [0.0, 1.0, 2.0]
    );
    assert_eq!(
        PadMode::constant(0.0),
        PadMode::Constant(Scalar::Float(0.0))
    );
    Ok(())
}

#[test]
fn tensors_come_from_rows_and_from_u32() -> Result<()> {
    let x = Tensor::try_from(vec![vec![1.0_f32, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]])?;
    assert_eq!(**x.shape(), [3, 2]);
    assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(**Tensor::try_from(Vec::<Vec<i64>>::new())?.shape(), [0, 0]);
    assert_eq!(
        **Tensor::try_from(vec![Vec::<i64>::new(); 3])?.shape(),
        [3, 0]
    );
    let ragged = Tensor::try_from(vec![vec![true], vec![true, false]]).unwrap_err();
    assert_eq!(
        ragged.to_string(),
        "try_from: rows = row 1 of 2 element(s): row 0 has 1; all rows must have the same length"
    );
    let largest = Tensor::from(u32::MAX);
    assert_eq!(
        (largest.dtype(), largest.item::<i64>()?),
        (DType::I64, 4_294_967_295)
    );
    assert_eq!(Tensor::from(vec![1_u32, 2]).to_vec::<i64>()?, [1, 2]);
    assert_eq!(
        Tensor::from([[1_u32, 2], [3, 4]]).to_vec::<i64>()?,
        [1, 2, 3, 4]
    );
    assert_eq!(Tensor::from([7_u32].as_slice()).to_vec::<i64>()?, [7]);
    Ok(())
}
