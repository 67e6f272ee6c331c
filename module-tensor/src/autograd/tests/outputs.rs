//! Operations with several outputs.

use std::collections::BTreeSet;

use super::*;

/// The double and the square of a vector; counts how often its gradient is asked for.
struct Both {
    x: Tensor,
    runs: Arc<AtomicUsize>,
}

impl Function for Both {
    fn name(&self) -> &'static str {
        "both"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let double = ctx.grad_of(0).map(|grad| grad.mul(2.0)).transpose()?;
        let square = ctx.grad_of(1).map(|grad| grad.mul(&self.x)?.mul(2.0));
        let square = square.transpose()?;
        assert!(ctx.grad_of(2).is_none() && ctx.grad_of(9).is_none());
        let sum = match (double, square) {
            (Some(a), Some(b)) => Some(a.add(&b)?),
            (a, b) => a.or(b),
        };
        Ok([sum].into_iter().collect())
    }
}

fn both(x: &Tensor) -> ([Tensor; 3], Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let outputs = no_grad(|| {
        let positions = Tensor::from([0_i64, 1]);
        Ok::<_, Error>([x.mul(2.0)?, x.mul(x)?, positions])
    });
    let outputs = Tensor::record_outputs(outputs.unwrap(), [x], |_| Both {
        x: x.clone(),
        runs: runs.clone(),
    });
    (outputs, runs)
}

fn values(x: &Tensor) -> Vec<f64> {
    x.grad().unwrap().to_vec().unwrap()
}

#[test]
fn a_function_is_asked_once_for_the_gradients_of_all_outputs() -> Result<()> {
    let x = leaf(&[3.0, 5.0]);
    let ([double, square, positions], runs) = both(&x);
    assert!(!positions.requires_grad());
    double.add(&square)?.sum(..)?.backward()?;
    assert_eq!(values(&x), [8.0, 12.0]);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn outputs_that_nothing_used_have_no_gradient() -> Result<()> {
    for (used, want) in [(0, [2.0, 2.0]), (1, [6.0, 10.0])] {
        let x = leaf(&[3.0, 5.0]);
        both(&x).0[used].sum(..)?.backward()?;
        assert_eq!(values(&x), want);
    }
    Ok(())
}

#[test]
fn each_output_has_its_own_hooks_and_keeps_its_own_gradient() -> Result<()> {
    let x = leaf(&[3.0, 5.0]);
    let ([double, square, _], _) = both(&x);
    let _hook = square.register_hook(|grad| grad.mul(10.0).map(Some))?;
    double.retain_grad()?;
    square.retain_grad()?;
    assert!(double.retains_grad());
    double.mul(4.0)?.add(&square)?.sum(..)?.backward()?;
    assert_eq!(
        (values(&double), values(&square)),
        (vec![4.0; 2], vec![10.0; 2])
    );
    assert_eq!(values(&x), [8.0 + 60.0, 8.0 + 100.0]);
    Ok(())
}

#[test]
fn gradients_can_be_asked_for_at_one_of_the_outputs() -> Result<()> {
    let x = leaf(&[3.0, 5.0]);
    let ([double, square, _], runs) = both(&x);
    let y = double.mul(&square)?.sum(..)?;
    let keep = BackwardOptions::new().retain_graph(true);
    let grads = grad(&[&y], &[&square, &double], keep)?;
    let grads: Vec<Vec<f64>> = grads
        .iter()
        .map(|grad| grad.as_ref().unwrap().to_vec().unwrap())
        .collect();
    assert_eq!(grads, [[6.0, 10.0], [9.0, 25.0]]);
    // The operation itself does not lie between them.
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert!(grad(&[&double.sum(..)?], &[&square], keep)?[0].is_none());
    Ok(())
}

type Cut = fn(&Tensor) -> Result<Vec<Tensor>>;

#[test]
fn parts_are_one_operation_whose_gradient_has_second_derivatives() -> Result<()> {
    let x = Tensor::from([[1.0_f64, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let ops: [Cut; 4] = [
        |x| x.split(2, 1),
        |x| x.split_with_sizes([1, 0, 2], -1),
        |x| x.unbind(1),
        |x| x.chunk(2, 0),
    ];
    for op in ops {
        let leaf = x.with_grad()?;
        let parts = op(&leaf)?;
        let nodes = parts.iter().map(|part| part.graph_node().unwrap());
        assert_eq!(
            nodes.map(|node| node.id()).collect::<BTreeSet<_>>().len(),
            1
        );
        for used in 0..parts.len() {
            let f = |x: &[Tensor]| {
                let part = &op(&x[0])?[used];
                part.mul(part)?.mul(part)?.sum(..)
            };
            gradcheck(f, std::slice::from_ref(&x))?;
            gradgradcheck(f, std::slice::from_ref(&x))?;
        }
        let all = |x: &[Tensor]| {
            let parts = op(&x[0])?;
            let sums = parts.iter().map(|part| part.mul(part)?.sum(..));
            Tensor::stack(&sums.collect::<Result<Vec<_>>>()?, 0)
        };
        gradcheck(all, std::slice::from_ref(&x))?;
    }
    Ok(())
}
