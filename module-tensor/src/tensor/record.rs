//! Operations and leaves that become nodes of the graph.

use std::sync::{Arc, Mutex};

use super::node::{Input, Inputs, Node, NodeKind};
use super::{Edge, Function, Tensor, is_grad_enabled, recompute};

impl Edge {
    /// A new leaf.
    pub(crate) fn leaf() -> Self {
        let leaf = NodeKind::Leaf(Mutex::default());
        Self::first(Node::new(recompute::leaf_order(), leaf, 1))
    }
}

impl Tensor {
    /// Records this tensor as the output of an operation on `inputs` with the gradient `function`.
    ///
    /// `function` is made only if a gradient can flow: if the grad mode is on and an input is tracked. It is given the
    /// output to save.
    pub fn record<'a, F: Function>(
        self,
        inputs: impl IntoIterator<Item = &'a Self>,
        function: impl FnOnce(&Self) -> F,
    ) -> Self {
        let mut out = self;
        if let Some(inputs) = out.inputs_to_record(&mut inputs.into_iter()) {
            let function = Arc::new(function(&out));
            out.add_node(function, inputs);
        }
        out
    }

    /// The inputs of the operation that this is the output of, if a gradient can flow; the output has no node yet.
    fn inputs_to_record(&mut self, inputs: &mut dyn Iterator<Item = &Self>) -> Option<Inputs> {
        self.edge = None;
        if !self.is_differentiable() {
            return None;
        }
        tracked(inputs)
    }

    fn add_node(&mut self, function: Arc<dyn Function>, inputs: Inputs) {
        self.edge = Some(Edge::first(recompute::node(function, inputs, 1)));
    }

    /// Records `outputs` as those of one operation on `inputs`, like [`record`](Self::record) for a single one: outputs
    /// that are not floating-point, such as indices, have no gradient.
    ///
    /// The function gets one optional gradient for each output ([`Backward::grad_of`](super::Backward::grad_of)).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Backward, Function, Gradients, Result, Tensor};
    ///
    /// /// The halves of a vector of two.
    /// struct Halves;
    ///
    /// impl Function for Halves {
    ///     fn name(&self) -> &'static str {
    ///         "halves"
    ///     }
    ///
    ///     fn backward(&self, ctx: &Backward) -> Result<Gradients> {
    ///         let zero = ctx.grad().zeros_like()?;
    ///         let [a, b] = [0, 1].map(|i| ctx.grad_of(i).unwrap_or(&zero));
    ///         Ok([Some(Tensor::cat(&[a, b], 0)?)].into_iter().collect())
    ///     }
    /// }
    ///
    /// let x = Tensor::from([2.0_f32, 3.0]).with_grad()?;
    /// let halves = module_tensor::no_grad(|| Ok::<_, module_tensor::Error>([x.narrow(0, 0..1)?, x.narrow(0, 1..2)?]))?;
    /// let [_, second] = Tensor::record_outputs(halves, [&x], |_| Halves);
    /// second.mul(5.0)?.sum(..)?.backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [0.0, 5.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn record_outputs<'a, O: AsMut<[Self]>, F: Function>(
        mut outputs: O,
        inputs: impl IntoIterator<Item = &'a Self>,
        function: impl FnOnce(&[Self]) -> F,
    ) -> O {
        let all = outputs.as_mut();
        all.iter_mut().for_each(|output| output.edge = None);
        if !all.iter().any(|output| output.is_differentiable()) {
            return outputs;
        }
        if let Some(inputs) = tracked(&mut inputs.into_iter()) {
            let node = recompute::node(Arc::new(function(all)), inputs, all.len());
            for (i, output) in all.iter_mut().enumerate() {
                output.edge = output.is_differentiable().then(|| Edge {
                    node: node.clone(),
                    output: i,
                });
            }
        }
        outputs
    }
}

/// The inputs of an operation, if a gradient can flow.
fn tracked(inputs: &mut dyn Iterator<Item = &Tensor>) -> Option<Inputs> {
    if !is_grad_enabled() {
        return None;
    }
    // Nothing is made for an untracked operation.
    let mut untracked = 0;
    let first = loop {
        let input = inputs.next()?;
        if input.edge.is_some() {
            break input;
        }
        untracked += 1;
    };
    let mut kept = Inputs::with_capacity(untracked + 1 + inputs.size_hint().0);
    kept.resize_with(untracked, || None);
    kept.push(Input::of(first));
    kept.extend(inputs.map(Input::of));
    Some(kept)
}
