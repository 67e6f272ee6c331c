//! Sums in half precision.

use crate::DType;
use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::graph::Graph;
use crate::audit::kind::FindingKind;
use crate::audit::record::{Record, Step};

/// Finds losses that are summed one by one in half precision, and half-precision gradients that many passes of a step
/// accumulate.
pub(in crate::audit) struct PrecisionLoss;

/// How many terms are added before rounding matters: half the bits of BF16.
const TERMS: usize = 16;

impl Check for PrecisionLoss {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let losses = record.steps.iter().find_map(loss_in_half);
        findings.extend(losses.map(|(terms, dtype)| {
            Finding::warning(FindingKind::PrecisionLoss, "")
                .message(format!("the loss is a sum of {terms} terms, added one by one in {dtype}"))
                .cause("each addition rounds the sum so far, and small terms are lost")
                .cure("turn the terms into float32 before they are added, or stack them and take one sum")
                .number("terms", terms as f64)
        }));
        let passes = record.steps.iter().map(|step| step.adding_passes().count());
        let passes = passes.max().unwrap_or(0);
        let half = record
            .parameters
            .iter()
            .find(|known| is_half(known.parameter.dtype()));
        if let Some(known) = half.filter(|_| passes >= TERMS) {
            let dtype = known.parameter.dtype();
            let finding = Finding::warning(FindingKind::PrecisionLoss, &known.path)
                .message(format!("the gradients of {passes} backward passes are added in {dtype}"))
                .cause("each addition rounds the gradient so far, and small ones are lost")
                .cure("keep parameters in float32 and use `autocast`, or make fewer and larger batches")
                .number("passes", passes as f64);
            findings.push(finding);
        }
    }
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// How many terms were added for a half-precision loss, if there were enough.
fn loss_in_half(step: &Step) -> Option<(usize, DType)> {
    let mut half = step
        .losses
        .iter()
        .map(crate::Tensor::dtype)
        .filter(|&dtype| is_half(dtype));
    let dtype = half.next()?;
    let terms = step
        .adding_passes()
        .flat_map(|pass| &pass.roots)
        .map(|&root| terms(&step.graph, root))
        .max()?;
    (terms >= TERMS).then_some((terms, dtype))
}

/// The terms of the sum behind a node: the operands of additions, not how each of them was computed.
fn terms(graph: &Graph, root: u64) -> usize {
    let (mut open, mut additions) = (vec![root], 0);
    while let Some(node) = open.pop().and_then(|node| graph.get(node)) {
        match node.name {
            "add" | "sub" => additions += 1,
            // Operations that scale or cast a sum.
            "mul" | "div" | "neg" | "to_dtype" => {}
            _ => continue,
        }
        open.extend(&node.inputs);
    }
    additions + usize::from(additions > 0)
}
