//! Operations that read elements refuse packed ones.

use super::*;

/// Asserts that an error is the one of packed elements, and names the operation.
fn refused(name: &str, result: Result<()>) -> String {
    match result.map_err(Error::into_kind) {
        Err(kind @ ErrorKind::DType(DTypeError::Packed { .. })) => {
            let text = kind.to_string();
            let named = text.starts_with(&format!("{name}: "))
                && text.contains(SCHEME)
                && text.contains("`unpack`");
            if named {
                String::new()
            } else {
                format!("{name}: {text}\n")
            }
        }
        Err(other) => format!("{name}: {other}\n"),
        Ok(()) => format!("{name} is computed\n"),
    }
}

#[test]
fn every_family_of_operations_refuses_it() {
    type Op = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let ops: &[(&str, Op)] = &[
        ("to_dtype", |w, _| w.to_dtype(DType::F16)),
        ("exp", |w, _| w.exp()),
        ("neg", |w, _| w.neg()),
        ("relu", |w, _| w.relu()),
        ("gelu", |w, _| w.gelu(Default::default())),
        ("add", |w, _| w.add(w)),
        ("add", |w, x| x.add(w)),
        ("add", |w, _| w.add(1.0)),
        ("sub", |w, x| w.sub(x)),
        ("mul", |w, _| w.mul(2)),
        ("div", |w, x| w.div(x)),
        ("pow", |w, _| w.pow(2)),
        ("maximum", |w, x| w.maximum(x)),
        ("clamp", |w, _| w.clamp(0.0, 1.0)),
        ("eq", |w, x| w.eq(x)),
        ("lt", |w, _| w.lt(0.0)),
        ("where", |w, x| Tensor::from(true).where_(w, x)),
        ("sum", |w, _| w.sum(..)),
        ("mean", |w, _| w.mean(0)),
        ("var", |w, _| w.var(0, 1.0)),
        ("prod", |w, _| w.prod(0)),
        ("amax", |w, _| w.amax(0)),
        ("argmax", |w, _| w.argmax(0)),
        ("norm", |w, _| w.norm(2.0, ..)),
        ("logsumexp", |w, _| w.logsumexp(0)),
        ("cumsum", |w, _| w.cumsum(0)),
        ("cumprod", |w, _| w.cumprod(0)),
        ("sort", |w, _| Ok(w.sort(0)?.0)),
        ("topk", |w, _| Ok(w.topk(1, 0)?.0)),
        ("unique", |w, _| Ok(w.unique(..)?.values)),
        ("matmul", |w, x| w.matmul(&x.t()?)),
        ("linear", |w, x| w.linear(x, None)),
        ("linear", |w, x| x.linear(&w.select(0, 0)?, None)),
        ("matmul", |w, x| x.matmul(&w.unsqueeze(0)?.transpose(1, 2)?)),
        ("softmax", |w, _| w.softmax(0)),
        ("log_softmax", |w, _| w.log_softmax(0)),
        ("layer_norm", |w, _| w.layer_norm([64], None, None, 1e-5)),
        ("layer_norm", |w, x| {
            x.layer_norm([64], Some(&w.narrow(0, 0..1)?.squeeze(0)?), None, 1e-5)
        }),
        ("gather", |w, _| w.gather(0, &Tensor::from([[0_i64]]))),
        ("scatter", |w, x| w.scatter(0, &Tensor::from([[0_i64]]), x)),
        ("scatter_add", |w, x| {
            w.scatter_add(0, &Tensor::from([[0_i64]]), x)
        }),
        ("index_select", |w, _| {
            w.index_select(0, &Tensor::from([0_i64]))
        }),
        ("index_add", |w, x| {
            x.index_add(0, &Tensor::from([0_i64]), &w.narrow(0, 0..1)?)
        }),
        ("embedding", |w, _| {
            w.embedding(&Tensor::from([0_i64]), None)
        }),
        ("cat", |w, x| Tensor::cat(&[x, w], 0)),
        ("flip", |w, _| w.flip(0)),
        ("pad", |w, _| w.pad([1, 1], PadMode::Reflect)),
        ("contiguous", |w, _| w.t()?.contiguous()),
        ("reshape", |w, _| w.t()?.reshape([6, 64])),
        ("conv1d", |w, x| {
            x.unsqueeze(0)?.conv1d(&w.unsqueeze(0)?, Default::default())
        }),
        ("max_pool1d", |w, _| {
            w.max_pool1d(module_core::PoolOptions::new([2]))
        }),
        ("scaled_dot_product_attention", |w, x| {
            x.scaled_dot_product_attention(w, x, Default::default())
        }),
        ("cross_entropy", |w, _| {
            w.cross_entropy(&Tensor::zeros([6], DType::I64)?, Default::default())
        }),
        ("with_grad", |w, _| w.with_grad()),
        ("to_host", |w, _| w.to_host().map(|_| w.clone())),
        ("to_host", |w, _| w.to_vec::<f32>().map(|_| w.clone())),
    ];
    let plain = weight();
    let packed = pack(&plain).unwrap();
    let mut problems = String::new();
    for device in [Device::cpu(), mirror(&[]).unwrap()] {
        let (w, x) = (
            packed.to_device(&device).unwrap(),
            plain.to_device(&device).unwrap(),
        );
        for (name, op) in ops {
            let there = |w: &Tensor, x: &Tensor| match device == Device::cpu() {
                true => op(w, x).map(|_| ()),
                // Indices are on the default device.
                false => module_core::with_default_device(device, || op(w, x).map(|_| ())),
            };
            let problem = refused(name, there(&w, &x));
            if !problem.contains("tensors are on cpu") && !problem.contains("tensors are on mirror")
            {
                problems += &problem;
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
    assert_eq!(packed.as_le_bytes(), None);
    assert!(
        packed
            .clone()
            .detach()
            .to_dtype(DType::F32)
            .unwrap()
            .is_packed()
    );
    assert_eq!(
        packed.exp().unwrap_err().to_string(),
        "exp: the elements are packed as q4_0; get plain ones with `unpack`, or use an operation that reads this scheme"
    );
}
