//! Rows of a batch that depend on each other.

use module_nn::audit::{Audit, AuditReport, FindingKind};
use module_nn::prelude::*;

use super::support::{cross_entropy_of, rows, shows, trained, trained_by};

const KIND: FindingKind = FindingKind::BatchLeak;

/// Subtracts the mean over a dimension, possibly the wrong one.
#[derive(Module)]
struct Over {
    scale: Parameter,
    #[module(skip)]
    dim: isize,
}

impl Over {
    fn new(features: usize, dim: isize) -> Result<Self> {
        Ok(Self {
            scale: Parameter::new(rows(1, features)?)?,
            dim,
        })
    }
}

impl Forward for Over {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = x.sub(&x.mean_keepdim(self.dim)?)?;
        x.mul(self.scale.tensor())
    }
}

#[derive(Module)]
struct Normalizing {
    hidden: Linear,
    norm: Over,
    head: Linear,
}

impl Forward for Normalizing {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.norm.call(self.hidden.call(x)?)?;
        self.head.call(x.tanh()?)
    }
}

#[test]
fn rows_that_leak_into_others() {
    shows(KIND, "norm", |bug| {
        let model = Normalizing {
            hidden: Linear::new(6, 16)?,
            norm: Over::new(16, if bug { 0 } else { -1 })?,
            head: Linear::new(16, 3)?,
        };
        // In the third step, the module is seen again.
        let audit = Audit::new(&model).steps(3);
        let report = trained_by(audit, &model, cross_entropy_of)?;
        for finding in report.of_kind(KIND) {
            let [row, other] = ["row", "other"].map(|name| finding.numbers[name]);
            assert!(row == 8.0 && other != 8.0, "{finding:?}");
            let expected = format!("row {row} of its output depends on row {other} of its input");
            assert_eq!(finding.message, expected);
        }
        Ok(report)
    });
}

/// Words that attend to each other, and a class for each sentence or each word.
#[derive(Module)]
struct Sentences {
    words: Embedding,
    attention: MultiheadAttention,
    head: Linear,
    #[module(skip)]
    of_each_word: bool,
}

impl Sentences {
    fn new(batch_first: bool, of_each_word: bool) -> Result<Self> {
        Ok(Self {
            words: Embedding::new(20, 8)?,
            attention: MultiheadAttentionConfig::new(8, 2)
                .batch_first(batch_first)
                .build()?,
            head: Linear::new(8, 3)?,
            of_each_word,
        })
    }
}

impl Forward for Sentences {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.words.call(x)?.mul(1.0)?;
        let (x, _) = self.attention.call((x.clone(), x.clone(), x))?;
        let x = if self.of_each_word { x } else { x.mean(1)? };
        self.head.call(x)
    }
}

/// The loss of six sentences of five words.
fn loss_of(model: &Sentences) -> Result<Tensor> {
    let logits = model.call(Tensor::randint(0, 20, [6, 5], DType::I64)?)?;
    let logits = logits.reshape([-1, 3])?;
    let target = Tensor::arange(0, logits.size(0)? as i64, DType::I64)?;
    CrossEntropyLoss::new().loss(&logits, &target.remainder(3_i64)?)
}

#[test]
fn sentences_that_attend_to_others() {
    // By default, PyTorch has the time dimension first.
    shows(KIND, "attention", |bug| {
        trained(&Sentences::new(!bug, false)?, loss_of)
    });
}

#[test]
fn sentences_that_attend_to_others_with_a_class_for_each_word() {
    // A model with the time dimension first would do the same, so the batch dimension must be declared.
    let audited = |batch_first: bool, dim: usize| {
        let model = Sentences::new(batch_first, true)?;
        trained_by(Audit::new(&model).batch_dim(dim), &model, loss_of)
    };
    shows(KIND, "attention", |bug| audited(!bug, 0));
    shows(KIND, "attention", |bug| audited(bug, 1));
}

/// A recurrent network with the time dimension first, with a vector for each element or for each row.
#[derive(Module)]
struct TimeFirst {
    layer: LSTM,
    norm: Over,
    head: Linear,
    #[module(skip)]
    last: bool,
}

/// As long as the batch size, so that the sizes do not distinguish the dimensions.
fn time_first(bug: bool, last: bool, batch_dim: Option<usize>) -> Result<AuditReport> {
    let model = TimeFirst {
        layer: LSTM::new(5, 16)?,
        norm: Over::new(16, if bug { 1 } else { -1 })?,
        head: Linear::new(16, 3)?,
        last,
    };
    let audit = Audit::new(&model);
    let audit = match batch_dim {
        Some(dim) => audit.batch_dim(dim),
        None => audit,
    };
    trained_by(audit, &model, |model| {
        let logits = model.call(Tensor::randn([6, 6, 5], DType::F32)?)?;
        logits.square()?.mean(..)
    })
}

impl Forward for TimeFirst {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let (x, _) = self.layer.call(x)?;
        let x = self.norm.call(x)?;
        let x = if self.last { x.select(0, -1)? } else { x };
        self.head.call(x)
    }
}

#[test]
fn rows_that_leak_where_the_time_is_first() {
    for last in [false, true] {
        shows(KIND, "norm", |bug| time_first(bug, last, Some(1)));
        let undeclared = fork_rng(0, || time_first(false, last, None)).unwrap();
        assert!(undeclared.is_clean(), "{undeclared}");
    }
}

/// A batch-first network around a layer with the time dimension first.
#[derive(Module)]
struct Turning {
    layer: LSTM,
    norm: Over,
    head: Linear,
}

impl Forward for Turning {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let (x, _) = self.layer.call(x.transpose(0, 1)?)?;
        let x = self.norm.call(x.transpose(0, 1)?)?;
        self.head.call(x.select(1, -1)?)
    }
}

#[test]
fn a_part_that_has_the_time_first_is_not_blamed_for_another() {
    let audited = |bug: bool| {
        let model = Turning {
            layer: LSTM::new(5, 16)?,
            norm: Over::new(16, if bug { 0 } else { -1 })?,
            head: Linear::new(16, 3)?,
        };
        trained(&model, |model| {
            let logits = model.call(Tensor::randn([6, 4, 5], DType::F32)?)?;
            logits.square()?.mean(..)
        })
    };
    shows(KIND, "norm", audited);
    let report = fork_rng(0, || audited(true)).unwrap();
    assert_eq!(report.of_kind(KIND).count(), 1, "{report}");
}
