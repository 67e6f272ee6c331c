//! Hooks that run as soon as a leaf has its whole gradient.

use std::sync::Mutex;

use super::*;

type Log = Arc<Mutex<Vec<String>>>;

fn log(log: &Log, text: &str) {
    log.lock().unwrap().push(text.to_owned());
}

#[test]
fn it_runs_once_after_the_last_contribution_and_before_the_pass_goes_on() -> Result<()> {
    let (first, last) = (leaf(&[2.0]), leaf(&[3.0]));
    let seen = Log::default();
    let watch = |x: &Tensor, name: &'static str| {
        let seen = seen.clone();
        x.register_post_accumulate_grad_hook(move |x| {
            log(
                &seen,
                &format!("{name} {}", x.grad().unwrap().item::<f64>()?),
            );
            Ok(())
        })
    };
    let _hooks = [watch(&first, "first")?, watch(&last, "last")?];
    let early = first.mul(&first)?;
    let between = seen.clone();
    let _between = early.register_hook(move |_| {
        log(&between, "between");
        Ok(None)
    })?;
    // `last` is used twice, both times after `early`.
    let y = early.mul(&last)?.mul(&last)?;
    y.sum(..)?.backward()?;
    // d/d last = 2 · 4 · 3, d/d first = 2 · 2 · 9
    assert_eq!(*seen.lock().unwrap(), ["last 24", "between", "first 36"]);
    Ok(())
}

#[test]
fn it_gets_the_accumulated_gradient_after_the_hooks_of_the_tensor() -> Result<()> {
    let x = leaf(&[1.0]);
    let _scale = x.register_hook(|grad| grad.mul(10.0).map(Some))?;
    let seen = Log::default();
    let kept = seen.clone();
    let hook = x.register_post_accumulate_grad_hook(move |x| {
        log(&kept, &x.grad().unwrap().item::<f64>()?.to_string());
        Ok(())
    })?;
    x.mul(2.0)?.sum(..)?.backward()?;
    x.mul(3.0)?.sum(..)?.backward()?;
    // A leaf can be where the pass starts.
    x.backward()?;
    hook.remove();
    x.mul(3.0)?.sum(..)?.backward()?;
    assert_eq!(*seen.lock().unwrap(), ["20", "50", "60"]);
    Ok(())
}

#[test]
fn a_gradient_that_is_only_asked_for_calls_none() -> Result<()> {
    let x = leaf(&[1.0]);
    let _hook = x.register_post_accumulate_grad_hook(|_| Err(Error::custom("must not run")))?;
    let y = x.mul(2.0)?.sum(..)?;
    assert!(grad(&[&y], &[&x], BackwardOptions::default())?[0].is_some());
    assert!(x.grad().is_none());
    Ok(())
}

#[test]
fn contributions_that_never_come_do_not_keep_it_from_running() -> Result<()> {
    // That of the operation is none.
    let x = leaf(&[2.0]);
    let seen = Log::default();
    let kept = seen.clone();
    let _hook = x.register_post_accumulate_grad_hook(move |x| {
        log(&kept, &x.grad().unwrap().item::<f64>()?.to_string());
        Ok(())
    })?;
    let outputs = no_grad(|| Ok::<_, Error>(vec![x.mul(2.0)?, x.mul(3.0)?]))?;
    let outputs = Tensor::record_outputs(outputs, [&x], |_| NoneForTheFirst);
    outputs[0].mul(&x)?.sum(..)?.backward()?;
    assert_eq!(*seen.lock().unwrap(), ["4"]);
    Ok(())
}

/// An operation whose gradient is none.
struct NoneForTheFirst;

impl Function for NoneForTheFirst {
    fn name(&self) -> &'static str {
        "none"
    }

    fn backward(&self, _: &Backward) -> Result<Gradients> {
        Ok([None].into_iter().collect())
    }
}

#[test]
fn its_error_names_the_line_that_registered_it() {
    let x = leaf(&[1.0]);
    let refused = x
        .mul(2.0)
        .unwrap()
        .register_post_accumulate_grad_hook(|_| Ok(()));
    assert!(refused.unwrap_err().to_string().contains("is not a leaf"));
    let untracked = x.detach().register_post_accumulate_grad_hook(|_| Ok(()));
    assert!(matches!(
        untracked.unwrap_err().kind(),
        ErrorKind::Autograd(AutogradError::Untracked { .. })
    ));
    let _hook = x
        .register_post_accumulate_grad_hook(|_| Err(Error::custom("no step")))
        .unwrap();
    let error = x.mul(2.0).unwrap().sum(..).unwrap().backward().unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("post_accumulate.rs") && text.contains("no step"),
        "{text}"
    );
    // The gradient had been accumulated before.
    assert_eq!(x.grad().unwrap().item::<f64>().unwrap(), 2.0);
}
