//! Five networks that train without an error but do not learn properly, and the audit's findings for each.
//!
//! ```text
//! cargo run --release --example audit
//! ```

use module_nn::audit::{Audit, AuditReport, FindingKind, Severity};
use module_nn::prelude::*;

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// The hidden layers' output is not used.
    Discards,
    /// The graph is detached before the head.
    Detaches,
    /// The output is probabilities, but the loss expects logits.
    DoubleSoftmax,
    /// Gradients accumulate over all steps.
    KeepsGradients,
    /// The model was evaluated before.
    StaysInEval,
}

#[derive(Module)]
struct Net {
    hidden: Linear,
    norm: BatchNorm1d,
    head: Linear,
    #[module(skip)]
    mistake: Mistake,
}

impl Net {
    fn new(mistake: Mistake) -> Result<Self> {
        Ok(Self {
            hidden: Linear::new(16, 16)?,
            norm: BatchNorm1d::new(16)?,
            head: Linear::new(16, 4)?,
            mistake,
        })
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let hidden = self.norm.call(self.hidden.call(x.clone())?)?.relu()?;
        let logits = match self.mistake {
            Mistake::Discards => self.head.call(x)?,
            Mistake::Detaches => self.head.call(hidden.detach())?,
            _ => self.head.call(hidden)?,
        };
        match self.mistake {
            Mistake::DoubleSoftmax => logits.softmax(1),
            _ => Ok(logits),
        }
    }
}

/// Trains two steps under the audit.
fn audit(mistake: Mistake) -> Result<AuditReport> {
    let net = Net::new(mistake)?;
    let mut optimizer = SGD::new(&net, 0.1)?;
    let x = Tensor::randn([64, 16], DType::F32)?;
    let labels = Tensor::randint(0, 4, [64], DType::I64)?;
    net.eval();
    if mistake != Mistake::StaysInEval {
        net.train();
    }
    Audit::new(&net).optimizer(&optimizer).run(|_step| {
        if mistake != Mistake::KeepsGradients {
            net.zero_grad();
        }
        let logits = net.call(x.clone())?;
        let loss = CrossEntropyLoss::new().loss(&logits, &labels)?;
        loss.backward()?;
        optimizer.step(&net)?;
        Ok(loss)
    })
}

fn main() -> Result<()> {
    manual_seed(0);
    let mistakes = [
        (Mistake::Discards, FindingKind::UnreachedParameter),
        (Mistake::Detaches, FindingKind::CutGraph),
        (Mistake::DoubleSoftmax, FindingKind::DoubleSoftmax),
        (Mistake::KeepsGradients, FindingKind::StaleGradient),
        (Mistake::StaysInEval, FindingKind::EvalModeTraining),
    ];
    for (mistake, kind) in mistakes {
        let report = audit(mistake)?;
        println!("{report}");
        // In continuous integration, `report.deny(Severity::Error)?` is enough.
        assert!(report.of_kind(kind).count() > 0 && report.deny(Severity::Error).is_err());
    }
    let report = audit(Mistake::None)?;
    println!("{report}");
    report.deny(Severity::Note)
}
