//! Steps of optimizers.

use super::fuzz;
use module_core::fused::{AdamWMoments, AdamWStep, adamw_step};

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
        adamw_step(&x, &grad, &mut moments, &step)
    });
}
