//! Matrix products and linear layers.

use module_nn::BackwardOptions;
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, quantize};

use super::row::{Rows, clear, randn, work};

pub(crate) fn add(rows: &mut Rows) {
    for size in [256, 512, 1024, 2048] {
        product(rows, &format!("matmul {size}"), [size; 3]);
    }
    for [m, k, n] in [
        [128, 768, 3072],
        [1, 768, 3072],
        [64, 576, 3136],
        [32, 768, 3072],
        [512, 64, 784],
        [64, 64, 64],
        [16, 16, 16],
        [8, 1024, 1024],
    ] {
        product(rows, &format!("matmul {m}x{k}x{n}"), [m, k, n]);
    }
    rows.add("matmul 4x1024x4096, b transposed", || {
        let (a, b) = (randn(&[4, 1024])?, randn(&[4096, 1024])?.t()?);
        work(move || a.matmul(&b).map(drop))
    });
    for (name, a_transposed, b_transposed) in [
        ("a transposed", true, false),
        ("b transposed", false, true),
        ("both transposed", true, true),
    ] {
        rows.add(format!("matmul 1024, {name}"), move || {
            let operand = |is_transposed| {
                let x = randn(&[1024, 1024])?;
                if is_transposed { x.t() } else { Ok(x) }
            };
            let (a, b) = (operand(a_transposed)?, operand(b_transposed)?);
            work(move || a.matmul(&b).map(drop))
        });
    }
    rows.both(
        "matmul, 96 of 128x64x128",
        &[&[96, 128, 64], &[96, 64, 128]],
        |x| x[0].matmul(&x[1]),
    );
    for batch in [128, 1] {
        linear(rows, batch);
    }
    quantized(rows);
    for (batch, dtype, name) in [
        (1, DType::F16, "f16"),
        (1, DType::BF16, "bf16"),
        (128, DType::BF16, "bf16"),
    ] {
        rows.add(
            format!("linear 768 to 3072, {batch} rows, {name}"),
            move || {
                let layer = Linear::new(768, 3072)?;
                layer.to_dtype(dtype)?;
                let x = randn(&[batch, 768])?.to_dtype(dtype)?;
                work(move || no_grad(|| layer.call(x.clone())).map(drop))
            },
        );
    }
}

/// A large layer applied to one row, which takes as long as reading its weight.
fn quantized(rows: &mut Rows) {
    let name = "linear 4096 to 4096, 1 rows";
    let schemes = [
        (None, String::new()),
        (Some(Scheme::Int8Dynamic), ", int8 dynamic".to_owned()),
        (Some(Scheme::Int8), ", int8".to_owned()),
        (Some(Scheme::Int4 { group_size: 128 }), ", int4".to_owned()),
        (Some(Scheme::NF4), ", nf4".to_owned()),
    ];
    for (scheme, suffix) in schemes {
        rows.add(format!("{name}{suffix}"), move || {
            let (layer, x) = (Linear::new(4096, 4096)?, randn(&[1, 4096])?);
            if let Some(scheme) = scheme {
                quantize(&layer, Select::all(), scheme)?;
            }
            work(move || no_grad(|| layer.call(x.clone())).map(drop))
        });
    }
}

fn product(rows: &mut Rows, name: &str, [m, k, n]: [usize; 3]) {
    rows.add(name, move || {
        let (a, b) = (randn(&[m, k])?, randn(&[k, n])?);
        work(move || a.matmul(&b).map(drop))
    });
}

/// A layer, and a layer with the gradients of its input and its parameters.
fn linear(rows: &mut Rows, batch: usize) {
    let name = format!("linear 768 to 3072, {batch} rows");
    rows.add(&*name, move || {
        let (layer, x) = (Linear::new(768, 3072)?, randn(&[batch, 768])?);
        work(move || no_grad(|| layer.call(x.clone())).map(drop))
    });
    rows.add(format!("{name}, and backward"), move || {
        let (layer, x) = (Linear::new(768, 3072)?, randn(&[batch, 768])?.with_grad()?);
        let grad = randn(&[batch, 3072])?;
        work(move || {
            clear(&layer, [&x]);
            layer
                .call(x.clone())?
                .backward_with(&grad, BackwardOptions::default())
        })
    });
}
