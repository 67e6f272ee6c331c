//! Fused families of dtypes in which the device does not compute them, through the host.

use module_tensor::backend::{
    AttentionGeometry, AttentionInputs, Backend, CrossEntropyGeometry, CrossEntropyInputs,
    NormGeometry, NormGradients, NormInputs, Normalized, Operand, Saved, Storage,
};
use module_tensor::{Result, Shape};

use crate::gpu::Gpu;
use crate::host::cpu;
use crate::storage::KeptStorage;

impl Gpu {
    /// The kernels of a family on the CPU.
    pub(crate) fn of_cpu<K: ?Sized>(
        &self,
        op: &'static str,
        family: impl FnOnce(&'static dyn Backend) -> Option<&'static K>,
    ) -> Result<&'static K> {
        family(cpu()).ok_or_else(|| self.device().unavailable(op))
    }

    /// Keeps what the CPU saves.
    fn kept(&self, saved: Saved) -> Saved {
        let device = self.device();
        Saved::new([Storage::new(KeptStorage { saved, device })])
    }

    /// The values that the CPU saved.
    fn saved<'a>(&self, op: &'static str, saved: &'a Saved) -> Result<&'a Saved> {
        let [kept] = saved.storages(op)?;
        let kept: &KeptStorage = kept.data(op, self.device())?;
        Ok(&kept.saved)
    }

    fn host_copies(&self, x: &Option<Operand>) -> Result<Option<Operand>> {
        x.as_ref().map(|x| self.host_copy(x)).transpose()
    }

    pub(crate) fn logsumexp_on_host(&self, x: Operand, dim: usize) -> Result<(Storage, Saved)> {
        let op = "logsumexp";
        let mut shape = x.layout.shape().to_vec();
        shape[dim] = 1;
        let (y, saved) = self.compute_on_host(op, [x], |_, [x]| {
            self.of_cpu(op, |cpu| cpu.softmax_family())?
                .logsumexp(x, dim)
        })?;
        let y = self.device_copy(y, Shape::from(shape).numel())?;
        Ok((y, self.kept(saved)))
    }

    pub(crate) fn logsumexp_backward_on_host(
        &self,
        grad: Operand,
        x: Operand,
        saved: &Saved,
        dim: usize,
    ) -> Result<Storage> {
        let (op, numel) = ("logsumexp_backward", x.layout.shape().numel());
        let saved = self.saved(op, saved)?;
        self.through_host(op, [grad, x], numel, |_, [grad, x]| {
            let family = self.of_cpu(op, |cpu| cpu.softmax_family())?;
            family.logsumexp_backward(grad, x, saved, dim)
        })
    }

    fn norm_inputs(&self, inputs: &NormInputs) -> Result<NormInputs> {
        let statistics = inputs.statistics.as_ref();
        let statistics = statistics.map(|[mean, var]| {
            Ok::<_, module_tensor::Error>([self.host_copy(mean)?, self.host_copy(var)?])
        });
        Ok(NormInputs {
            x: self.host_copy(&inputs.x)?,
            weight: self.host_copies(&inputs.weight)?,
            bias: self.host_copies(&inputs.bias)?,
            statistics: statistics.transpose()?,
        })
    }

    pub(crate) fn norm_on_host(
        &self,
        inputs: &NormInputs,
        geometry: &NormGeometry,
    ) -> Result<Normalized> {
        let op = "normalization";
        let inputs = self.norm_inputs(inputs)?;
        let out = self.compute_on_host(op, [], |_, []| {
            self.of_cpu(op, |cpu| cpu.normalization())?
                .forward(inputs, geometry)
        })?;
        let count = geometry.statistics_count();
        let statistics = out.statistics.map(|[mean, var]| {
            Ok::<_, module_tensor::Error>([
                self.device_copy(mean, count)?,
                self.device_copy(var, count)?,
            ])
        });
        Ok(Normalized {
            output: self.device_copy(out.output, geometry.shape().numel())?,
            statistics: statistics.transpose()?,
            saved: self.kept(out.saved),
        })
    }

