//! The families of kernels that do several steps at once.

use super::{
    AdamWKernels, AdamWMemory, AdamWStep, AttentionGeometry, AttentionInputs, AttentionKernels,
    CpuBackend, CrossEntropyGeometry, CrossEntropyInputs, CrossEntropyKernels, NormGeometry,
    NormInputs, NormKernels, Normalised, Operand, RecurrentGeometry, RecurrentInputs,
    RecurrentKernels, RecurrentSlopes, SoftmaxKernels, SoftmaxOp, Storage,
};
use super::{adamw, attention, cross_entropy, map, normalise, recurrent, softmax};
use crate::Result;

impl SoftmaxKernels for CpuBackend {
    fn softmax_backward(
        &self,
        op: SoftmaxOp,
        grad: Operand,
        y: Operand,
        dim: usize,
    ) -> Result<Storage> {
        map::through_f32([grad, y], |[grad, y]| {
            softmax::softmax_backward(op, &grad, &y, dim)
        })
    }

    fn logsumexp(&self, x: Operand, dim: usize) -> Result<Storage> {
        map::through_f32([x], |[x]| softmax::logsumexp(&x, dim))
    }

    fn logsumexp_backward(
        &self,
        grad: Operand,
        x: Operand,
        y: Operand,
        dim: usize,
    ) -> Result<Storage> {
        map::through_f32([grad, x, y], |[grad, x, y]| {
            softmax::logsumexp_backward(&grad, &x, &y, dim)
        })
    }
}

impl NormKernels for CpuBackend {
    fn forward(&self, inputs: NormInputs, geometry: &NormGeometry) -> Result<Normalised> {
        normalise::normalise(&inputs, geometry)
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: NormInputs,
        geometry: &NormGeometry,
    ) -> Result<[Storage; 3]> {
        normalise::normalise_backward(&grad, &inputs, geometry)
    }
}

impl CrossEntropyKernels for CpuBackend {
    fn forward(
        &self,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<[Storage; 2]> {
        cross_entropy::cross_entropy(&inputs, geometry)
    }

    fn backward(
        &self,
        grad: Operand,
        log: Operand,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<Storage> {
        cross_entropy::cross_entropy_backward(&grad, &log, &inputs, geometry)
    }
}

impl AttentionKernels for CpuBackend {
    fn forward(
        &self,
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 2]> {
        attention::attention(&inputs, geometry)
    }

    fn backward(
        &self,
        grad: Operand,
        outputs: [Operand; 2],
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]> {
        attention::attention_backward(&grad, &outputs, &inputs, geometry)
    }
}

impl RecurrentKernels for CpuBackend {
    fn forward(
        &self,
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<[Storage; 2]> {
        recurrent::recurrent(&inputs, geometry)
    }

    fn backward(
        &self,
        grad: Operand,
        outputs: [Operand; 2],
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentSlopes> {
        recurrent::recurrent_backward(&grad, &outputs, &inputs, geometry)
    }
}

impl AdamWKernels for CpuBackend {
    fn step(
        &self,
        value: Operand,
        grad: Operand,
        moments: AdamWMemory<'_>,
        step: &AdamWStep,
    ) -> Result<Storage> {
        adamw::adamw(&value, &grad, moments, step)
    }
}
