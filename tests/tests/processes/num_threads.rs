//! The number of threads affects the speed of an operation but never its result.
#![allow(clippy::unwrap_used)]

use module_core::fused::{RecurrentOp, RecurrentOptions, recurrent};
use module_core::{AttentionOptions, ConvOptions, ConvTransposeOptions};
use module_core::{num_threads, set_num_threads};
use module_nn::prelude::*;
use module_tests::processes::ran_in_a_child;

/// The result of a large operation, and the gradient of its operand: an input or a weight.
fn results() -> Result<Vec<Vec<u8>>> {
    let draw = |shape: &[usize], seed| fork_rng(seed, || Tensor::randn(shape.to_vec(), DType::F32));
    let wide = draw(&[517, 1031], 1)?;
    let images = draw(&[5, 9, 31, 33], 2)?;
    let kernel = draw(&[12, 9, 3, 3], 3)?;
    let one = draw(&[1, 24, 61, 67], 4)?;
    let kernels = draw(&[17, 24, 3, 3], 5)?;
    let (query, key) = (draw(&[6, 4, 150, 33], 6)?, draw(&[6, 4, 170, 33], 7)?);
    let tall = draw(&[1031, 517], 8)?;
    let many = draw(&[40, 65, 70], 9)?;
    type Operation = Box<dyn Fn(&Tensor) -> Result<Tensor>>;
    let conv = ConvOptions::new().padding([1, 1]);
    let scale = draw(&[1031], 10)?;
    let (steps, weight) = (draw(&[148, 600], 11)?, draw(&[600, 150], 12)?);
    let first = draw(&[37, 150], 13)?;
    let (gru, bias, of_gru) = (draw(&[450, 150], 16)?, draw(&[450], 17)?, first.clone());
    let (narrow, projection) = (draw(&[600, 91], 18)?, draw(&[91, 150], 19)?);
    let (projected, cell) = (draw(&[60, 91], 20)?, draw(&[60, 150], 21)?);
    let mut cases: Vec<(Tensor, Operation)> = vec![
        (wide.clone(), Box::new(|x| x.add(&x.mul(3.0)?))),
        (wide.clone(), Box::new(|x| x.tanh()?.exp())),
        (wide.clone(), Box::new(|x| x.sum(..))),
        (wide.clone(), Box::new(|x| x.softmax(-1))),
        (wide.clone(), Box::new(|x| x.log_softmax(0))),
        (
            wide.clone(),
            Box::new(move |x| x.layer_norm([1031], Some(&scale), None, 1e-5)),
        ),
        (tall.clone(), {
            let wide = wide.clone();
            Box::new(move |weight| wide.matmul(weight))
        }),
        (tall.clone(), {
            let x = wide.t()?.contiguous()?;
            Box::new(move |weight| x.linear(weight, None))
        }),
        (wide, Box::new(move |x| x.matmul(&tall))),
        (
            many.clone(),
            Box::new(move |x| x.matmul(&many.transpose(1, 2)?)),
        ),
        (kernel.clone(), {
            let images = images.clone();
            Box::new(move |weight| images.conv2d(weight, conv))
        }),
        (kernels.clone(), {
            let one = one.clone();
            Box::new(move |weight| one.conv2d(weight, conv))
        }),
        (kernel.narrow(1, 0..3)?.contiguous()?, {
            let images = images.clone();
            let grouped = conv.groups(3);
            Box::new(move |weight| images.conv2d(weight, grouped))
        }),
        (kernel.transpose(0, 1)?.contiguous()?, {
            let images = images.clone();
            let options = ConvTransposeOptions::default();
            Box::new(move |weight| images.conv_transpose2d(weight, options))
        }),
        (images, Box::new(move |x| x.conv2d(&kernel, conv))),
        (one, Box::new(move |x| x.conv2d(&kernels, conv))),
        (
            query,
            Box::new(move |x| {
                let options = AttentionOptions::new().is_causal(true);
                x.scaled_dot_product_attention(&key, &key, options)
            }),
        ),
        (
            steps,
            Box::new(move |x| {
                let options = RecurrentOptions::new(RecurrentOp::Lstm, &weight, &[37; 4])
                    .bias_hh(None)
                    .weight_hr(None)
                    .reverse(false);
                Ok(recurrent(x, &first, Some(&first), &options)?.output)
            }),
        ),
        (
            draw(&[75, 450], 14)?,
            Box::new(move |x| {
                let options = RecurrentOptions::new(RecurrentOp::Gru, &gru, &[37, 37, 1])
                    .bias_hh(&bias)
                    .reverse(true);
                Ok(recurrent(x, &of_gru, None, &options)?.output)
            }),
        ),
        (
            draw(&[153, 600], 15)?,
            Box::new(move |x| {
                let options =
                    RecurrentOptions::new(RecurrentOp::Lstm, &narrow, &[60, 60, 30, 2, 1])
                        .weight_hr(&projection);
                Ok(recurrent(x, &projected, Some(&cell), &options)?.output)
            }),
        ),
    ];
    // So few units that threads share the sequences.
    let (few, of_few) = (draw(&[96, 24], 22)?, draw(&[900, 24], 23)?);
    cases.push((
        draw(&[1805, 96], 24)?,
        Box::new(move |x| {
            let options = RecurrentOptions::new(RecurrentOp::Lstm, &few, &[900, 900, 5]);
            Ok(recurrent(x, &of_few, Some(&of_few), &options)?.output)
        }),
    ));
    let mut bytes = Vec::new();
    for (x, operation) in cases {
        let x = x.with_grad()?;
        let y = operation(&x)?;
        bytes.push(y.to_host()?.to_le_bytes());
        y.mul(&y)?.sum(..)?.backward()?;
        bytes.push(x.grad().unwrap().to_host()?.to_le_bytes());
    }
    Ok(bytes)
}

#[test]
fn the_number_of_threads_changes_no_bit() -> Result<()> {
    if ran_in_a_child("num_threads::the_number_of_threads_changes_no_bit") {
        return Ok(());
    }
    set_num_threads(1);
    assert_eq!(num_threads(), 1);
    let expected = results()?;
    for threads in [2, 3, 7, 16] {
        set_num_threads(threads);
        for (i, (got, expected)) in results()?.iter().zip(&expected).enumerate() {
            assert!(got == expected, "result {i} differs with {threads} threads");
        }
    }
    Ok(())
}
