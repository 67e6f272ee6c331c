//! The allowed circular imports.

/// Imports that may close a circle, and why. Circles through other imports fail.
pub(crate) struct AllowedCircle {
    pub(crate) reason: &'static str,
    pub(crate) imports: &'static [(&'static str, &'static str)],
}

pub(crate) const TENSOR: &[AllowedCircle] = &[
    AllowedCircle {
        reason: "a tensor remembers its operation, which remembers tensors",
        imports: &[
            ("tensor/mod.rs", "tensor/edge.rs"),
            ("tensor/node.rs", "tensor/function.rs"),
            ("tensor/node.rs", "tensor/grad_hook.rs"),
        ],
    },
    AllowedCircle {
        reason: "a device leads to its kernels, whose memory knows its device; one is always there",
        imports: &[
            ("backend/device.rs", "backend/kernels.rs"),
            ("backend/device.rs", "backend/cpu/backend.rs"),
        ],
    },
    AllowedCircle {
        reason: "kernels that a device may leave out are composed of those that it has",
        imports: &[("backend/kernels.rs", "backend/composed.rs")],
    },
    AllowedCircle {
        reason: "memory says how it is packed, and what is unpacked is memory",
        imports: &[("backend/packed.rs", "backend/storage.rs")],
    },
    AllowedCircle {
        reason: "memory says where its elements are while they are not released, and that is memory",
        imports: &[("backend/releasable.rs", "backend/storage.rs")],
    },
    AllowedCircle {
        reason: "an error holds dtypes and shapes, which raise errors, and errors of hooks",
        imports: &[
            ("error/autograd.rs", "error/mod.rs"),
            ("error/autograd.rs", "layout/shape.rs"),
            ("error/dtype.rs", "dtype.rs"),
            ("error/shape.rs", "layout/shape.rs"),
        ],
    },
];

pub(crate) const CORE: &[AllowedCircle] = &[
    AllowedCircle {
        reason: "a module shows its fields, and modules are fields",
        imports: &[
            ("module/buffer.rs", "module/field.rs"),
            ("module/buffer.rs", "module/parameter.rs"),
            ("module/buffer.rs", "module/visit.rs"),
            ("module/extra_state.rs", "module/visit.rs"),
            ("module/field.rs", "module/visit.rs"),
            ("module/marker.rs", "module/visit.rs"),
            ("module/parameter.rs", "module/visit.rs"),
            ("module/traits.rs", "module/visit.rs"),
            ("module/visit.rs", "module/training.rs"),
        ],
    },
    AllowedCircle {
        reason: "only the file with the unsafe code may make the promise that the options carry",
        imports: &[("checkpoint/mapping.rs", "checkpoint/options.rs")],
    },
];

pub(crate) const NN: &[AllowedCircle] = &[AllowedCircle {
    reason: "a loss function takes the options of its loss, which calls the function",
    imports: &[
        ("functional/ctc_loss.rs", "loss/ctc.rs"),
        ("functional/embedding_distance.rs", "loss/triplet_margin.rs"),
        (
            "functional/embedding_distance.rs",
            "loss/triplet_margin_with_distance.rs",
        ),
        ("functional/likelihood.rs", "loss/gaussian_nll.rs"),
        ("functional/likelihood.rs", "loss/poisson_nll.rs"),
    ],
}];
