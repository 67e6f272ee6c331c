use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;

use super::BackwardOptions;
use crate::tensor::{Backward, Input, Node, NodeKind, Op, Tensor, lock, with_grad_mode};
use crate::{ErrorKind, Result};

/// Nodes by order of creation, each with the gradient that has reached it.
type Gradients = BTreeMap<u64, (Arc<Node>, Tensor)>;

/// Adds the gradients of `root` to every leaf.
///
/// Leaves are written at the end, so that a pass that fails changes none.
pub(super) fn backward(root: &Arc<Node>, grad: &Tensor, options: BackwardOptions) -> Result<()> {
    with_grad_mode(options.create_graph, || {
        let roots = Gradients::from([(root.order, (root.clone(), grad.clone()))]);
        let leaves = run(roots, &Wanted::Leaves, options)?;
        // Whatever could keep a gradient from being added is found before the first one is.
        for (leaf, grad) in leaves.values() {
            if let Some(before) = leaf.grad() {
                before.check_same("backward", grad)?;
                before.shape().broadcast("backward", grad.shape())?;
            }
        }
        leaves
            .values()
            .try_for_each(|(leaf, grad)| leaf.accumulate(grad))
    })
}

/// The gradients that reach `inputs`, in their order; no leaf is changed.
pub(super) fn gradients(
    roots: &[(Arc<Node>, Tensor)],
    inputs: &[Arc<Node>],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    with_grad_mode(options.create_graph, || {
        let mut start = Gradients::new();
        for (root, grad) in roots {
            add(&mut start, root, grad.clone())?;
        }
        let nodes: Vec<Arc<Node>> = roots.iter().map(|(root, _)| root.clone()).collect();
        let wanted = Wanted::new(&nodes, inputs);
        let found = run(start, &wanted, options)?;
        let of = |input: &Arc<Node>| found.get(&input.order).map(|(_, grad)| grad.clone());
        Ok(inputs.iter().map(of).collect())
    })
}

/// Where gradients are asked for.
enum Wanted {
    /// At every leaf.
    Leaves,
    /// At these nodes, and `through` those on the way to them only.
    At {
        nodes: BTreeSet<u64>,
        through: BTreeSet<u64>,
    },
}

impl Wanted {
    fn new(roots: &[Arc<Node>], inputs: &[Arc<Node>]) -> Self {
        let nodes: BTreeSet<u64> = inputs.iter().map(|node| node.order).collect();
        let first = nodes.first().copied().unwrap_or(u64::MAX);
        // What was created before the first of them does not depend on any.
        let mut found: BTreeMap<u64, Arc<Node>> = BTreeMap::new();
        let mut open: Vec<Arc<Node>> = roots.to_vec();
        while let Some(node) = open.pop() {
            if node.order < first || found.contains_key(&node.order) {
                continue;
            }
            open.extend(parents(&node).map(|input| input.node.clone()));
            found.insert(node.order, node);
        }
        // By rising order, so that every input has its answer before it is asked.
        let mut through = BTreeSet::new();
        for (order, node) in &found {
            let leads = |input: &Input| {
                nodes.contains(&input.node.order) || through.contains(&input.node.order)
            };
            if parents(node).any(leads) {
                through.insert(*order);
            }
        }
        Self::At { nodes, through }
    }

    fn keeps(&self, node: &Node) -> bool {
        match self {
            Self::Leaves => matches!(node.kind, NodeKind::Leaf(_)),
            Self::At { nodes, .. } => nodes.contains(&node.order),
        }
    }

    fn passes(&self, node: &Node) -> bool {
        match self {
            Self::Leaves => true,
            Self::At { through, .. } => through.contains(&node.order),
        }
    }
}

fn parents(node: &Node) -> impl Iterator<Item = &Input> {
    let inputs = match &node.kind {
        NodeKind::Op(op) => op.inputs.as_slice(),
        NodeKind::Leaf(_) => &[],
    };
    inputs.iter().flatten()
}

/// Carries gradients from the roots to where they are wanted.
///
/// Nodes are visited by falling order of creation, in a loop: when a node's turn comes, every
/// node that could still add to its gradient has had its own.
fn run(mut pending: Gradients, wanted: &Wanted, options: BackwardOptions) -> Result<Gradients> {
    let keep = options.retain_graph || options.create_graph;
    let mut kept = Gradients::new();
    while let Some((order, (node, grad))) = pending.pop_last() {
        if wanted.keeps(&node) {
            kept.insert(order, (node.clone(), grad.clone()));
        }
        let NodeKind::Op(op) = &node.kind else {
            continue;
        };
        if wanted.passes(&node) {
            step(&node, op, grad, keep, &mut pending)?;
        }
    }
    Ok(kept)
}

/// Carries the gradient of one operation to its inputs.
fn step(
    node: &Arc<Node>,
    op: &Op,
    grad: Tensor,
    keep: bool,
    pending: &mut Gradients,
) -> Result<()> {
    let function = {
        let mut slot = lock(&op.function);
        // Taken at once, so that its saved tensors are freed as the pass goes on.
        if keep { slot.clone() } else { slot.take() }
    };
    let function = function.ok_or(ErrorKind::GraphFreed { op: op.name })?;
    let grads = function.backward(&Backward::new(grad, node.clone()))?;
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
        if let (Some(input), Some(grad)) = (input, grad) {
            check(op.name, input, &grad)?;
            add(pending, &input.node, grad)?;
        }
    }
    Ok(())
}

fn add(pending: &mut Gradients, node: &Arc<Node>, grad: Tensor) -> Result<()> {
    match pending.entry(node.order) {
        Entry::Vacant(place) => {
            place.insert((node.clone(), grad));
        }
        Entry::Occupied(mut place) => {
            let sum = &mut place.get_mut().1;
            *sum = sum.add(&grad)?;
        }
    }
    Ok(())
}

/// A gradient of another shape could broadcast its way into a wrong result.
fn check(op: &'static str, input: &Input, grad: &Tensor) -> Result<()> {
    if input.dtype != grad.dtype() {
        let (lhs, rhs) = (input.dtype, grad.dtype());
        return Err(ErrorKind::DTypeMismatch { op, lhs, rhs }.into());
    }
    if input.shape != *grad.shape() {
        let (lhs, rhs) = (input.shape.clone(), grad.shape().clone());
        let rule = "the gradient must have the shape of the input".to_owned();
        return Err(ErrorKind::ShapeMismatch { op, lhs, rhs, rule }.into());
    }
    Ok(())
}
