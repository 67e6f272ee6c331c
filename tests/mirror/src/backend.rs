//! The kernels of a mirror.

use std::sync::PoisonError;

use module_tensor::backend::{
    ArgReduceOp, AttentionKernels, Backend, BinaryOp, CompareOp, ConvGeometry, ConvOp,
    CrossEntropyKernels, CtcKernels, DeviceGenerator, DropoutKernels, FillRange,
    GatherAlongGeometry, GridSampleKernels, HostData, LinearOp, NormKernels, Operand, PoolDivisor,
    PoolGeometry, RecurrentKernels, ReduceOp, ResampleGeometry, SampleGeometry, SampleOp,
    SoftmaxKernels, SoftmaxOp, Storage, UnaryOp, UnfoldGeometry, UnfoldOp, UpdateKernels,
};
use module_tensor::{DType, Device, DeviceError, Error, Layout, Result, Scalar, Tensor};

use crate::Family;
use crate::device::{KIND, Mirror};
use crate::generator::Hashes;

/// Checks that a dtype represents a number exactly, which kernels may rely on.
fn check_held(dtype: DType, number: Scalar) -> Result<()> {
    let held = Tensor::full((), number, (dtype, &Device::cpu()))?.to_dtype(DType::F64)?;
    let (held, number) = (held.item::<f64>()?, number.to_f64());
    if held == number || held.is_nan() && number.is_nan() {
        return Ok(());
    }
    let problem = format!("must be one that {dtype} holds, such as {held:?}");
    Err(Error::argument("mirror", "number", number, problem))
}

impl Backend for Mirror {
    fn kind(&self) -> &str {
        KIND
    }

    fn index(&self) -> usize {
        self.index
    }

