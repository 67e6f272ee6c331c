//! Scenarios with hooks on tensors log the same as in PyTorch; `golden/gradient_hooks.py` defines them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use module_nn::autograd::grad;
use module_nn::{BackwardOptions, GradHookHandle, Result, Tensor, is_grad_enabled};
use module_tests::golden;
use serde_json::Value;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    /// A hook on `x` that logs what it sees and returns the result of `change` for it.
    fn change(
        &self,
        x: &Tensor,
        name: &str,
        change: impl Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> Result<GradHookHandle> {
        let (log, name) = (self.clone(), name.to_owned());
        x.register_hook(move |grad| {
            log.write(format!("{name} {}", grad.item::<f64>()?));
            change(grad)
        })
    }

    fn see(&self, x: &Tensor, name: &str) -> Result<GradHookHandle> {
        self.change(x, name, |_| Ok(None))
    }

    fn kept(&self, name: &str, x: &Tensor) -> Result<()> {
        let grad = x.grad().map(|grad| grad.item::<f64>()).transpose()?;
        let grad = grad.map_or("none".to_owned(), |grad| grad.to_string());
        self.write(format!("{name}.grad {grad}"));
        Ok(())
    }
}

fn leaf(value: f64) -> Tensor {
    Tensor::from(value).with_grad().unwrap()
}

fn retain() -> BackwardOptions {
    BackwardOptions::new().retain_graph(true)
}

fn create() -> BackwardOptions {
    BackwardOptions::new().create_graph(true)
}

fn again(y: &Tensor, options: BackwardOptions) -> Result<()> {
    y.backward_with(&y.ones_like()?, options)
}

fn grad_of(y: &Tensor, x: &Tensor, options: BackwardOptions) -> Result<Tensor> {
    Ok(grad(&[y], &[x], options)?.remove(0).expect("a gradient"))
}

fn order_of_registration(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let h = x.mul(3.0)?;
    for (name, tensor) in [
        ("x first", &x),
        ("h first", &h),
        ("x second", &x),
        ("h second", &h),
    ] {
        log.see(tensor, name)?.keep();
    }
    h.mul(5.0)?.backward()
}

fn replaced_one_after_the_other(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let h = x.mul(3.0)?;
    let _hooks = [
        log.change(&h, "h times 10", |g| g.mul(10.0).map(Some))?,
        log.see(&h, "h sees")?,
        log.change(&h, "h plus 1", |g| g.add(1.0).map(Some))?,
        log.change(&x, "x negated", |g| g.neg().map(Some))?,
        log.see(&x, "x sees")?,
    ];
    h.mul(5.0)?.backward()?;
    log.kept("x", &x)
}

fn complete_before_it_is_seen(log: &Log) -> Result<()> {
    let x = leaf(3.0);
    let a = x.mul(&x)?;
    let _hooks = [log.see(&a, "a")?, log.see(&x, "x")?];
    a.mul(2.0)?.add(a.neg()?.mul(&x)?)?.backward()?;
    log.kept("x", &x)
}

fn leaf_before_it_accumulates(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let _hook = log.change(&x, "x", |g| g.mul(2.0).map(Some))?;
    x.mul(3.0)?.backward()?;
    x.mul(5.0)?.backward()?;
    log.kept("x", &x)
}

fn root(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let y = x.mul(3.0)?;
    let _hook = log.change(&y, "y", |g| g.mul(7.0).map(Some))?;
    y.backward()?;
    log.kept("x", &x)
}

fn removed(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let (first, second) = (log.see(&x, "first")?, log.see(&x, "second")?);
    let y = x.mul(3.0)?;
    first.remove();
    again(&y, retain())?;
    drop(second);
    y.backward()?;
    log.kept("x", &x)
}

fn removed_while_they_run(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let second: Arc<Mutex<Option<GradHookHandle>>> = Arc::default();
    let (lines, handle) = (log.clone(), second.clone());
    let _first = x.register_hook(move |_| {
        lines.write("removes the second");
        drop(handle.lock().unwrap().take());
        Ok(None)
    })?;
    *second.lock().unwrap() = Some(log.see(&x, "second")?);
    let y = x.mul(3.0)?;
    again(&y, retain())?;
    y.backward()
}

fn registered_after_forward(log: &Log) -> Result<()> {
    let h = leaf(2.0).mul(3.0)?;
    let y = h.mul(5.0)?;
    let _hook = log.see(&h, "h")?;
    y.backward()
}

