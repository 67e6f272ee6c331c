//! Many threads train one model.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::Barrier;

use module_nn::prelude::*;

const THREADS: usize = 64;
const STEPS: usize = 1000;
/// The rows of data that one thread uses per step.
const SHARE: usize = 2;

#[derive(Module)]
struct Net {
    hidden: Linear,
    head: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.hidden.call(x)?.tanh()?)
    }
}

fn net() -> Net {
    fork_rng(7, || {
        let net = Net {
            hidden: Linear::new(2, 4).unwrap(),
            head: Linear::new(4, 1).unwrap(),
        };
        net.double().unwrap();
        net
    })
}

fn data() -> (Tensor, Tensor) {
    let rows = THREADS * SHARE;
    let values = (0..2 * rows).map(|i| (i as f64 * 0.618_033_988_749_895).fract() * 2.0 - 1.0);
    let x = Tensor::from_vec(values.collect(), [rows, 2]).unwrap();
    let y = x.square().unwrap().sum_keepdim(1).unwrap();
    (x, y)
}

fn rows(x: &Tensor, first: usize, count: usize) -> Tensor {
    x.narrow(0, first..first + count).unwrap()
}

/// The sum of the squared errors, divided by the number of all rows.
fn loss(net: &Net, x: Tensor, y: Tensor) -> Tensor {
    let error = net.call(x).unwrap().sub(y).unwrap();
    let squares = error.square().unwrap().sum(..).unwrap();
    squares.mul(1.0 / (THREADS * SHARE) as f64).unwrap()
}

fn values(net: &Net) -> Vec<f64> {
    let values = net
        .parameters()
        .map(|p| p.detach().to_vec::<f64>().unwrap());
    values.flatten().collect()
}

#[test]
fn sixty_four_threads_train_the_same_model_as_one() {
    let (x, y) = data();
    let serial = net();
    let before = loss(&serial, x.clone(), y.clone()).item::<f64>().unwrap();
    let mut optimizer = SGD::new(&serial, 0.05).unwrap();
    for _ in 0..STEPS {
        serial.zero_grad();
        loss(&serial, x.clone(), y.clone()).backward().unwrap();
        optimizer.step(&serial).unwrap();
    }

    let shared = net();
    assert_ne!(values(&shared), values(&serial));
    let start = Barrier::new(THREADS);
    let end = Barrier::new(THREADS);
    let optimizer = std::sync::Mutex::new(SGD::new(&shared, 0.05).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (x, y) = (&x, &y);
            let (start, end, shared, optimizer) = (&start, &end, &shared, &optimizer);
            scope.spawn(move || {
                let first = thread * SHARE;
                let (x, y) = (rows(x, first, SHARE), rows(y, first, SHARE));
                for _ in 0..STEPS {
                    loss(shared, x.clone(), y.clone()).backward().unwrap();
                    // One thread steps when all gradients are there; none continues before that.
                    if start.wait().is_leader() {
                        optimizer.lock().unwrap().step(shared).unwrap();
                        shared.zero_grad();
                    }
                    end.wait();
                }
            });
        }
    });
    // Sums in a different order differ in the last digits, and training does not amplify that here.
    let (one, many) = (values(&serial), values(&shared));
    for (a, b) in one.iter().zip(&many) {
        assert!((a - b).abs() < 1e-9, "{a} and {b}");
    }
    let after = loss(&shared, x, y).item::<f64>().unwrap();
    assert!(after < 0.2 * before, "{before} before, {after} after");
}