    fn synchronize(&self) -> Result<()> {
        let failed = self.failed.lock();
        let failed = failed.unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), Err)
    }

    fn generator(&self, seed: u64) -> Option<Box<dyn DeviceGenerator>> {
        let (device, count) = (self.device(), 0);
        let hashes = Hashes {
            device,
            seed,
            count,
        };
        self.draws.then(|| Box::new(hashes) as _)
    }

    fn upload(&self, data: HostData) -> Result<Storage> {
        self.run(|cpu| cpu.upload(data))
    }

    fn download(&self, x: &Operand) -> Result<HostData> {
        self.synchronize()?;
        Device::cpu().backend().download(&self.read(x.clone())?)
    }

    fn full(&self, numel: usize, dtype: DType, value: Scalar) -> Result<Storage> {
        let bytes = numel * dtype.size_in_bytes();
        if bytes > self.room {
            let device = self.device().to_string();
            return Err(DeviceError::OutOfMemory { device, bytes }.into());
        }
        self.run(|cpu| cpu.full(numel, dtype, value))
    }

    fn contiguous(&self, x: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.contiguous(self.read(x)?))
    }

    fn cast(&self, x: Operand, dtype: DType) -> Result<Storage> {
        self.run(|cpu| cpu.cast(self.read(x)?, dtype))
    }

    fn unary(&self, op: UnaryOp, x: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.unary(op, self.read(x)?))
    }

    fn binary(&self, op: BinaryOp, a: Operand, b: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.binary(op, self.read(a)?, self.read(b)?))
    }

    fn fill_in_range(
        &self,
        region: FillRange,
        value: Scalar,
        x: Operand,
        other: Operand,
    ) -> Result<Storage> {
        self.run(|cpu| cpu.fill_in_range(region, value, self.read(x)?, self.read(other)?))
    }

    fn binary_scalar(&self, op: BinaryOp, x: Operand, number: Scalar) -> Result<Storage> {
        self.run(|cpu| cpu.binary_scalar(op, self.read(x)?, number))
    }

    fn add_scaled(&self, a: Operand, b: Operand, alpha: Scalar) -> Result<Storage> {
        self.run(|cpu| cpu.add_scaled(self.read(a)?, self.read(b)?, alpha))
    }

    fn compare(&self, op: CompareOp, a: Operand, b: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.compare(op, self.read(a)?, self.read(b)?))
    }

    fn compare_scalar(&self, op: CompareOp, x: Operand, number: Scalar) -> Result<Storage> {
        let x = self.read(x)?;
        check_held(x.storage.dtype(), number)?;
        self.run(|cpu| cpu.compare_scalar(op, x, number))
    }

    fn select(&self, condition: Operand, a: Operand, b: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.select(self.read(condition)?, self.read(a)?, self.read(b)?))
    }

    fn masked_fill(&self, x: Operand, mask: Operand, on: bool, number: Scalar) -> Result<Storage> {
        let x = self.read(x)?;
        check_held(x.storage.dtype(), number)?;
        self.run(|cpu| cpu.masked_fill(x, self.read(mask)?, on, number))
    }

    fn reduce(&self, op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
        self.run(|cpu| cpu.reduce(op, self.read(x)?, dims))
    }

    fn arg_reduce(&self, op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage> {
        self.run(|cpu| cpu.arg_reduce(op, self.read(x)?, dim))
    }

    fn cumsum(&self, x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
        self.run(|cpu| cpu.cumsum(self.read(x)?, dim, reverse))
    }

    fn cumprod(&self, x: Operand, dim: usize) -> Result<Storage> {
        self.run(|cpu| cpu.cumprod(self.read(x)?, dim))
    }

    fn argsort(&self, x: Operand, count: usize, descending: bool) -> Result<Storage> {
        self.run(|cpu| cpu.argsort(self.read(x)?, count, descending))
    }

    fn as_strided_scatter(
        &self,
        x: Operand,
        layout: &Layout,
        numel: usize,
        fill: Scalar,
    ) -> Result<Storage> {
        self.run(|cpu| cpu.as_strided_scatter(self.read(x)?, layout, numel, fill))
    }

    fn gather_along(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &GatherAlongGeometry,
    ) -> Result<Storage> {
        self.run(|cpu| cpu.gather_along(op, self.read(x)?, geometry))
    }

    fn matmul(&self, a: Operand, b: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.matmul(self.read(a)?, self.read(b)?))
    }

    fn addmm(&self, row: Operand, a: Operand, b: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.addmm(self.read(row)?, self.read(a)?, self.read(b)?))
    }

    fn softmax(&self, op: SoftmaxOp, x: Operand, dim: usize) -> Result<Storage> {
        self.run(|cpu| cpu.softmax(op, self.read(x)?, dim))
    }

    fn gather(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.gather(self.read(x)?, dim, self.read(index)?))
    }

    fn scatter_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        let (index, source) = (self.read(index)?, self.read(source)?);
        self.run(|cpu| cpu.scatter_add(self.read(x)?, dim, index, source))
    }

    fn scatter(&self, x: Operand, dim: usize, index: Operand, source: Operand) -> Result<Storage> {
        let (index, source) = (self.read(index)?, self.read(source)?);
        self.run(|cpu| cpu.scatter(self.read(x)?, dim, index, source))
    }

    fn scatter_reduce(
        &self,
        op: ReduceOp,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        let (index, source) = (self.read(index)?, self.read(source)?);
        self.run(|cpu| cpu.scatter_reduce(op, self.read(x)?, dim, index, source))
    }

    fn index_select(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        self.run(|cpu| cpu.index_select(self.read(x)?, dim, self.read(index)?))
    }

    fn index_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        let (index, source) = (self.read(index)?, self.read(source)?);
        self.run(|cpu| cpu.index_add(self.read(x)?, dim, index, source))
    }

    fn nonzero(&self, mask: Operand) -> Result<(Storage, usize)> {
        let (places, count) = Device::cpu().backend().nonzero(self.read(mask)?)?;
        Ok((self.hide(places), count))
    }

    fn cat(&self, parts: Vec<Operand>, dim: usize) -> Result<Storage> {
        let parts = parts.into_iter().map(|part| self.read(part));
        let parts = parts.collect::<Result<_>>()?;
        self.run(|cpu| cpu.cat(parts, dim))
    }

    fn convolution(
        &self,
        op: ConvOp,
        a: Operand,
        b: Operand,
        geometry: &ConvGeometry,
    ) -> Result<Storage> {
        self.run(|cpu| cpu.convolution(op, self.read(a)?, self.read(b)?, geometry))
    }

    fn unfold(&self, op: UnfoldOp, x: Operand, geometry: &UnfoldGeometry) -> Result<Storage> {
        self.run(|cpu| cpu.unfold(op, self.read(x)?, geometry))
    }

    fn max_pool(&self, x: Operand, geometry: &PoolGeometry) -> Result<Storage> {
        self.run(|cpu| cpu.max_pool(self.read(x)?, geometry))
    }

    fn max_pool_with_indices(
        &self,
        x: Operand,
        geometry: &PoolGeometry,
    ) -> Result<(Storage, Storage)> {
        let cpu = Device::cpu();
        let (greatest, places) = cpu
            .backend()
            .max_pool_with_indices(self.read(x)?, geometry)?;
        Ok((self.hide(greatest), self.hide(places)))
    }

    fn max_pool_backward(
        &self,
        grad: Operand,
        indices: Operand,
        geometry: &PoolGeometry,
    ) -> Result<Storage> {
        let indices = self.read(indices)?;
        self.run(|cpu| cpu.max_pool_backward(self.read(grad)?, indices, geometry))
    }

    fn avg_pool(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &PoolGeometry,
        divisor: PoolDivisor,
    ) -> Result<Storage> {
        self.run(|cpu| cpu.avg_pool(op, self.read(x)?, geometry, divisor))
    }

    fn resample(&self, op: LinearOp, x: Operand, geometry: &ResampleGeometry) -> Result<Storage> {
        self.run(|cpu| cpu.resample(op, self.read(x)?, geometry))
    }

    fn sample(
        &self,
        op: SampleOp,
        a: Operand,
        b: Operand,
        locations: Operand,
        geometry: &SampleGeometry,
    ) -> Result<Storage> {
        let (a, b) = (self.read(a)?, self.read(b)?);
        self.run(|cpu| cpu.sample(op, a, b, self.read(locations)?, geometry))
    }

    fn softmax_family(&self) -> Option<&dyn SoftmaxKernels> {
        self.has(Family::Softmax).then_some(self)
    }

    fn normalization(&self) -> Option<&dyn NormKernels> {
        self.has(Family::Norm).then_some(self)
    }

    fn cross_entropy(&self) -> Option<&dyn CrossEntropyKernels> {
        self.has(Family::CrossEntropy).then_some(self)
    }

    fn grid_sample(&self) -> Option<&dyn GridSampleKernels> {
        self.has(Family::GridSample).then_some(self)
    }

    fn ctc(&self) -> Option<&dyn CtcKernels> {
        self.has(Family::Ctc).then_some(self)
    }

    fn attention(&self) -> Option<&dyn AttentionKernels> {
        self.has(Family::Attention).then_some(self)
    }

    fn recurrent(&self) -> Option<&dyn RecurrentKernels> {
        self.has(Family::Recurrent).then_some(self)
    }

    fn dropout(&self) -> Option<&dyn DropoutKernels> {
        self.drops.then_some(self)
    }

    fn updates(&self) -> Option<&dyn UpdateKernels> {
        self.has(Family::Updates).then_some(self)
    }
}
