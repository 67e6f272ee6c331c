use super::{AdamWMoments, AdamWStep};
use crate::fused::adamw_step;
use crate::{AutogradError, BackwardOptions, DType, ErrorKind, Result, Tensor, fork_rng, no_grad};

const STEP: AdamWStep = AdamWStep {
    lr: 0.02,
    betas: (0.8, 0.99),
    eps: 1e-6,
    weight_decay: 0.1,
    maximize: false,
    step: 3,
};

/// A parameter, its gradient and moments.
fn draw(dtype: DType, amsgrad: bool) -> Result<(Tensor, Tensor, AdamWMoments)> {
    // More than a block, and not a whole number of them.
    let draw = || Tensor::randn([7, 150], dtype);
    let (value, grad, exp_avg, exp_avg_sq) = (draw()?, draw()?, draw()?, draw()?.abs()?);
    let max_exp_avg_sq = if amsgrad { Some(draw()?.abs()?) } else { None };
    Ok((
        value,
        grad,
        AdamWMoments {
            exp_avg,
            exp_avg_sq,
            max_exp_avg_sq,
        },
    ))
}

fn numbers(value: &Tensor, moments: &AdamWMoments) -> Result<Vec<Vec<f64>>> {
    let AdamWMoments {
        exp_avg,
        exp_avg_sq,
        max_exp_avg_sq,
    } = moments;
    let all = [value, exp_avg, exp_avg_sq]
        .into_iter()
        .chain(max_exp_avg_sq);
    all.map(|x| x.to_dtype(DType::F64)?.to_vec()).collect()
}

#[test]
fn the_kernel_gives_the_bits_of_the_composed_steps() -> Result<()> {
    fork_rng(0, || {
        for dtype in [DType::F32, DType::F64] {
            for (amsgrad, maximize, beta1) in [(false, false, 0.8), (true, true, 0.3)] {
                let step = AdamWStep {
                    maximize,
                    betas: (beta1, 0.99),
                    ..STEP
                };
                let (value, grad, moments) = draw(dtype, amsgrad)?;
                let mut expected = moments.clone();
                let mut after = value.clone();
                after.adamw_composed(&grad, &mut expected, &step)?;
                let expected = numbers(&after, &expected)?;
                assert_eq!(expected.len(), if amsgrad { 4 } else { 3 });
                // However the operands lie.
                let turned = |x: &Tensor| x.t()?.contiguous()?.t();
                let cut = |x: &Tensor| Tensor::cat(&[x, x], 0)?.narrow(0, 7..14);
                for (mut after, grad, exp_avg) in [
                    (value.clone(), grad.clone(), moments.exp_avg.clone()),
                    (turned(&value)?, turned(&grad)?, turned(&moments.exp_avg)?),
                    (cut(&value)?, cut(&grad)?, cut(&moments.exp_avg)?),
                ] {
                    let mut moments = AdamWMoments {
                        exp_avg,
                        ..moments.clone()
                    };
                    let done = after.adamw_kernel(&grad, &mut moments, &step)?;
                    assert!(done.is_some(), "the CPU has the kernel");
                    assert_eq!(numbers(&after, &moments)?, expected);
                }
            }
        }
        Ok(())
    })
}

#[test]
fn memory_is_written_where_it_lies_unless_it_is_shared() -> Result<()> {
    fork_rng(0, || {
        let (mut value, grad, mut moments) = draw(DType::F32, true)?;
        let (held, snapshot) = (value.clone(), moments.clone());
        let before = numbers(&held, &snapshot)?;
        adamw_step(&mut value, &grad, &mut moments, &STEP)?;
        assert_eq!(numbers(&held, &snapshot)?, before);
        assert_ne!(numbers(&value, &moments)?, before);
        let addresses = |value: &Tensor, moments: &AdamWMoments| {
            let AdamWMoments {
                exp_avg,
                exp_avg_sq,
                max_exp_avg_sq,
            } = moments;
            let all = [value, exp_avg, exp_avg_sq].into_iter();
            let all = all.chain(max_exp_avg_sq);
            all.map(|x| x.storage.address()).collect::<Vec<_>>()
        };
        let before = addresses(&value, &moments);
        assert_ne!(before, addresses(&held, &snapshot));
        adamw_step(&mut value, &grad, &mut moments, &STEP)?;
        assert_eq!(addresses(&value, &moments), before);
        Ok(())
    })
}

#[test]
fn what_is_not_a_number_stays_so() -> Result<()> {
    let mut value = Tensor::from([1.0_f32, 1.0]);
    let grad = Tensor::from([f32::NAN, f32::INFINITY]);
    let zeros = value.zeros_like()?;
    let mut moments = AdamWMoments {
        exp_avg: zeros.clone(),
        exp_avg_sq: zeros.clone(),
        max_exp_avg_sq: Some(zeros),
    };
    adamw_step(&mut value, &grad, &mut moments, &STEP)?;
    assert!(value.to_vec::<f32>()?.iter().all(|v| v.is_nan()));
    let max = moments.max_exp_avg_sq.map(|max| max.to_vec::<f32>());
    let max = max.transpose()?.unwrap_or_default();
    assert!(max[0].is_nan() && max[1] == f32::INFINITY);
    Ok(())
}

#[test]
fn wrong_operands_are_typed_errors() -> Result<()> {
    fork_rng(0, || {
        let (value, grad, moments) = draw(DType::F32, true)?;
        let before = numbers(&value, &moments)?;
        let refused = |value: &Tensor, grad: &Tensor, moments: &AdamWMoments| {
            let (mut moved, mut after) = (value.clone(), moments.clone());
            let error = adamw_step(&mut moved, grad, &mut after, &STEP).err();
            assert_eq!(numbers(&moved, &after).ok(), numbers(value, moments).ok());
            error.map(|error| error.to_string())
        };
        let narrow = grad.narrow(0, 0..1)?;
        let text = refused(&value, &narrow, &moments).unwrap_or_default();
        assert!(
            text.contains("must have the shape of the parameter"),
            "{text}"
        );
        let mut wrong = moments.clone();
        wrong.max_exp_avg_sq = Some(narrow);
        assert!(refused(&value, &grad, &wrong).is_some());
        wrong.max_exp_avg_sq = Some(grad.to_dtype(DType::F64)?);
        assert!(refused(&value, &grad, &wrong).is_some());
        assert_eq!(numbers(&value, &moments)?, before);
        let whole = grad.to_dtype(DType::I64)?;
        assert!(refused(&whole, &whole, &moments).is_some());
        Ok(())
    })
}

#[test]
fn a_step_has_no_gradient_and_says_so() -> Result<()> {
    fork_rng(0, || {
        let (value, grad, mut moments) = draw(DType::F32, false)?;
        let tracked = value.with_grad()?;
        let mut after = tracked.clone();
        adamw_step(&mut after, &grad, &mut moments, &STEP)?;
        let ones = after.ones_like()?;
        let error = after.backward_with(&ones, BackwardOptions::default()).err();
        let kind = error.as_ref().map(|error| error.kind());
        assert!(matches!(
            kind,
            Some(ErrorKind::Autograd(AutogradError::NoGradient { .. }))
        ));
        let mut after = tracked;
        no_grad(|| adamw_step(&mut after, &grad, &mut moments, &STEP))?;
        assert!(!after.requires_grad());
        Ok(())
    })
}
