//! Steps of optimizers.

use super::fuzz;
use module_core::fused::{AdamWMoments, AdamWStep, SGDStep, adamw_step, sgd_step};

#[test]
fn steps() {
    fuzz("adamw_step", |d| {
        let x = d.maybe_huge();
        let like = |d: &mut super::Draw| if d.often() { x.clone() } else { d.like(&x) };
        let grad = like(d);
        let mut moments = AdamWMoments {
            exp_avg: like(d),
            exp_avg_sq: like(d),
            max_exp_avg_sq: if d.often() { None } else { Some(like(d)) },
        };
        let step = AdamWStep {
            lr: d.number(),
            betas: (d.number(), d.number()),
            eps: d.number(),
            weight_decay: d.number(),
            maximize: d.often(),
            step: d.size() as u64,
        };
        let mut x = x.clone();
        adamw_step(&mut x, &grad, &mut moments, &step)?;
        Ok(x)
    });
    fuzz("sgd_step", |d| {
        let mut x = d.maybe_huge();
        let like = |d: &mut super::Draw| if d.often() { x.clone() } else { d.like(&x) };
        let grad = like(d);
        let mut buffer = if d.often() { Some(like(d)) } else { None };
        let step = SGDStep {
            lr: d.number(),
            momentum: d.number(),
            dampening: d.number(),
            weight_decay: d.number(),
            nesterov: d.often(),
            maximize: d.often(),
        };
        sgd_step(&mut x, &grad, &mut buffer, &step)?;
        Ok(x)
    });
}
