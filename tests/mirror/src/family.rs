/// A fused family; without it, its operations are composed of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `softmax_backward`, `logsumexp` and its gradient.
    Softmax,
    /// `normalize` and its gradient.
    Norm,
    /// `cross_entropy` and its gradient.
    CrossEntropy,
    /// `grid_sample` and its gradients.
    GridSample,
    /// `ctc` and its gradient.
    Ctc,
    /// `attention` and its gradient.
    Attention,
    /// `recurrent` and its gradient.
    Recurrent,
    /// `updates`.
    Updates,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 8] = [
        Self::Softmax,
        Self::Norm,
        Self::CrossEntropy,
        Self::GridSample,
        Self::Ctc,
        Self::Attention,
        Self::Recurrent,
        Self::Updates,
    ];
}