fn not_on_the_way(log: &Log) -> Result<()> {
    let (x, w) = (leaf(2.0), leaf(7.0));
    let h = x.mul(&w)?;
    let _hooks = [log.see(&x, "x")?, log.see(&w, "w")?, log.see(&h, "h")?];
    let grad = grad_of(&h.mul(5.0)?, &x, BackwardOptions::default())?;
    log.write(format!("grad {}", grad.item::<f64>()?));
    log.kept("x", &x)
}

fn of_an_intermediate(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let h = x.mul(3.0)?;
    let _hooks = [
        log.change(&h, "h", |g| g.mul(10.0).map(Some))?,
        log.see(&x, "x")?,
    ];
    let grad = grad_of(&h.mul(5.0)?, &h, BackwardOptions::default())?;
    log.write(format!("grad {}", grad.item::<f64>()?));
    Ok(())
}

fn leaf_of_grad(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let _hook = log.change(&x, "x", |g| g.add(1.0).map(Some))?;
    let grad = grad_of(&x.mul(5.0)?, &x, BackwardOptions::default())?;
    log.write(format!("grad {}", grad.item::<f64>()?));
    log.kept("x", &x)
}

fn second_derivative(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let h = x.mul(&x)?;
    let _hook = log.change(&h, "h", |g| g.mul(g).map(Some))?;
    let slope = grad_of(&h.mul(&h)?, &x, create())?;
    log.write(format!("slope {}", slope.item::<f64>()?));
    slope.backward()?;
    log.kept("x", &x)
}

fn grad_mode(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let lines = log.clone();
    let _hook = x.register_hook(move |g| {
        lines.write(format!("{} {}", is_grad_enabled(), g.requires_grad()));
        Ok(None)
    })?;
    let y = x.mul(&x)?;
    again(&y, retain())?;
    again(&y, create())
}

fn retained(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let h = x.mul(3.0)?;
    h.retain_grad()?;
    log.write(format!("retains {} {}", h.retains_grad(), x.retains_grad()));
    let _hook = log.change(&h, "h", |g| g.mul(10.0).map(Some))?;
    let y = h.mul(&h)?;
    again(&y, retain())?;
    log.kept("h", &h)?;
    again(&y, retain())?;
    log.kept("h", &h)?;
    grad_of(&y, &x, BackwardOptions::default())?;
    log.kept("h", &h)?;
    log.kept("x", &x)
}

fn not_retained(log: &Log) -> Result<()> {
    let x = leaf(2.0);
    let h = x.mul(3.0)?;
    h.mul(&h)?.backward()?;
    assert!(h.grad().is_none());
    log.kept("x", &x)?;
    log.write(format!("retains {}", h.retains_grad()));
    Ok(())
}

type Scenario = fn(&Log) -> Result<()>;

const SCENARIOS: [(&str, Scenario); 15] = [
    ("order_of_registration", order_of_registration),
    ("replaced_one_after_the_other", replaced_one_after_the_other),
    ("complete_before_it_is_seen", complete_before_it_is_seen),
    ("leaf_before_it_accumulates", leaf_before_it_accumulates),
    ("root", root),
    ("removed", removed),
    ("removed_while_they_run", removed_while_they_run),
    ("registered_after_forward", registered_after_forward),
    ("not_on_the_way", not_on_the_way),
    ("of_an_intermediate", of_an_intermediate),
    ("leaf_of_grad", leaf_of_grad),
    ("second_derivative", second_derivative),
    ("grad_mode", grad_mode),
    ("retained", retained),
    ("not_retained", not_retained),
];

#[test]
fn hooks_on_tensors_run_in_the_order_of_pytorch() {
    let text = std::fs::read_to_string(golden::path("gradient_hooks.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let cases = recorded["cases"].as_array().expect("scenarios");
    assert_eq!(cases.len(), SCENARIOS.len());
    let mut failures = Vec::new();
    for case in cases {
        let name = case["name"].as_str().expect("a name");
        let (_, scenario) = SCENARIOS
            .iter()
            .find(|(known, _)| *known == name)
            .expect(name);
        let log = Log::default();
        scenario(&log).unwrap();
        let lines = Value::from(std::mem::take(&mut *log.0.lock().unwrap()));
        if lines != case["log"] {
            failures.push(format!("{name}: {lines}\ninstead of {}", case["log"]));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
