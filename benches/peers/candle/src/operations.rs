//! Operations on tensors.

use candle_core::{D, DType, Result, Tensor, Var};
use candle_nn::rnn::{LSTMConfig, RNN};
use candle_nn::{Linear, Module, VarBuilder, VarMap};

use crate::row::{CPU, Rows, randn, work};

fn products(rows: &mut Rows) {
    let squares = [256, 512, 1024, 2048].map(|n| (format!("matmul {n}"), [n, n, n]));
    let others = [
        [128, 768, 3072],
        [1, 768, 3072],
        [64, 576, 3136],
        [32, 768, 3072],
        [512, 64, 784],
        [64, 64, 64],
        [16, 16, 16],
        [8, 1024, 1024],
    ];
    let others = others.map(|[m, k, n]| (format!("matmul {m}x{k}x{n}"), [m, k, n]));
    for (name, [m, k, n]) in squares.into_iter().chain(others) {
        rows.add(name, move || {
            let (a, b) = (randn(&[m, k])?, randn(&[k, n])?);
            work(move || a.matmul(&b))
        });
    }
    rows.add("matmul 4x1024x4096, b transposed", || {
        let (a, b) = (randn(&[4, 1024])?, randn(&[4096, 1024])?.t()?);
        work(move || a.matmul(&b))
    });
    rows.both("matmul, 96 of 128x64x128", &[&[96, 128, 64], &[96, 64, 128]], |x| x[0].matmul(&x[1]));
    for batch in [128, 1] {
        let name = format!("linear 768 to 3072, {batch} rows");
        rows.add(&*name, move || {
            let (layer, x) = (Linear::new(randn(&[3072, 768])?, Some(randn(&[3072])?)), randn(&[batch, 768])?);
            work(move || layer.forward(&x))
        });
        rows.add(format!("{name}, and backward"), move || {
            let leaf = |shape: &[usize]| Var::from_tensor(&randn(shape)?);
            let (x, w, b) = (leaf(&[batch, 768])?, leaf(&[3072, 768])?, leaf(&[3072])?);
            let layer = Linear::new(w.as_tensor().clone(), Some(b.as_tensor().clone()));
            work(move || layer.forward(&x)?.sum_all()?.backward())
        });
    }
    for (batch, dtype, name) in [(1, DType::F16, "f16"), (1, DType::BF16, "bf16"), (128, DType::BF16, "bf16")] {
        rows.add(format!("linear 768 to 3072, {batch} rows, {name}"), move || {
            let (weight, bias) = (randn(&[3072, 768])?.to_dtype(dtype)?, randn(&[3072])?.to_dtype(dtype)?);
            let (layer, x) = (Linear::new(weight, Some(bias)), randn(&[batch, 768])?.to_dtype(dtype)?);
            work(move || layer.forward(&x))
        });
    }
}

fn activations(rows: &mut Rows) {
    let shape: &[usize] = &[128, 3072];
    rows.both("relu [128, 3072]", &[shape], |x| x[0].relu());
    rows.both("sigmoid [128, 3072]", &[shape], |x| candle_nn::ops::sigmoid(&x[0]));
    rows.both("tanh [128, 3072]", &[shape], |x| x[0].tanh());
    rows.both("silu [128, 3072]", &[shape], |x| x[0].silu());
    rows.both("gelu [128, 3072]", &[shape], |x| x[0].gelu_erf());
    rows.both("gelu by tanh [128, 3072]", &[shape], |x| x[0].gelu());
    rows.both("exp [128, 3072]", &[shape], |x| x[0].exp());
    rows.both("add [128, 3072]", &[shape, shape], |x| &x[0] + &x[1]);
    rows.both("add a row [128, 3072]", &[shape, &[3072]], |x| x[0].broadcast_add(&x[1]));
    rows.both("mul [128, 3072]", &[shape, shape], |x| &x[0] * &x[1]);
    rows.both("dropout [128, 3072]", &[shape], |x| candle_nn::ops::dropout(&x[0], 0.1));
    rows.both("transpose and copy [1024, 1024]", &[&[1024, 1024]], |x| x[0].t()?.contiguous());
    rows.both("cat [128, 3072]", &[shape, shape], |x| Tensor::cat(x, D::Minus1));
    rows.both("sum [128, 3072]", &[shape], |x| x[0].sum_all());
    rows.both("sum over rows [128, 3072]", &[shape], |x| x[0].sum(0));
}

