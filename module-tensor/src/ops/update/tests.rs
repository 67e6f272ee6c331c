use super::{expr, update_composed, update_elements};
use crate::fused::{Real, UpdateFormula};
use crate::{AutogradError, BackwardOptions, DType, ErrorKind, Result, Tensor, fork_rng, no_grad};

/// Every operation of formulas.
#[derive(Clone, Copy)]
struct Everything {
    number: f64,
}

impl UpdateFormula<3, 2> for Everything {
    #[inline]
    fn apply<T: Real>(self, [a, b, c]: [T; 3], [x, y]: [T; 2]) -> [T; 3] {
        let number = self.number;
        let sums = -(a + b) * x - y / (b.abs() + number);
        let scaled = (sums - number) * 1.5 / number;
        let roots = c.abs().sqrt().recip().maximum(x.sign());
        let mixed = scaled.add_scaled(x, number).add_product(0.7, a, y);
        let near = mixed.lerp(y, 0.3).add_quotient(-0.3, roots, b.abs() + 1.0);
        let far = x.where_positive(near, b).lerp(a, 0.8);
        [near, far.clamp(-1.0, 0.5), roots]
    }
}

const EVERYTHING: Everything = Everything { number: 0.37 };

/// Three tensors that are written and two that are only read.
fn draw(len: usize, dtype: DType) -> Result<Vec<Tensor>> {
    (0..5).map(|_| Tensor::randn([len], dtype)).collect()
}

fn apply(written: &mut [Tensor], read: &[Tensor]) -> Result<()> {
    let [a, b, c] = written else {
        unreachable!("three are written")
    };
    let [x, y] = read else {
        unreachable!("two are read")
    };
    update_elements([a, b, c], [x, y], EVERYTHING)
}

fn composed(written: &mut [Tensor], read: &[Tensor]) -> Result<()> {
    let mut written: Vec<&mut Tensor> = written.iter_mut().collect();
    let read: Vec<&Tensor> = read.iter().collect();
    update_composed(&mut written, &read, &expr::record(EVERYTHING))
}

fn numbers(all: &[Tensor]) -> Result<Vec<Vec<u64>>> {
    let bits = |x: &Tensor| {
        let numbers = x.to_dtype(DType::F64)?.to_vec::<f64>()?;
        Ok(numbers.into_iter().map(f64::to_bits).collect())
    };
    all.iter().map(bits).collect()
}

#[test]
fn the_loop_has_the_bits_of_the_operations() -> Result<()> {
    fork_rng(0, || {
        for dtype in [DType::F32, DType::F64] {
            // Less than a block, whole blocks, and their remainders; on several threads.
            for len in [0, 1, 63, 64, 1050, 70_001] {
                let all = draw(len, dtype)?;
                let (mut here, mut there) = (all[..3].to_vec(), all[..3].to_vec());
                apply(&mut here, &all[3..])?;
                composed(&mut there, &all[3..])?;
                assert!(numbers(&here)? == numbers(&there)?, "{len} of {dtype}");
                assert_eq!(here[0].dtype(), dtype);
            }
        }
        Ok(())
    })
}

#[test]
fn operands_lie_in_any_order() -> Result<()> {
    fork_rng(0, || {
        let all = draw(7 * 150, DType::F32)?;
        let all: Vec<Tensor> = all
            .iter()
            .map(|x| x.reshape([7, 150]))
            .collect::<Result<_>>()?;
        let mut expected = all[..3].to_vec();
        apply(&mut expected, &all[3..])?;
        let turned = |x: &Tensor| x.t()?.contiguous()?.t();
        let cut = |x: &Tensor| Tensor::cat(&[x, x], 0)?.narrow(0, 7..14);
        for all in [
            all.iter().map(turned).collect::<Result<Vec<Tensor>>>()?,
            all.iter().map(cut).collect::<Result<_>>()?,
        ] {
            let mut written = all[..3].to_vec();
            apply(&mut written, &all[3..])?;
            assert_eq!(numbers(&written)?, numbers(&expected)?);
        }
        Ok(())
    })
}

#[test]
fn half_precision_is_rounded_after_each_operation() -> Result<()> {
    #[derive(Clone, Copy)]
    struct TwoSteps;

    impl UpdateFormula<1, 1> for TwoSteps {
        fn apply<T: Real>(self, [x]: [T; 1], [y]: [T; 1]) -> [T; 1] {
            [x * 3.1 + y]
        }
    }

    fork_rng(0, || {
        for dtype in [DType::F16, DType::BF16] {
            let all = draw(500, dtype)?;
            let (mut x, y) = (all[0].clone(), &all[1]);
            update_elements([&mut x], [y], TwoSteps)?;
            assert_eq!(x.dtype(), dtype);
            let expected = all[0].mul(3.1)?.add(y)?;
            assert_eq!(numbers(&[x])?, numbers(&[expected])?);
        }
        Ok(())
    })
}

