//! An operation that saves its output is dropped with it.

use super::*;

/// Counts how many of it have been dropped; keeps the output, as `exp` does.
struct Counted {
    output: Tensor,
    dropped: &'static AtomicUsize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Function for Counted {
    fn name(&self) -> &'static str {
        "counted"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad().mul(ctx.output(&self.output))?;
        Ok([Some(grad)].into_iter().collect())
    }
}

#[test]
fn an_operation_that_saves_its_output_is_dropped_with_it() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    let x = leaf(&[0.5]);
    let counted = || {
        let value = no_grad(|| x.exp()).unwrap();
        value.record([&x], |y| Counted {
            output: y.clone(),
            dropped: &DROPPED,
        })
    };
    drop(counted());
    assert_eq!(DROPPED.load(Ordering::SeqCst), 1);
    // A pass frees it although the output is still there.
    let y = counted();
    total(&y).backward().unwrap();
    assert_eq!(DROPPED.load(Ordering::SeqCst), 2);
    // A recorded pass does not keep it either.
    let y = counted();
    let slope = grad(&[&total(&y)], &[&x], create()).unwrap();
    assert_eq!(DROPPED.load(Ordering::SeqCst), 2);
    drop((y, slope));
    assert_eq!(DROPPED.load(Ordering::SeqCst), 3);
}

#[test]
fn every_operation_that_saves_its_output_lets_go_of_it() {
    type Op = fn(&Tensor) -> Result<Tensor>;
    let ops: [(&str, Op); 9] = [
        ("exp", Tensor::exp),
        ("sqrt", Tensor::sqrt),
        ("reciprocal", Tensor::reciprocal),
        ("relu", Tensor::relu),
        ("sigmoid", Tensor::sigmoid),
        ("tanh", Tensor::tanh),
        ("softmax", |x| x.softmax(0)),
        ("log_softmax", |x| x.log_softmax(0)),
        ("amax", |x| x.amax(..)),
    ];
    for (name, op) in ops {
        let x = leaf(&[0.5, 1.5]);
        let y = op(&x).unwrap();
        let node: Weak<Node> = Arc::downgrade(&y.edge.as_ref().unwrap().node);
        drop(y);
        assert!(node.upgrade().is_none(), "{name}");
    }
}