fn normalizations(rows: &mut Rows) {
    let shapes: &[&[usize]] = &[&[128, 768], &[768], &[768]];
    rows.both("layer_norm [128, 768]", shapes, |x| match x[0].is_variable() {
        true => candle_nn::ops::layer_norm_slow(&x[0], &x[1], &x[2], 1e-5),
        false => candle_nn::ops::layer_norm(&x[0], &x[1], &x[2], 1e-5),
    });
    rows.both("rms_norm [256, 1024]", &[&[256, 1024], &[1024]], |x| match x[0].is_variable() {
        true => candle_nn::ops::rms_norm_slow(&x[0], &x[1], 1e-6),
        false => candle_nn::ops::rms_norm(&x[0], &x[1], 1e-6),
    });
    rows.both("softmax [12, 128, 128]", &[&[12, 128, 128]], |x| match x[0].is_variable() {
        true => candle_nn::ops::softmax(&x[0], D::Minus1),
        false => candle_nn::ops::softmax_last_dim(&x[0]),
    });
    rows.both("softmax [8, 256, 128], dimension 1", &[&[8, 256, 128]], |x| candle_nn::ops::softmax(&x[0], 1));
    rows.both("log_softmax [256, 1024]", &[&[256, 1024]], |x| candle_nn::ops::log_softmax(&x[0], D::Minus1));
    rows.both("log_softmax [8, 256, 128], dimension 1", &[&[8, 256, 128]], |x| candle_nn::ops::log_softmax(&x[0], 1));
    rows.both("logsumexp [256, 1024]", &[&[256, 1024]], |x| x[0].log_sum_exp(D::Minus1));
}

/// Indices below `count`, unordered.
fn indices(count: u32, shape: &[usize]) -> Result<Tensor> {
    let len = shape.iter().product::<usize>() as u32;
    Tensor::from_iter((0..len).map(|i| i * 37 % count), &CPU)?.reshape(shape)
}

fn losses(rows: &mut Rows) {
    rows.both("cross_entropy [256, 1024]", &[&[256, 1024]], |x| {
        candle_nn::loss::cross_entropy(&x[0], &indices(1024, &[256])?)
    });
    rows.both("mse_loss [128, 3072]", &[&[128, 3072], &[128, 3072]], |x| candle_nn::loss::mse(&x[0], &x[1]));
    let name = "embedding of 30000x256, 32x128 tokens";
    rows.add(name, || {
        let (table, tokens) = (randn(&[30000, 256])?, indices(30000, &[32, 128])?);
        work(move || table.embedding(&tokens.flatten_all()?))
    });
    rows.add(format!("{name}, and backward"), || {
        let (table, tokens) = (Var::from_tensor(&randn(&[30000, 256])?)?, indices(30000, &[32, 128])?);
        work(move || table.embedding(&tokens.flatten_all()?)?.sum_all()?.backward())
    });
}

/// Attention as candle's models write it for the CPU; `mask` is added to the scores.
pub fn attend(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    let scale = 1.0 / (q.dim(D::Minus1)? as f64).sqrt();
    let scores = (q.matmul(&k.t()?.contiguous()?)? * scale)?;
    let scores = match mask {
        Some(mask) => scores.broadcast_add(mask)?,
        None => scores,
    };
    let weights = match q.track_op() {
        true => candle_nn::ops::softmax(&scores, D::Minus1)?,
        false => candle_nn::ops::softmax_last_dim(&scores)?,
    };
    weights.matmul(v)
}

/// Zero where `keep` holds, and minus infinity elsewhere.
pub fn mask(shape: &[usize], keep: impl Fn(usize) -> bool) -> Result<Tensor> {
    let len = shape.iter().product::<usize>();
    let values = (0..len).map(|i| if keep(i) { 0_f32 } else { f32::NEG_INFINITY });
    Tensor::from_iter(values, &CPU)?.reshape(shape)
}

fn attention(rows: &mut Rows) {
    let heads: &[usize] = &[4, 12, 128, 64];
    rows.both("attention [4, 12, 128, 64]", &[heads; 3], |x| attend(&x[0], &x[1], &x[2], None));
    rows.both("attention [4, 12, 128, 64], causal", &[heads; 3], |x| {
        let mask = mask(&[128, 128], |i| i % 128 <= i / 128)?;
        attend(&x[0], &x[1], &x[2], Some(&mask))
    });
    let heads: &[usize] = &[32, 12, 128, 32];
    rows.both("attention [32, 12, 128, 32], padding mask", &[heads; 3], |x| {
        let mask = mask(&[1, 1, 1, 128], |i| i < 100)?;
        attend(&x[0], &x[1], &x[2], Some(&mask))
    });
}

