use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::rc::Rc;
use std::sync::Arc;

use super::{BackwardOptions, anomaly};
use crate::tensor::{
    Backward, Input, Node, NodeKind, Op, Shelf, Tensor, check_gradient, lock, with_grad_mode,
};
use crate::{ErrorKind, Result};

/// Nodes by order of creation, each with the gradient that has reached it.
type Gradients = BTreeMap<u64, (Arc<Node>, Tensor)>;

/// Adds the gradients of `root` to every leaf, and to what else keeps its gradient.
pub(super) fn backward(root: &Arc<Node>, grad: &Tensor, options: BackwardOptions) -> Result<()> {
    let roots = [(root.clone(), grad.clone())];
    with_grad_mode(options.create_graph, || {
        let found = Pass::new(Wanted::Leaves, options).run(&roots)?;
        keep(found.values())
    })
}

/// The gradients that reach `inputs`, in their order; no leaf is changed.
pub(super) fn gradients(
    roots: &[(Arc<Node>, Tensor)],
    inputs: &[Arc<Node>],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    with_grad_mode(options.create_graph, || {
        let nodes: Vec<Arc<Node>> = roots.iter().map(|(root, _)| root.clone()).collect();
        let wanted = Wanted::new(&nodes, inputs);
        let found = Pass::new(wanted, options).run(roots)?;
        let retaining = |(node, _): &&(Arc<Node>, Tensor)| matches!(node.kind, NodeKind::Op(_));
        keep(found.values().filter(retaining))?;
        let of = |input: &Arc<Node>| found.get(&input.order).map(|(_, grad)| grad.clone());
        Ok(inputs.iter().map(of).collect())
    })
}

/// Adds gradients where they are kept: at the end of a pass, so that one that fails changes none.
fn keep<'g>(mut grads: impl Iterator<Item = &'g (Arc<Node>, Tensor)> + Clone) -> Result<()> {
    // Whatever could keep a gradient from being added is found before the first one is.
    for (node, grad) in grads.clone() {
        if let Some(before) = node.grad() {
            before.check_same("backward", grad)?;
            before.shape().broadcast("backward", grad.shape())?;
        }
    }
    grads.try_for_each(|(node, grad)| node.accumulate(grad))
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
            Self::Leaves => node.slot().is_some(),
            Self::At { nodes, .. } => {
                let retains = matches!(node.kind, NodeKind::Op(_)) && node.slot().is_some();
                nodes.contains(&node.order) || (retains && self.passes(node))
            }
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

/// One run of the engine.
struct Pass {
    wanted: Wanted,
    /// Whether the saved values stay.
    keep: bool,
    /// Whether gradients that are not finite are looked for.
    anomaly: bool,
    pending: Gradients,
    shelf: Rc<Shelf>,
}

impl Pass {
    fn new(wanted: Wanted, options: BackwardOptions) -> Self {
        Self {
            wanted,
            keep: options.retain_graph || options.create_graph,
            anomaly: anomaly::is_anomaly_enabled(),
            pending: Gradients::new(),
            shelf: Rc::default(),
        }
    }

    /// Carries gradients from the roots to where they are wanted.
    ///
    /// Nodes are visited by falling order of creation, in a loop: when a node's turn comes, every
    /// node that could still add to its gradient has had its own.
    fn run(mut self, roots: &[(Arc<Node>, Tensor)]) -> Result<Gradients> {
        for (root, grad) in roots {
            self.check(grad)?;
            self.add(root, grad.clone())?;
        }
        let mut kept = Gradients::new();
        while let Some((order, (node, grad))) = self.pending.pop_last() {
            let (keeps, passes) = (self.wanted.keeps(&node), self.wanted.passes(&node));
            if !keeps && !passes {
                continue;
            }
            let grad = node.after_hooks(grad, |grad| self.check(grad))?;
            if keeps {
                kept.insert(order, (node.clone(), grad.clone()));
            }
            if let (NodeKind::Op(op), true) = (&node.kind, passes) {
                self.step(&node, op, grad)?;
            }
        }
        Ok(kept)
    }

    /// Carries the gradient of one operation to its inputs.
    fn step(&mut self, node: &Arc<Node>, op: &Op, grad: Tensor) -> Result<()> {
        let function = {
            let mut slot = lock(&op.function);
            // Taken at once, so that its saved tensors are freed as the pass goes on.
            if self.keep { slot.clone() } else { slot.take() }
        };
        let function = function.ok_or(ErrorKind::GraphFreed { op: op.name })?;
        let grads = function.backward(&Backward::new(grad, node.clone(), self.shelf.clone()))?;
        if grads.len() != op.inputs.len() {
            let (expected, got) = (op.inputs.len(), grads.len());
            return Err(ErrorKind::GradientCount {
                op: op.name,
                expected,
                got,
            }
            .into());
        }
        for (i, (input, grad)) in op.inputs.iter().zip(grads).enumerate() {
            if let (Some(input), Some(grad)) = (input, grad) {
                check_gradient(op.name, &input.shape, input.dtype, &grad)?;
                let sum = self.add(&input.node, grad)?;
                if let Some(sum) = sum {
                    anomaly::check_input(op.name, i, &sum)?;
                }
            }
        }
        Ok(())
    }

    /// Adds to the gradient of a node and gives the sum if it is to be looked at.
    fn add(&mut self, node: &Arc<Node>, grad: Tensor) -> Result<Option<Tensor>> {
        let sum = match self.pending.entry(node.order) {
            Entry::Vacant(place) => place.insert((node.clone(), grad)),
            Entry::Occupied(place) => {
                let place = place.into_mut();
                place.1 = match place.1.can_be_added_to(&grad) {
                    true => std::mem::replace(&mut place.1, grad.clone()).add_over(&grad, 1.0)?,
                    false => place.1.add(&grad)?,
                };
                place
            }
        };
        Ok(self.anomaly.then(|| sum.1.clone()))
    }

    /// Checks a gradient that no operation gave.
    fn check(&self, grad: &Tensor) -> Result<()> {
        match self.anomaly {
            true => anomaly::check_given(grad),
            false => Ok(()),
        }
    }
}
