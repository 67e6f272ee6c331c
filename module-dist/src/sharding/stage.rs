use std::fmt;

/// How much of a model's training state is divided among ranks: the stages of ZeRO.
///
/// With `Ψ` bytes of parameters, `k·Ψ` bytes of optimizer state (2 for AdamW) and `N` ranks, each rank holds, besides
/// activations:
///
/// | stage | parameters | gradients | optimizer state |
/// |---|---|---|---|
/// | [`OptimizerState`](Self::OptimizerState) | `Ψ` | `Ψ` | `k·Ψ/N` |
/// | [`Gradients`](Self::Gradients) | `Ψ` | `Ψ/N` and one unit's | `k·Ψ/N` |
/// | [`Parameters`](Self::Parameters) | `Ψ/N`, the units in use and the next one | `Ψ/N` and one unit's | `k·Ψ/N` |
///
/// A step of the first two needs `Ψ/N` for the parts that it moves, for as long as it takes, and each collective a copy of
/// what it exchanges.
///
/// Source: Rajbhandari et al., *ZeRO: Memory Optimizations Toward Training Trillion Parameter Models* (2020); PyTorch's
/// `ZeroRedundancyOptimizer` and `FullyShardedDataParallel` (`SHARD_GRAD_OP`, `FULL_SHARD`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShardingStage {
    /// Optimizer states are divided (ZeRO stage 1). `Parameter::grad` is the mean over all ranks after
    /// [`backward`](super::Sharded::backward).
    OptimizerState,
    /// Gradients are divided too (stage 2): each is reduced and freed as soon as those of its unit are computed.
    Gradients,
    /// Parameters are divided too (stage 3): those of a unit are gathered before its `forward` and its backward pass, while
    /// the unit before it computes, and freed after both.
    Parameters,
}

impl fmt::Display for ShardingStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OptimizerState => "optimizer state",
            Self::Gradients => "gradients",
            Self::Parameters => "parameters",
        })
    }
}
