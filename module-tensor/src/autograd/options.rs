//! The options of a backward pass.

crate::options! {
    /// How [`Tensor::backward_with`](crate::Tensor::backward_with) treats the graph.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{BackwardOptions, Tensor};
    ///
    /// let x = Tensor::from([3.0_f32]).with_grad()?;
    /// let y = x.square()?.sum(..)?;
    /// y.backward_with(&Tensor::from(1.0_f32), BackwardOptions::new().retain_graph(true))?;
    /// y.backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [12.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BackwardOptions {
        optional {
            /// Keeps the saved values, so that the graph can be run again.
            retain_graph: bool = false,
            /// Records the backward pass itself, for second derivatives; keeps the saved values too.
            create_graph: bool = false,
        }
    }
}
