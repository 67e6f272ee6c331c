use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use super::pending::Pending;
use super::{BackwardOptions, anomaly, watch};
use crate::tensor::{
    Asked, Backward, Edge, Input, Node, NodeKind, Op, Tensor, check_gradient, in_pass, lock,
    outside_autocast, post_accumulate_hooks_exist, recomputed_function, with_grad_mode,
};
use crate::{AutogradError, Result};

/// Complete gradients in the order in which they were completed: nodes in descending order of creation, the
/// outputs of each in ascending order.
type Found = Vec<(Edge, Tensor)>;

/// Adds the gradients of `root` to every leaf, and to what else keeps its gradient.
pub(super) fn backward(root: &Edge, grad: &Tensor, options: BackwardOptions) -> Result<()> {
    let roots = [(root.clone(), grad.clone())];
    let _watched = watch::begin([root].into_iter(), None);
    in_modes(options, || {
        let found = Pass::new(Wanted::Leaves, options).run(&roots)?;
        check_sums(found.iter().rev())?;
        let mut found = found.into_iter().rev();
        found.try_for_each(|(edge, grad)| edge.accumulate(grad).map(drop))
    })
}

/// The gradients that reach `inputs`, in their order; no leaf is changed.
pub(super) fn gradients(
    roots: &[(Edge, Tensor)],
    inputs: &[Edge],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    let _watched = watch::begin(roots.iter().map(|(root, _)| root), Some(inputs));
    in_modes(options, || {
        let found = Pass::new(Wanted::new(roots, inputs), options).run(roots)?;
        let mut kept = found.iter().rev().filter(|(edge, _)| !edge.is_leaf());
        check_sums(kept.clone())?;
        kept.try_for_each(|(edge, grad)| edge.accumulate(grad.clone()).map(drop))?;
        let position = |edge: &Edge| (Reverse(edge.node.order), edge.output);
        let of = |input: &Edge| {
            let found = found.as_slice();
            let i = found.binary_search_by_key(&position(input), |(edge, _)| position(edge));
            Some(found.get(i.ok()?)?.1.clone())
        };
        Ok(inputs.iter().map(of).collect())
    })
}

/// Runs a pass in its grad mode, and in the dtypes of the forward pass, whatever scope of autocast it is called in.
fn in_modes<R>(options: BackwardOptions, f: impl FnOnce() -> R) -> R {
    in_pass(|| outside_autocast(|| with_grad_mode(options.create_graph, f)))
}

fn key(edge: &Edge) -> (u64, usize) {
    (edge.node.order, edge.output)
}

/// Checks that gradients can be added to what is kept: all of them at the end of a pass, before the first is added, so
/// that one that fails changes none.
fn check_sums<'g>(mut grads: impl Iterator<Item = &'g (Edge, Tensor)>) -> Result<()> {
    grads.try_for_each(|(edge, grad)| check_sum(edge, grad))
}

/// Checks that a gradient can be added to what is kept.
fn check_sum(edge: &Edge, grad: &Tensor) -> Result<()> {
    if let Some(before) = edge.grad() {
        before.check_same("backward", grad)?;
        before.shape().broadcast("backward", grad.shape())?;
    }
    Ok(())
}

/// The edges whose gradients are asked for.
enum Wanted {
    /// At every leaf.
    Leaves,
    /// At these outputs, and `through` the nodes on the way to them only.
    ///
    /// Both are sorted in ascending order, for binary search.
    At {
        outputs: Vec<(u64, usize)>,
        through: Vec<u64>,
    },
}

impl Wanted {
    fn new(roots: &[(Edge, Tensor)], inputs: &[Edge]) -> Self {
        let mut outputs: Vec<_> = inputs.iter().map(key).collect();
        outputs.sort_unstable();
        let first = outputs.first().map_or(u64::MAX, |&(order, _)| order);
        // What was created before the first of them does not depend on any.
        let found = nodes_from(roots, |node| node.order >= first);
        // In ascending order, so that every node is visited after its inputs.
        let mut through = Vec::new();
        for node in found.iter().rev() {
            let leads = |input: &Input| {
                let order = input.node.order;
                let output = (order, input.output());
                outputs.binary_search(&output).is_ok() || through.binary_search(&order).is_ok()
            };
            if parents(node).any(leads) {
                through.push(node.order);
            }
        }
        Self::At { outputs, through }
    }

    fn keeps(&self, node: &Node, output: usize) -> bool {
        let keeps_grad = || node.slot(output).is_some();
        match self {
            Self::Leaves => keeps_grad(),
            Self::At { outputs, .. } => {
                let retains = || !node.is_leaf() && keeps_grad() && self.passes(node);
                outputs.binary_search(&(node.order, output)).is_ok() || retains()
            }
        }
    }

