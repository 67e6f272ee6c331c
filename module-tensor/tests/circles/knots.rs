//! The circles that there are.

/// Arrows that may close a circle, and why. A circle that needs another one fails.
pub(crate) struct Knot {
    pub(crate) reason: &'static str,
    pub(crate) arrows: &'static [(&'static str, &'static str)],
}

pub(crate) const TENSOR: &[Knot] = &[
    Knot {
        reason: "a tensor remembers its operation, which remembers tensors",
        arrows: &[
            ("tensor/mod.rs", "tensor/edge.rs"),
            ("tensor/node.rs", "tensor/function.rs"),
            ("tensor/node.rs", "tensor/grad_hook.rs"),
        ],
    },
    Knot {
        reason: "a device leads to its kernels, whose memory knows its device; one is always there",
        arrows: &[
            ("backend/device.rs", "backend/kernels.rs"),
            ("backend/device.rs", "backend/cpu/backend.rs"),
        ],
    },
    Knot {
        reason: "memory says how it is packed, and what is unpacked is memory",
        arrows: &[("backend/packed.rs", "backend/storage.rs")],
    },
    Knot {
        reason: "an error holds dtypes and shapes, which raise errors, and errors of hooks",
        arrows: &[
            ("error/kind.rs", "dtype.rs"),
            ("error/kind.rs", "layout/shape.rs"),
            ("error/kind.rs", "error/mod.rs"),
        ],
    },
];

pub(crate) const CORE: &[Knot] = &[
    Knot {
        reason: "a module shows its fields, and modules are fields",
        arrows: &[
            ("module/buffer.rs", "module/field.rs"),
            ("module/buffer.rs", "module/parameter.rs"),
            ("module/buffer.rs", "module/visit.rs"),
            ("module/debug.rs", "module/tree.rs"),
            ("module/extra_state.rs", "module/visit.rs"),
            ("module/field.rs", "module/parameter.rs"),
            ("module/field.rs", "module/visit.rs"),
            ("module/identity.rs", "module/traits.rs"),
            ("module/marker.rs", "module/visit.rs"),
            ("module/parameter.rs", "module/visit.rs"),
            ("module/traits.rs", "module/visit.rs"),
            ("module/visit.rs", "module/constant.rs"),
            ("module/visit.rs", "module/training.rs"),
        ],
    },
    Knot {
        reason: "a list of formats names the files that hold them",
        arrows: &[
            ("checkpoint/format.rs", "checkpoint/npz.rs"),
            ("checkpoint/format.rs", "checkpoint/safetensors.rs"),
            ("checkpoint/format.rs", "checkpoint/torch_legacy.rs"),
            ("checkpoint/format.rs", "checkpoint/torch_zip.rs"),
        ],
    },
    Knot {
        reason: "not taken apart yet",
        arrows: &[
            ("checkpoint/bytes.rs", "checkpoint/mod.rs"),
            ("checkpoint/file.rs", "checkpoint/sharded.rs"),
            ("checkpoint/format.rs", "checkpoint/mod.rs"),
            ("checkpoint/format_error.rs", "checkpoint/mod.rs"),
            ("checkpoint/mapping.rs", "checkpoint/options.rs"),
            ("checkpoint/mod.rs", "checkpoint/sharded.rs"),
            ("checkpoint/read_file.rs", "checkpoint/reader.rs"),
            ("module/constant.rs", "module/number.rs"),
            ("module/field.rs", "private.rs"),
            ("module/history.rs", "module/parameter.rs"),
            ("module/marker.rs", "module/token.rs"),
            ("module/token.rs", "module/training.rs"),
            ("state/entries.rs", "state/hooks.rs"),
        ],
    },
];

pub(crate) const NN: &[Knot] = &[Knot {
    reason: "not taken apart yet",
    arrows: &[
        ("functional/ctc_loss.rs", "loss/ctc.rs"),
        ("functional/embedding_distance.rs", "loss/triplet_margin.rs"),
        (
            "functional/embedding_distance.rs",
            "loss/triplet_margin_with_distance.rs",
        ),
        ("functional/likelihood.rs", "loss/gaussian_nll.rs"),
        ("functional/likelihood.rs", "loss/poisson_nll.rs"),
        ("layers/batch_norm.rs", "layers/channel_norm.rs"),
        ("layers/batch_norm.rs", "layers/sync_batch_norm.rs"),
        (
            "layers/multihead_attention.rs",
            "layers/multihead_attention/pass.rs",
        ),
    ],
}];