    pub(crate) fn norm_backward_on_host(
        &self,
        grad: Operand,
        inputs: &NormInputs,
        saved: &Saved,
        geometry: &NormGeometry,
    ) -> Result<NormGradients> {
        let op = "normalization_backward";
        let (inputs, saved) = (self.norm_inputs(inputs)?, self.saved(op, saved)?);
        let grads = self.compute_on_host(op, [grad], |_, [grad]| {
            let family = self.of_cpu(op, |cpu| cpu.normalization())?;
            family.backward(grad, inputs, saved, geometry)
        })?;
        let count = geometry.groups * geometry.channels;
        let copy = |x: Option<Storage>| x.map(|x| self.device_copy(x, count)).transpose();
        Ok(NormGradients {
            x: self.device_copy(grads.x, geometry.shape().numel())?,
            weight: copy(grads.weight)?,
            bias: copy(grads.bias)?,
        })
    }

    fn entropy_inputs(&self, inputs: &CrossEntropyInputs) -> Result<CrossEntropyInputs> {
        Ok(CrossEntropyInputs {
            x: self.host_copy(&inputs.x)?,
            target: self.host_copy(&inputs.target)?,
            weight: self.host_copies(&inputs.weight)?,
        })
    }

    pub(crate) fn cross_entropy_on_host(
        &self,
        inputs: &CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<(Storage, Saved)> {
        let op = "cross_entropy";
        let inputs = self.entropy_inputs(inputs)?;
        let (losses, saved) = self.compute_on_host(op, [], |_, []| {
            self.of_cpu(op, |cpu| cpu.cross_entropy())?
                .forward(inputs, geometry)
        })?;
        let losses = self.device_copy(losses, geometry.outer * geometry.inner)?;
        Ok((losses, self.kept(saved)))
    }

    pub(crate) fn cross_entropy_backward_on_host(
        &self,
        grad: Operand,
        inputs: &CrossEntropyInputs,
        saved: &Saved,
        geometry: &CrossEntropyGeometry,
    ) -> Result<Storage> {
        let op = "cross_entropy_backward";
        let numel = inputs.x.layout.shape().numel();
        let (inputs, saved) = (self.entropy_inputs(inputs)?, self.saved(op, saved)?);
        self.through_host(op, [grad], numel, |_, [grad]| {
            let family = self.of_cpu(op, |cpu| cpu.cross_entropy())?;
            family.backward(grad, inputs, saved, geometry)
        })
    }

    fn attention_copies(&self, inputs: &AttentionInputs) -> Result<AttentionInputs> {
        Ok(AttentionInputs {
            query: self.host_copy(&inputs.query)?,
            key: self.host_copy(&inputs.key)?,
            value: self.host_copy(&inputs.value)?,
            mask: self.host_copies(&inputs.mask)?,
        })
    }

    pub(crate) fn attention_on_host(
        &self,
        inputs: &AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<(Storage, Saved)> {
        let op = "attention";
        let (query, value) = (inputs.query.layout.shape(), inputs.value.layout.shape());
        let numel = query[0] * query[1] * value[2];
        let inputs = self.attention_copies(inputs)?;
        let (out, saved) = self.compute_on_host(op, [], |_, []| {
            self.of_cpu(op, |cpu| cpu.attention())?
                .forward(inputs, geometry)
        })?;
        Ok((self.device_copy(out, numel)?, self.kept(saved)))
    }

    pub(crate) fn attention_backward_on_host(
        &self,
        grad: Operand,
        inputs: &AttentionInputs,
        saved: &Saved,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]> {
        let op = "attention_backward";
        let sizes = [&inputs.query, &inputs.key, &inputs.value].map(|x| x.layout.shape().numel());
        let (inputs, saved) = (self.attention_copies(inputs)?, self.saved(op, saved)?);
        let [query, key, value] = self.compute_on_host(op, [grad], |_, [grad]| {
            let family = self.of_cpu(op, |cpu| cpu.attention())?;
            family.backward(grad, inputs, saved, geometry)
        })?;
        Ok([
            self.device_copy(query, sizes[0])?,
            self.device_copy(key, sizes[1])?,
            self.device_copy(value, sizes[2])?,
        ])
    }
}
