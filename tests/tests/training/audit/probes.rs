//! The findings of gradients with respect to the input, and their cost.

use std::sync::{Arc, Mutex};

use module_nn::audit::{AuditReport, FindingKind};
use module_nn::prelude::*;
use module_nn::{Backward, Function, Gradients};

use super::support::{classes, cross_entropy_of, rows, trained};

/// The factors for whose gradients each pass asked a product.
type Log = Arc<Mutex<Vec<[bool; 2]>>>;

struct Product {
    factors: [Tensor; 2],
    log: Log,
}

impl Function for Product {
    fn name(&self) -> &'static str {
        "noted_product"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let asked = [0, 1].map(|i| ctx.needs(i));
        self.log.lock().unwrap().push(asked);
        let [x, scale] = &self.factors;
        let of_x = asked[0].then(|| ctx.grad().mul(scale)).transpose()?;
        let of_scale = asked[1]
            .then(|| ctx.grad().mul(x)?.sum_keepdim(0))
            .transpose()?;
        Ok([of_x, of_scale].into_iter().collect())
    }
}

/// Multiplies its input by a row.
#[derive(Module)]
struct Noting {
    scale: Parameter,
    head: Linear,
    #[module(skip)]
    log: Log,
}

impl Forward for Noting {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let scale = self.scale.tensor();
        let y = no_grad(|| x.mul(&scale))?;
        let y = y.record([&x, &scale], |_| Product {
            factors: [x.detach(), scale.detach()],
            log: self.log.clone(),
        });
        self.head.call(y)
    }
}

#[test]
fn each_call_costs_one_gradient_of_the_input_and_the_training_none() {
    let log = Log::default();
    let report = fork_rng(0, || {
        let model = Noting {
            scale: Parameter::new(rows(1, 6)?)?,
            head: Linear::new(6, 3)?,
            log: log.clone(),
        };
        trained(&model, cross_entropy_of)
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
    let (of_input, of_training) = ([true, false], [false, true]);
    let expected = [of_input, of_training, of_input, of_training];
    assert_eq!(*log.lock().unwrap(), expected);
}

/// Omits parts of its input, possibly different ones for each row.
#[derive(Module)]
struct Masked {
    mask: Buffer,
    head: Linear,
}

impl Forward for Masked {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(x.mul(self.mask.tensor())?)
    }
}

/// The positions that are reported as unused if each row omits some features.
fn masked(left_out: impl Fn(usize, usize) -> bool) -> AuditReport {
    masked_rows(16, left_out)
}

/// The same for this many rows.
fn masked_rows(count: usize, left_out: impl Fn(usize, usize) -> bool) -> AuditReport {
    let report = fork_rng(0, || {
        let mask = (0..count * 6).map(|i| f32::from(u8::from(!left_out(i / 6, i % 6))));
        let model = Masked {
            mask: Buffer::new(Tensor::from_vec(mask.collect(), [count, 6])?),
            head: Linear::new(6, 3)?,
        };
        trained(&model, |model| {
            let logits = model.call(rows(count, 6)?)?;
            CrossEntropyLoss::new().loss(&logits, &classes(count, 3)?)
        })
    });
    report.unwrap()
}

#[test]
fn what_rows_leave_out_by_chance_is_no_finding() {
    // Each row omits half of the features that others use, and all rows omit the third one. The probability that all rows
    // omit one of six by chance in both steps is high for two rows, 6/16, and low for six, 6/4096.
    let half = |row: usize, feature: usize| feature == 2 || (row + feature / 2).is_multiple_of(2);
    for (count, found) in [(2, 0), (4, 0), (6, 1)] {
        let report = masked_rows(count, half);
        let unused = report.of_kind(FindingKind::UnusedInput);
        assert_eq!(unused.count(), found, "{count} {report}");
    }
}

#[test]
fn what_any_row_uses_is_used() {
    // Each omits one feature, and half of them another half.
    let report = masked(|row, feature| row % 6 == feature);
    assert!(report.is_clean(), "{report}");
    let report = masked(|row, feature| row % 2 == feature % 2);
    assert!(report.is_clean(), "{report}");
    for (left_out, places) in [
        (&[2][..], "index 2"),
        (&[2, 3], "indices 2 to 3"),
        (&[1, 4], "2 indices from 1 to 4"),
    ] {
        let report = masked(|row, feature| row == 8 || left_out.contains(&feature));
        let found = report.of_kind(FindingKind::UnusedInput).next().unwrap();
        let expected = format!("no output depends on {places} of dimension 1 of its input");
        assert_eq!(found.message, expected, "{report}");
        assert_eq!(found.numbers["dimension"], 1.0);
        assert_eq!(found.numbers["indices"], left_out.len() as f64);
    }
}

#[test]
fn a_size_that_is_cropped_in_one_step_is_not_reported() {
    for sizes in [[8, 10], [10, 8]] {
        let report = fork_rng(0, || {
            let model = Sequential::new()
                .push(Conv2dConfig::new(1, 8, 4).stride(4).build()?)
                .push(Flatten::new())
                .push(Linear::new(32, 3)?);
            let mut sizes = sizes.into_iter();
            trained(&model, |model| {
                let size = sizes.next().unwrap_or(8);
                let images = Tensor::randn([8, 1, size, size], DType::F32)?;
                CrossEntropyLoss::new().loss(&model.call(images)?, &classes(8, 3)?)
            })
        });
        let report = report.unwrap();
        assert!(report.is_clean(), "{report}");
    }
}