    fn wants(&self, node: &Node) -> bool {
        match self {
            Self::Leaves => true,
            Self::At { outputs, .. } => {
                let first = outputs.partition_point(|&(order, _)| order < node.order);
                let is_asked_for = outputs
                    .get(first)
                    .is_some_and(|&(order, _)| order == node.order);
                is_asked_for || self.passes(node)
            }
        }
    }

    /// Which inputs of an operation lead to a gradient that is asked for; `None` where that is all.
    fn asked_of(&self, op: &Op) -> Option<Asked> {
        let Self::At { outputs, through } = self else {
            return None;
        };
        let asked = |input: &Input| {
            let order = input.node.order;
            let output = (order, input.output());
            through.binary_search(&order).is_ok() || outputs.binary_search(&output).is_ok()
        };
        let asked = |input: &Option<Input>| input.as_ref().is_some_and(asked);
        Some(op.inputs.iter().map(asked).collect())
    }

    fn passes(&self, node: &Node) -> bool {
        match self {
            Self::Leaves => true,
            Self::At { through, .. } => through.binary_search(&node.order).is_ok(),
        }
    }
}

/// All nodes that gradients of the roots can reach through nodes that `follow` accepts, in descending order
/// of creation.
fn nodes_from(roots: &[(Edge, Tensor)], follow: impl Fn(&Node) -> bool) -> Vec<Arc<Node>> {
    let mut found: Vec<Arc<Node>> = Vec::new();
    let roots = roots.iter().map(|(root, _)| root.node.clone());
    let mut open: BinaryHeap<ByOrder> = roots.map(ByOrder).collect();
    while let Some(ByOrder(node)) = open.pop() {
        // The nodes that lead to a node are younger, so that all its entries are popped one after another.
        let is_again = found.last().is_some_and(|last| last.order == node.order);
        if is_again || !follow(&node) {
            continue;
        }
        open.extend(parents(&node).map(|input| ByOrder(input.node.clone())));
        found.push(node);
    }
    found
}

/// A node, compared by its order of creation.
struct ByOrder(Arc<Node>);

impl Ord for ByOrder {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.order.cmp(&other.0.order)
    }
}

impl PartialOrd for ByOrder {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByOrder {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByOrder {}

fn parents(node: &Node) -> impl Iterator<Item = &Input> {
    let inputs = match &node.kind {
        NodeKind::Op(op) => op.inputs.as_slice(),
        NodeKind::Leaf(_) => &[],
    };
    inputs.iter().flatten()
}

/// One run of the engine.
struct Pass {
    wanted: Wanted,
    /// Whether the saved values are kept.
    keep: bool,
    /// Whether gradients that are not finite are looked for.
    anomaly: bool,
    pending: Pending,
    /// The number of gradients still to come for each leaf with post-accumulate hooks.
    awaited: BTreeMap<u64, usize>,
}

impl Pass {
    fn new(wanted: Wanted, options: BackwardOptions) -> Self {
        Self {
            wanted,
            keep: options.retain_graph || options.create_graph,
            anomaly: anomaly::is_anomaly_enabled(),
            pending: Pending::default(),
            awaited: BTreeMap::new(),
        }
    }

    /// Carries gradients from the roots to where they are wanted.
    ///
    /// Nodes are visited in descending order of creation, in a loop: when a node is visited, every node that
    /// could add to its gradients has been visited before.
    fn run(mut self, roots: &[(Edge, Tensor)]) -> Result<Found> {
        if matches!(self.wanted, Wanted::Leaves) && post_accumulate_hooks_exist() {
            self.count(roots);
        }
        for (root, grad) in roots {
            self.check(grad)?;
            self.add(&root.node, root.output, grad.clone())?;
        }
        let mut found = Found::new();
        while let Some((node, slot)) = self.pending.pop_last() {
            match self.wanted.wants(&node) {
                true => self.visit(node, slot, &mut found)?,
                false => self.pending.release(slot),
            }
        }
        Ok(found)
    }

