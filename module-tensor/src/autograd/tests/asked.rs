//! What a pass computes, and what it leaves out because nobody asks for it.

use std::sync::Mutex;

use super::*;

/// Which gradients were asked for, of each pass through a [`Sum`].
type Log = Arc<Mutex<Vec<[bool; 2]>>>;

/// The sum of two tensors, which notes what is asked of it.
struct Sum(Log);

impl Function for Sum {
    fn name(&self) -> &'static str {
        "sum_of_two"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let asked = [0, 1].map(|i| ctx.needs(i));
        self.0.lock().unwrap().push(asked);
        let grads = asked.map(|asked| asked.then(|| ctx.grad().clone()));
        Ok(grads.into_iter().collect())
    }
}

fn sum(a: &Tensor, b: &Tensor) -> Result<(Tensor, Log)> {
    let log = Log::default();
    let value = no_grad(|| a.add(b))?;
    Ok((value.record([a, b], |_| Sum(log.clone())), log))
}

fn take(log: &Log) -> Vec<[bool; 2]> {
    std::mem::take(&mut *log.lock().unwrap())
}

#[test]
fn only_gradients_on_the_way_to_the_inputs_are_computed() -> Result<()> {
    let (x, y) = (leaf(&[2.0]), leaf(&[3.0]));
    let squared = x.mul(&x)?;
    let (z, log) = sum(&squared, &y)?;
    let of = |inputs: &[&Tensor]| grad(&[&total(&z)], inputs, retain());
    let values = |grads: Vec<Option<Tensor>>| -> Result<Vec<f64>> {
        let grads = grads.into_iter().flatten();
        grads.map(|grad| grad.item::<f64>()).collect()
    };
    assert_eq!(values(of(&[&x])?)?, [4.0]);
    assert_eq!(values(of(&[&squared])?)?, [1.0]);
    assert_eq!(values(of(&[&y])?)?, [1.0]);
    assert_eq!(values(of(&[&y, &x])?)?, [1.0, 4.0]);
    assert_eq!(
        take(&log),
        [[true, false], [true, false], [false, true], [true, true]]
    );
    // With a gradient that is kept on the way, and for all leaves.
    squared.retain_grad()?;
    of(&[&y])?;
    total(&z).backward_with(&Tensor::from(1.0_f64), retain())?;
    assert_eq!(take(&log), [[false, true], [true, true]]);
    Ok(())
}

#[test]
fn a_leaf_that_collects_nothing_is_not_asked_for() -> Result<()> {
    let (x, leaf) = (Tensor::from([2.0_f64]), crate::Leaf::new());
    let (z, log) = sum(&leaf.track(&x), &leaf.track(&x))?;
    let pass = || total(&z).backward_with(&Tensor::from(1.0_f64), retain());
    leaf.set_requires_grad(false);
    pass()?;
    assert!(leaf.grad().is_none());
    // A hook wants to see it, whether it is kept or not.
    let tracked = leaf.track(&x);
    let hook = tracked.register_hook(|_| Ok(None))?;
    pass()?;
    drop(hook);
    leaf.set_requires_grad(true);
    pass()?;
    assert_eq!(take(&log), [[false; 2], [true; 2], [true; 2]]);
    assert_eq!(leaf.grad().unwrap().item::<f64>()?, 2.0);
    Ok(())
}

#[test]
fn products_and_convolutions_compute_only_requested_gradients() -> Result<()> {
    let tracked = |shape: &[usize]| Tensor::randn(shape, DType::F64)?.with_grad();
    let (x, w, k) = (
        tracked(&[3, 4])?,
        tracked(&[4, 4])?,
        tracked(&[1, 1, 2, 2])?,
    );
    let outputs = [
        (x.linear(&w, None)?, &w),
        (x.matmul(&w)?, &w),
        (x.mul(w.narrow(0, 0..3)?)?, &w),
        (x.div(w.narrow(0, 0..3)?)?, &w),
        (x.reshape([1, 1, 3, 4])?.conv2d(&k, Default::default())?, &k),
    ];
    for (y, other) in &outputs {
        let each = [&x, *other].map(|input| grad(&[&total(y)], &[input], retain()));
        let both = grad(&[&total(y)], &[&x, other], retain())?;
        for (one, both) in each.into_iter().zip(both) {
            let (one, both) = (one?.remove(0).unwrap(), both.unwrap());
            assert!(one.equal(&both)?);
        }
    }
    Ok(())
}