fn conv2d(rows: &mut Rows, name: &str, x: [usize; 4], w: [usize; 4], [stride, groups]: [usize; 2]) {
    rows.both(&format!("conv2d {name}, {x:?}"), &[&x, &w], move |x| {
        x[0].conv2d(&x[1], w[2] / 2, stride, 1, groups)
    });
}

fn convolutions(rows: &mut Rows) {
    let kernel = [64, 64, 3, 3];
    for batch in [1, 8] {
        conv2d(rows, "3x3", [batch, 64, 56, 56], kernel, [1, 1]);
        conv2d(rows, "3x3 depthwise", [batch, 64, 56, 56], [64, 1, 3, 3], [1, 64]);
    }
    conv2d(rows, "3x3, stride 2", [8, 64, 56, 56], [128, 64, 3, 3], [2, 1]);
    conv2d(rows, "1x1 to 256", [8, 64, 56, 56], [256, 64, 1, 1], [1, 1]);
    conv2d(rows, "3x3", [8, 256, 14, 14], [256, 256, 3, 3], [1, 1]);
    conv2d(rows, "7x7, stride 2, to 64", [1, 3, 224, 224], [64, 3, 7, 7], [2, 1]);
    conv2d(rows, "3x3", [8, 512, 2, 2], [512, 512, 3, 3], [1, 1]);
    conv2d(rows, "3x3", [64, 64, 7, 7], kernel, [1, 1]);
    conv2d(rows, "3x3", [8, 64, 16, 16], kernel, [1, 1]);
    conv2d(rows, "7x7 depthwise", [8, 96, 28, 28], [96, 1, 7, 7], [1, 96]);
    conv2d(rows, "7x7 depthwise", [8, 384, 7, 7], [384, 1, 7, 7], [1, 384]);
    rows.both("conv1d 9, [8, 64, 4000]", &[&[8, 64, 4000], &[64, 64, 9]], |x| x[0].conv1d(&x[1], 4, 1, 1, 1));
    let name = "conv_transpose2d 4x4, stride 2, [8, 64, 28, 28] to 32";
    rows.both(name, &[&[8, 64, 28, 28], &[64, 32, 4, 4]], |x| x[0].conv_transpose2d(&x[1], 1, 0, 2, 1));
    let image: &[usize] = &[8, 64, 56, 56];
    rows.both("max_pool2d 3, stride 2, [1, 64, 112, 112]", &[&[1, 64, 112, 112]], |x| {
        let padded = x[0].pad_with_zeros(2, 1, 1)?.pad_with_zeros(3, 1, 1)?;
        padded.max_pool2d_with_stride(3, 2)
    });
    rows.both("max_pool2d 2, [8, 64, 56, 56]", &[image], |x| x[0].max_pool2d(2));
    rows.both("avg_pool2d 2, [8, 64, 56, 56]", &[image], |x| x[0].avg_pool2d(2));
    rows.both("interpolate nearest by 2, [8, 64, 28, 28]", &[&[8, 64, 28, 28]], |x| x[0].upsample_nearest2d(56, 56));
}

fn recurrent(rows: &mut Rows) {
    for batch in [8, 1] {
        let name = format!("lstm 256, 64 steps, batch {batch}");
        for (name, backward) in [(name.clone(), false), (format!("{name}, and backward"), true)] {
            rows.add(name, move || {
                let variables = VarMap::new();
                let builder = VarBuilder::from_varmap(&variables, DType::F32, &CPU);
                let layer = candle_nn::rnn::lstm(256, 256, LSTMConfig::default(), builder)?;
                let x = randn(&[batch, 64, 256])?;
                work(move || {
                    let states = layer.seq(&x)?;
                    let y = layer.states_to_tensor(&states)?;
                    if backward {
                        y.sum_all()?.backward()?;
                    }
                    Ok(())
                })
            });
        }
    }
}

fn small(rows: &mut Rows) {
    rows.add("add one element", || {
        let (a, b) = (randn(&[1])?, randn(&[1])?);
        work(move || &a + &b)
    });
    rows.add("add one element, tracked", || {
        let (a, b) = (Var::from_tensor(&randn(&[1])?)?, randn(&[1])?);
        work(move || a.as_tensor() + &b)
    });
    rows.add("mul one element by a number", || {
        let a = randn(&[1])?;
        work(move || &a * 2.0)
    });
}

pub fn add(rows: &mut Rows) {
    products(rows);
    activations(rows);
    normalizations(rows);
    losses(rows);
    attention(rows);
    convolutions(rows);
    recurrent(rows);
    small(rows);
}
