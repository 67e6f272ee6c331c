//! The options of a backward pass.

crate::options! {
    /// How [`Tensor::backward_with`](crate::Tensor::backward_with) treats the graph.
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
