//! Released memory is an error, and filled again it has the same elements.

use super::ReleasableMemory;
use crate::fused::{Real, UpdateFormula, update_elements};
use crate::{DType, ErrorKind, Result, Tensor};

fn memory(values: &Tensor) -> Result<ReleasableMemory> {
    let memory = ReleasableMemory::new(values.shape(), values.dtype())?;
    memory.fill(values)?;
    Ok(memory)
}

#[test]
fn views_and_graphs_see_the_elements_again() -> Result<()> {
    let values = Tensor::from([[1.0_f64, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let held = memory(&values)?;
    let weight = held.tensor();
    let views = [
        weight.t()?,
        weight.narrow(1, 1..3)?,
        weight.reshape([3, 2])?,
        weight.unsqueeze(0)?,
    ];
    let expected = [
        values.t()?,
        values.narrow(1, 1..3)?,
        values.reshape([3, 2])?,
        values.unsqueeze(0)?,
    ];
    let gradient = |weight: &Tensor, held: Option<&ReleasableMemory>| {
        let x = Tensor::from([[1.0_f64, -1.0, 2.0]]).with_grad()?;
        let leaf = crate::Leaf::new();
        let weight = leaf.track(weight);
        let y = x.linear(&weight, None)?.matmul(&weight)?.tanh()?;
        let y = y.mul(&weight.narrow(0, 0..1)?)?.sum(..)?;
        if let Some(held) = held {
            held.release();
            assert!(matches!(
                weight.sum(..).unwrap_err().kind(),
                ErrorKind::Released { .. }
            ));
            held.fill(&values)?;
        }
        y.backward()?;
        let both = [x.grad(), leaf.grad()].map(|grad| grad.unwrap().to_vec::<f64>());
        both.into_iter().collect::<Result<Vec<_>>>()
    };
    assert_eq!(gradient(&weight, Some(&held))?, gradient(&values, None)?);
    held.release();
    for view in &views {
        assert!(!view.has_values());
        assert!(matches!(
            view.to_host().unwrap_err().kind(),
            ErrorKind::Released { .. }
        ));
    }
    held.fill(&values)?;
    for (view, expected) in views.iter().zip(&expected) {
        assert_eq!(view.to_vec::<f64>()?, expected.to_vec::<f64>()?);
    }
    Ok(())
}

#[test]
fn releasing_frees_the_memory_even_if_a_graph_refers_to_it() -> Result<()> {
    let values = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let held = memory(&values)?;
    let storage = values.storage().clone();
    drop(values);
    let x = Tensor::from([[1.0_f32, 1.0]]).with_grad()?;
    let y = x
        .linear(&held.tensor(), None)?
        .matmul(&held.tensor().t()?)?;
    assert!(!storage.is_unshared());
    held.release();
    assert!(storage.is_unshared());
    drop(y);
    Ok(())
}

#[test]
fn the_elements_are_never_written_in_place() -> Result<()> {
    #[derive(Clone, Copy)]
    struct Double;

    impl UpdateFormula<1, 1> for Double {
        fn apply<T: Real>(self, [value]: [T; 1], _: [T; 1]) -> [T; 1] {
            [value + value]
        }
    }

    let held = memory(&Tensor::from([1.0_f32, 2.0]))?;
    let other = Tensor::from([10.0_f32, 20.0]);
    let mut x = held.tensor();
    update_elements([&mut x], [&other], Double)?;
    assert_eq!(x.to_vec::<f32>()?, [2.0, 4.0]);
    let sum = (held.tensor() + &other)?;
    assert_eq!(sum.to_vec::<f32>()?, [11.0, 22.0]);
    assert_eq!(held.tensor().to_vec::<f32>()?, [1.0, 2.0]);

    // Even if the tensor is the last handle.
    let tensor = held.tensor();
    drop(held);
    let kept = tensor.detach();
    let sum = (tensor + &other)?;
    assert_eq!(sum.to_vec::<f32>()?, [11.0, 22.0]);
    assert_eq!(kept.to_vec::<f32>()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn only_the_same_kind_of_values_fills_it() -> Result<()> {
    let held = ReleasableMemory::new([2], DType::F32)?;
    let message = |values: &Tensor| held.fill(values).unwrap_err().to_string();
    assert!(message(&Tensor::from([1.0_f32])).contains("the memory keeps its shape"));
    assert!(message(&Tensor::from([1.0_f64, 2.0])).contains("float64"));
    let absent = Tensor::absent("test", &[2].into(), DType::F32)?;
    assert!(message(&absent).contains("has no values yet"));
    assert!(!held.is_filled());
    // A part of other memory is copied.
    let long = Tensor::from([1.0_f32, 2.0, 3.0, 4.0]);
    held.fill(&long.narrow(0, 1..3)?)?;
    assert_eq!(held.tensor().to_vec::<f32>()?, [2.0, 3.0]);
    assert_eq!(
        format!("{held:?}"),
        "ReleasableMemory(float32 [2], filled: true)"
    );
    Ok(())
}