#[test]
fn memory_is_written_where_it_lies_unless_it_is_shared() -> Result<()> {
    fork_rng(0, || {
        let mut all = draw(300, DType::F32)?;
        let read = all.split_off(3);
        let held = all.clone();
        let before = numbers(&held)?;
        apply(&mut all, &read)?;
        assert_eq!(numbers(&held)?, before);
        assert_ne!(numbers(&all)?, before);
        let addresses =
            |all: &[Tensor]| all.iter().map(|x| x.storage.address()).collect::<Vec<_>>();
        let before = addresses(&all);
        assert!(before.iter().zip(addresses(&held)).all(|(a, b)| *a != b));
        apply(&mut all, &read)?;
        assert_eq!(addresses(&all), before);
        // A read tensor is not changed by also being written.
        let mut both = [all[0].clone(), all[1].clone(), all[2].clone()];
        let expected = {
            let copy = all[0].add(0.0)?;
            let mut expected = all.clone();
            apply(&mut expected, &[copy, read[1].clone()])?;
            numbers(&expected)?
        };
        apply(&mut both, &[all[0].clone(), read[1].clone()])?;
        assert_eq!(numbers(&both)?, expected);
        Ok(())
    })
}

#[test]
fn what_is_not_a_number_stays_so() -> Result<()> {
    #[derive(Clone, Copy)]
    struct Greatest;

    impl UpdateFormula<2, 1> for Greatest {
        fn apply<T: Real>(self, [x, y]: [T; 2], [z]: [T; 1]) -> [T; 2] {
            [x.maximum(z), y.clamp(-1.0, 1.0)]
        }
    }

    let nan = f32::NAN;
    let mut x = Tensor::from([nan, 1.0, f32::INFINITY]);
    let mut y = Tensor::from([nan, 2.0, f32::NEG_INFINITY]);
    let z = Tensor::from([1.0, nan, 2.0]);
    update_elements([&mut x, &mut y], [&z], Greatest)?;
    let (x, y) = (x.to_vec::<f32>()?, y.to_vec::<f32>()?);
    assert!(x[0].is_nan() && x[1].is_nan() && x[2] == f32::INFINITY);
    assert!(y[0].is_nan() && y[1..] == [1.0, -1.0]);
    Ok(())
}

#[test]
fn wrong_operands_are_typed_errors() -> Result<()> {
    fork_rng(0, || {
        let all = draw(12, DType::F32)?;
        let refused = |i: usize, wrong: Tensor| {
            let mut all = all.clone();
            all[i] = wrong;
            let before = numbers(&all)?;
            let read = all.split_off(3);
            let error = apply(&mut all, &read).err();
            all.extend(read);
            assert_eq!(numbers(&all)?, before);
            Ok::<_, crate::Error>(error.map(|error| error.to_string()).unwrap_or_default())
        };
        for (i, x) in all.iter().enumerate() {
            let text = refused(i, x.narrow(0, 0..3)?)?;
            assert!(
                text.contains("must have the shape of the parameter"),
                "{text}"
            );
            let text = refused(i, x.to_dtype(DType::F64)?)?;
            assert!(
                text.contains("float64 and float32 differ")
                    || text.contains("float32 and float64 differ"),
                "{text}"
            );
        }
        let mut whole = Tensor::from([1_i64, 2]);
        let [a, b] = [whole.clone(), whole.clone()];
        let [mut c, mut d] = [whole.clone(), whole.clone()];
        assert!(update_elements([&mut whole, &mut c, &mut d], [&a, &b], EVERYTHING).is_err());
        Ok(())
    })
}

#[test]
fn an_update_has_no_gradient_and_backward_reports_it() -> Result<()> {
    fork_rng(0, || {
        let mut all = draw(4, DType::F32)?;
        let read = all.split_off(3);
        all[0] = all[0].with_grad()?;
        let before = all.clone();
        apply(&mut all, &read)?;
        for x in &all {
            let error = x
                .backward_with(&x.ones_like()?, BackwardOptions::default())
                .err();
            let kind = error.as_ref().map(|error| error.kind());
            assert!(matches!(
                kind,
                Some(ErrorKind::Autograd(AutogradError::NoGradient { .. }))
            ));
        }
        let mut all = before.clone();
        no_grad(|| apply(&mut all, &read))?;
        assert!(!all[0].requires_grad());
        // An error leaves tracked tensors tracked.
        let mut all = before;
        assert!(apply(&mut all, &[read[0].clone(), Tensor::from([1.0_f32])]).is_err());
        assert!(all[0].requires_grad());
        Ok(())
    })
}
