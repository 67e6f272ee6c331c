use std::collections::BTreeMap;
use std::sync::Arc;

use super::BackwardOptions;
use crate::tensor::{Backward, Node, NodeKind, Tensor, with_grad_mode};
use crate::{ErrorKind, Result};

/// Runs a gradient from `root` to every leaf.
///
/// Nodes are visited by falling order of creation, in a loop: when a node's turn comes, every
/// node that could still add to its gradient has had its own. Leaves are written at the end, so
/// that a pass that fails changes none.
pub(super) fn run(root: &Arc<Node>, grad: &Tensor, options: BackwardOptions) -> Result<()> {
    let keep = options.retain_graph || options.create_graph;
    let mut pending: BTreeMap<u64, (Arc<Node>, Tensor)> = BTreeMap::new();
    let mut leaves: Vec<(Arc<Node>, Tensor)> = Vec::new();
    with_grad_mode(options.create_graph, || {
        pending.insert(root.order, (root.clone(), grad.clone()));
        while let Some((_, (node, grad))) = pending.pop_last() {
            let NodeKind::Op(op) = &node.kind else {
                leaves.push((node, grad));
                continue;
            };
            let function = {
                let mut slot = crate::tensor::lock(&op.function);
                // Taken at once, so that its saved tensors are freed as the pass goes on.
                if keep { slot.clone() } else { slot.take() }
            };
            let function = function.ok_or(ErrorKind::GraphFreed { op: op.name })?;
            let ctx = Backward::new(grad, node.clone());
            let grads = function.backward(&ctx)?;
            if grads.len() != op.inputs.len() {
                let (expected, got) = (op.inputs.len(), grads.len());
                return Err(ErrorKind::GradientCount {
                    op: op.name,
                    expected,
                    got,
                }
                .into());
            }
            for (input, grad) in op.inputs.iter().zip(grads) {
                let (Some(input), Some(grad)) = (input, grad) else {
                    continue;
                };
                let total = match pending.remove(&input.order) {
                    Some((_, sum)) => sum.add(&grad)?,
                    None => grad,
                };
                pending.insert(input.order, (input.clone(), total));
            }
        }
        // Whatever could keep a gradient from being added is found before the first one is.
        for (leaf, grad) in &leaves {
            if let Some(before) = leaf.grad() {
                before.check_same("backward", grad)?;
                before.shape().broadcast("backward", grad.shape())?;
            }
        }
        leaves
            .iter()
            .try_for_each(|(leaf, grad)| leaf.accumulate(grad))
    })
}
