//! A pass as a drawing: boxes for modules, lines for tensors.

mod dot;
mod graph;
mod layout;
mod svg;

use graph::Graph;

use super::trace::Trace;

/// A drawing of a [`Trace`]: a box for each call, inside the box of the call that made it, and lines for the
/// [flows](Trace::flows) of tensors, with their shapes.
///
/// Use a trace from [`Trace::record_flows`]; others give a drawing without lines.
///
/// # Example
///
/// ```
/// use module_nn::inspect::Picture;
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new());
/// let trace = Trace::record_flows(&model, Tensor::randn([2, 4], DType::F32)?)?;
/// let picture = Picture::new(&trace);
/// assert!(picture.to_svg().starts_with("<svg"));
/// // Modules deeper than the depth are drawn as a part of the one around them.
/// assert!(Picture::new(&trace).depth(0).to_dot().len() < picture.to_dot().len());
/// assert!(picture.to_dot().contains(r#"call1 -> call2 [label="[2, 8]"]"#));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Picture<'t> {
    trace: &'t Trace,
    depth: usize,
}

impl<'t> Picture<'t> {
    /// All calls of a trace.
    pub fn new(trace: &'t Trace) -> Self {
        let depth = usize::MAX;
        Self { trace, depth }
    }

    /// Draws only calls at most `depth` levels below the model.
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// The drawing as an SVG file.
    pub fn to_svg(&self) -> String {
        svg::write(&Graph::new(self.trace, self.depth))
    }

    /// The drawing for [Graphviz](https://graphviz.org), which lays it out itself.
    pub fn to_dot(&self) -> String {
        dot::write(&Graph::new(self.trace, self.depth))
    }
}