    /// Delivers the complete gradients of a node where they are kept, and carries them on.
    fn visit(&mut self, node: Arc<Node>, slot: usize, found: &mut Found) -> Result<()> {
        if node.is_leaf() {
            let grad = self.pending.at(slot).of(0).take();
            self.pending.release(slot);
            return grad.map_or(Ok(()), |grad| self.deliver(Edge::first(node), grad, found));
        }
        for output in 0..self.pending.at(slot).len() {
            // Most gradients are neither seen nor kept on their way.
            if !node.has_grad_hooks(output) && !self.wanted.keeps(&node, output) {
                continue;
            }
            let Some(mut grad) = self.pending.at(slot).of(output).take() else {
                continue;
            };
            node.run_grad_hooks(output, &mut grad, &|grad| self.check(grad))?;
            if self.wanted.keeps(&node, output) {
                let node = node.clone();
                found.push((Edge { node, output }, grad.clone()));
            }
            *self.pending.at(slot).of(output) = Some(grad);
        }
        match self.wanted.passes(&node) {
            true => self.step(node, slot, found),
            false => {
                self.pending.release(slot);
                Ok(())
            }
        }
    }

    /// Counts how many gradients each leaf with hooks will be given.
    fn count(&mut self, roots: &[(Edge, Tensor)]) {
        for node in &nodes_from(roots, |_| true) {
            for input in parents(node) {
                if input.edge().has_post_accumulate_hooks() {
                    *self.awaited.entry(input.node.order).or_default() += 1;
                }
            }
        }
    }

    /// Delivers the complete gradient of a leaf: at once to one with post-accumulate hooks, otherwise to `found`, whose
    /// gradients are added at the end of the pass.
    fn deliver(&self, leaf: Edge, mut grad: Tensor, found: &mut Found) -> Result<()> {
        leaf.node
            .run_grad_hooks(0, &mut grad, &|grad| self.check(grad))?;
        if !self.wanted.keeps(&leaf.node, 0) {
            return Ok(());
        }
        if matches!(self.wanted, Wanted::Leaves) && leaf.has_post_accumulate_hooks() {
            check_sum(&leaf, &grad)?;
            return match leaf.accumulate(grad)? {
                true => leaf.run_post_accumulate_hooks(),
                false => Ok(()),
            };
        }
        found.push((leaf, grad));
        Ok(())
    }

    /// Carries the gradients of one operation to its inputs.
    fn step(&mut self, node: Arc<Node>, slot: usize, found: &mut Found) -> Result<()> {
        let NodeKind::Op(op) = &node.kind else {
            return Ok(());
        };
        let function = recomputed_function(&node).or_else(|| {
            let mut slot = lock(&op.function);
            // Taken at once, so that its saved tensors are freed as the pass goes on.
            match &*slot {
                Some(function) if self.keep || function.saves_nothing() => slot.clone(),
                _ => slot.take(),
            }
        });
        let function = function.ok_or(AutogradError::GraphFreed { op: op.name })?;
        let (reached, asked) = (self.pending.at(slot), self.wanted.asked_of(op));
        let ctx = Backward::new(reached, node.clone(), asked);
        self.pending.release(slot);
        let Some(ctx) = ctx else { return Ok(()) };
        let mut grads = function.backward(&ctx)?;
        drop(ctx);
        drop(function);
        if grads.len() != op.inputs.len() {
            let (expected, got) = (op.inputs.len(), grads.len());
            return Err(AutogradError::GradientCount {
                op: op.name,
                expected,
                got,
            }
            .into());
        }
        for (i, (input, grad)) in op.inputs.iter().zip(&mut grads).enumerate() {
            let Some(input) = input else { continue };
            if let Some(grad) = grad.take() {
                check_gradient(op.name, &input.shape, input.dtype, &grad)?;
                let detects_anomaly = self.anomaly;
                let sum = self.add(&input.node, input.output(), grad)?;
                if detects_anomaly {
                    anomaly::check_input(op.name, i, sum)?;
                }
            }
            if !self.awaited.is_empty() {
                self.finish_if_last(&input.node, found)?;
            }
        }
        Ok(())
    }

    /// Delivers the gradient of a leaf with post-accumulate hooks if no other will be added to it.
    fn finish_if_last(&mut self, leaf: &Node, found: &mut Found) -> Result<()> {
        let order = leaf.order;
        match self.awaited.get_mut(&order) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                self.awaited.remove(&order);
                if let Some((leaf, slot)) = self.pending.remove(order) {
                    self.visit(leaf, slot, found)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Adds to the gradient of an output, and returns the sum.
    fn add(&mut self, node: &Arc<Node>, output: usize, grad: Tensor) -> Result<&Tensor> {
        let sum = self.pending.reached(node).of(output);
        let next = match sum.take() {
            None => grad,
            Some(before) if before.can_add_in_place(&grad) => before.add_in_place(&grad)?,
            Some(before) => before.add(&grad)?,
        };
        Ok(sum.insert(next))
    }

    /// Checks a gradient that came from the caller or a hook and not from an operation.
    fn check(&self, grad: &Tensor) -> Result<()> {
        match self.anomaly {
            true => anomaly::check_given(grad),
            false => Ok(()),
        }
    }
}
