use super::SGDStep;
use crate::fused::sgd_step;
use crate::{AutogradError, DType, ErrorKind, Result, Tensor, fork_rng};

const STEP: SGDStep = SGDStep {
    lr: 0.02,
    momentum: 0.9,
    dampening: 0.0,
    weight_decay: 0.0,
    nesterov: false,
    maximize: false,
};

fn bits(x: &Tensor) -> Result<Vec<u64>> {
    let values: Vec<f64> = x.to_dtype(DType::F64)?.to_vec()?;
    Ok(values.into_iter().map(f64::to_bits).collect())
}

fn buffer_bits(buffer: &Option<Tensor>) -> Result<Option<Vec<u64>>> {
    buffer.as_ref().map(bits).transpose()
}

#[test]
fn the_kernel_gives_the_bits_of_the_composed_steps() -> Result<()> {
    let steps = [
        STEP,
        SGDStep {
            momentum: 0.0,
            ..STEP
        },
        SGDStep {
            momentum: 0.0,
            weight_decay: 0.1,
            maximize: true,
            ..STEP
        },
        SGDStep {
            dampening: 0.3,
            weight_decay: 0.1,
            ..STEP
        },
        SGDStep {
            nesterov: true,
            maximize: true,
            ..STEP
        },
    ];
    fork_rng(0, || {
        for (dtype, step) in [DType::F32, DType::F64]
            .into_iter()
            .flat_map(|dtype| steps.iter().map(move |step| (dtype, step)))
        {
            let draw = || Tensor::randn([7, 150], dtype);
            let (value, grad) = (draw()?, draw()?);
            let turned = |x: &Tensor| x.t()?.contiguous()?.t();
            let cut = |x: &Tensor| Tensor::cat(&[x, x], 0)?.narrow(0, 7..14);
            for buffer in [None, Some(draw()?)] {
                let (mut expected, mut expected_buffer) = (value.clone(), buffer.clone());
                expected.sgd_composed(&grad, &mut expected_buffer, step)?;
                // However the operands lie.
                for lay in [&|x: &Tensor| Ok(x.clone()), &turned, &cut]
                    as [&dyn Fn(&Tensor) -> Result<Tensor>; 3]
                {
                    let mut after = lay(&value)?;
                    let mut own = buffer.as_ref().map(lay).transpose()?;
                    let done = after.sgd_kernel(&lay(&grad)?, &mut own, step)?;
                    assert!(done.is_some(), "the CPU has the kernel");
                    assert_eq!(bits(&after)?, bits(&expected)?);
                    assert_eq!(buffer_bits(&own)?, buffer_bits(&expected_buffer)?);
                }
            }
        }
        Ok(())
    })
}

#[test]
fn memory_is_written_where_it_lies_unless_it_is_shared() -> Result<()> {
    fork_rng(0, || {
        let (mut value, grad) = (
            Tensor::randn([300], DType::F32)?,
            Tensor::randn([300], DType::F32)?,
        );
        let (first, mut buffer) = (bits(&grad)?, None);
        sgd_step(&mut value, &grad, &mut buffer, &STEP)?;
        let (held, snapshot) = (value.clone(), buffer.clone());
        let before = (bits(&held)?, buffer_bits(&snapshot)?);
        sgd_step(&mut value, &grad, &mut buffer, &STEP)?;
        assert_eq!((bits(&held)?, buffer_bits(&snapshot)?), before);
        assert_ne!((bits(&value)?, buffer_bits(&buffer)?), before);
        let addresses = |value: &Tensor, buffer: &Option<Tensor>| {
            let buffer = buffer.as_ref().map(|x| x.storage.address());
            (value.storage.address(), buffer)
        };
        let before = addresses(&value, &buffer);
        sgd_step(&mut value, &grad, &mut buffer, &STEP)?;
        assert_eq!(addresses(&value, &buffer), before);
        assert_eq!(bits(&grad)?, first);
        Ok(())
    })
}

#[test]
fn wrong_operands_are_typed_errors_and_change_nothing() -> Result<()> {
    let value = Tensor::from([1.0_f32, 2.0]);
    let grad = Tensor::from([0.5_f32, 0.5]);
    let refused = |value: &Tensor, grad: &Tensor, buffer: Option<Tensor>| {
        let (mut after, mut own) = (value.clone(), buffer.clone());
        let error = sgd_step(&mut after, grad, &mut own, &STEP).err();
        assert_eq!(bits(&after).ok(), bits(value).ok());
        assert_eq!(buffer_bits(&own).ok(), buffer_bits(&buffer).ok());
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    let text = refused(&value, &Tensor::from([1.0_f32]), None);
    assert!(
        text.contains("must have the shape of the parameter"),
        "{text}"
    );
    assert!(!refused(&value, &grad, Some(grad.to_dtype(DType::F64)?)).is_empty());
    let whole = grad.to_dtype(DType::I64)?;
    assert!(!refused(&whole, &whole, None).is_empty());
    Ok(())
}

#[test]
fn a_step_has_no_gradient_and_says_so() -> Result<()> {
    let mut value = Tensor::from([1.0_f32]).with_grad()?;
    sgd_step(&mut value, &Tensor::from([1.0_f32]), &mut None, &STEP)?;
    let error = value.backward().err();
    let kind = error.as_ref().map(|error| error.kind());
    assert!(matches!(
        kind,
        Some(ErrorKind::Autograd(AutogradError::NoGradient { .. }))
    ));
    Ok(())
}
