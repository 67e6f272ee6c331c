//! Creation and gradients.

use super::*;

#[test]
fn creation() {
    let cpu = Device::cpu();
    fuzz("full", |d| {
        Tensor::full(d.shape(), d.scalar(), (d.dtype(), &cpu))
    });
    fuzz("zeros", |d| Tensor::zeros(d.shape(), (d.dtype(), &cpu)));
    fuzz("ones", |d| Tensor::ones(d.shape(), (d.dtype(), &cpu)));
    fuzz("from_vec", |d| {
        Tensor::from_vec(vec![0.5_f32; d.below(7)], d.shape())
    });
    fuzz("rand", |d| Tensor::rand(d.shape(), d.dtype()));
    fuzz("randn", |d| Tensor::randn(d.shape(), d.dtype()));
    fuzz("uniform", |d| {
        let (low, high) = (d.number(), d.number());
        Tensor::uniform(d.shape(), low, high, d.dtype(), &Generator::new(0))
    });
    fuzz("normal", |d| {
        let (mean, std) = (d.number(), d.number());
        Tensor::normal(d.shape(), mean, std, d.dtype(), &Generator::new(0))
    });
    fuzz("randperm", |d| Tensor::randperm(d.size(), ()));
    fuzz("arange", |d| {
        let ends = [0, 1, -3, 5, i64::MIN, i64::MAX, 1 << 60];
        Tensor::arange(d.of(&ends), d.of(&ends), ())
    });
}

#[test]
fn gradients() {
    fuzz("backward_with", |d| {
        let x = d.tensor();
        let y = x.mul(&x)?;
        y.backward_with(&d.like(&y), BackwardOptions::default())
            .map(|()| y)
    });
    fuzz("grad", |d| {
        let x = d.tensor();
        let y = x.mul(d.like(&x))?;
        let y = if d.often() { y.sum(..)? } else { y };
        let other = d.like(&x);
        let options = BackwardOptions::new()
            .retain_graph(d.often())
            .create_graph(d.often());
        autograd::grad(&[&y], &[&x, &other][..d.below(3)], options).map(|_| y)
    });
}
