//! The kernels of a GPU, by the names of the interface of devices.

use module_tensor::backend::{
    ArgReduceOp, AttentionKernels, Backend, BinaryOp, CompareOp, ConvGeometry, ConvOp,
    CrossEntropyKernels, DropoutKernels, FillRange, GatherAlongGeometry, HostData, LinearOp,
    NormKernels, Operand, PoolDivisor, PoolGeometry, ReduceOp, ResampleGeometry, SampleGeometry,
    SampleOp, SharedBytes, SoftmaxKernels, SoftmaxOp, Storage, UnaryOp, UnfoldGeometry, UnfoldOp,
    UpdateKernels,
};
use module_tensor::{DType, Layout, Result, Scalar, Tensor};

use crate::gpu::{Gpu, KIND};
use crate::kernels::Scatter;

impl Backend for Gpu {
    fn kind(&self) -> &str {
        KIND
    }

    fn index(&self) -> usize {
        self.adapter().index
    }

    fn synchronize(&self) -> Result<()> {
        self.wait_for_all()
    }

    fn empty_cache(&self) {
        self.pool.empty();
        self.staging.empty();
    }

    fn copy_from(&self, x: &Operand) -> Result<Option<Storage>> {
        if let Some(packed) = self.copy_packed(x)? {
            return Ok(Some(packed));
        }
        // Elements in the memory of the host are copied once.
        let x = Tensor::from_storage(x.storage.clone(), x.layout.clone());
        let bytes = x.as_le_bytes();
        bytes.map(|bytes| self.send(x.dtype(), bytes)).transpose()
    }

    fn upload(&self, data: HostData) -> Result<Storage> {
        self.send(data.dtype(), &data.to_le_bytes())
    }

    fn borrow(&self, bytes: SharedBytes, dtype: DType) -> Result<Storage> {
        match dtype {
            // Bytes other than 0 and 1 are true.
            DType::Bool => self.upload(HostData::from_le_bytes(dtype, bytes.as_ref())),
            _ => self.send(dtype, bytes.as_ref()),
        }
    }

    fn download(&self, x: &Operand) -> Result<HostData> {
        self.fetch(x)
    }

    fn full(&self, numel: usize, dtype: DType, value: Scalar) -> Result<Storage> {
        self.fill(numel, dtype, value)
    }

    fn contiguous(&self, x: Operand) -> Result<Storage> {
        self.copy_elements("contiguous", &x)
    }

    fn cast(&self, x: Operand, dtype: DType) -> Result<Storage> {
        self.convert(x, dtype)
    }

    fn unary(&self, op: UnaryOp, x: Operand) -> Result<Storage> {
        self.apply_unary(op, x)
    }

    fn unary_times(&self, op: UnaryOp, x: Operand, factor: Operand) -> Result<Storage> {
        self.apply_unary_times(op, x, factor)
    }

    fn binary(&self, op: BinaryOp, a: Operand, b: Operand) -> Result<Storage> {
        self.apply_binary(op, a, b)
    }

    fn fill_in_range(
        &self,
        region: FillRange,
        value: Scalar,
        x: Operand,
        other: Operand,
    ) -> Result<Storage> {
        self.apply_fill_in_range(region, value, x, other)
    }

    fn binary_scalar(&self, op: BinaryOp, x: Operand, number: Scalar) -> Result<Storage> {
        self.apply_binary_scalar(op, x, number)
    }

    fn add_scaled(&self, a: Operand, b: Operand, alpha: Scalar) -> Result<Storage> {
        self.apply_add_scaled(a, b, alpha)
    }

    fn compare(&self, op: CompareOp, a: Operand, b: Operand) -> Result<Storage> {
        self.apply_compare(op, a, b)
    }

    fn compare_scalar(&self, op: CompareOp, x: Operand, number: Scalar) -> Result<Storage> {
        self.apply_compare_scalar(op, x, number)
    }

    fn select(&self, condition: Operand, a: Operand, b: Operand) -> Result<Storage> {
        self.choose(condition, a, b)
    }

    fn masked_fill(&self, x: Operand, mask: Operand, on: bool, number: Scalar) -> Result<Storage> {
        self.fill_masked(x, mask, on, number)
    }

    fn reduce(&self, op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
        self.reduce_dims(op, x, dims)
    }

    fn sum_squares(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        self.sum_squared_elements(x, dims)
    }

    fn arg_reduce(&self, op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage> {
        self.find_extremes(op, x, dim)
    }

    fn cumsum(&self, x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
        self.scan(BinaryOp::Add, x, dim, reverse)
    }

    fn cumprod(&self, x: Operand, dim: usize) -> Result<Storage> {
        self.scan(BinaryOp::Mul, x, dim, false)
    }

    fn argsort(&self, x: Operand, count: usize, descending: bool) -> Result<Storage> {
        self.sort_indices(x, count, descending)
    }

    fn as_strided_scatter(
        &self,
        x: Operand,
        layout: &Layout,
        numel: usize,
        fill: Scalar,
    ) -> Result<Storage> {
        self.write_through(x, layout, numel, fill)
    }

    fn gather_along(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &GatherAlongGeometry,
    ) -> Result<Storage> {
        self.take_along(op, x, geometry)
    }

    fn matmul(&self, a: Operand, b: Operand) -> Result<Storage> {
        self.multiply(None, a, b)
    }

    fn addmm(&self, row: Operand, a: Operand, b: Operand) -> Result<Storage> {
        self.multiply(Some(row), a, b)
    }

    fn packed_matmul(&self, row: Option<Operand>, a: Operand, b: Operand) -> Result<Storage> {
        self.multiply_packed(row, a, b)
    }

    fn softmax(&self, op: SoftmaxOp, x: Operand, dim: usize) -> Result<Storage> {
        self.compute_softmax(op, x, dim)
    }

    fn gather(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        self.gather_elements(x, dim, index)
    }

    fn scatter_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        let how = Scatter::Combine(ReduceOp::Sum);
        self.scatter_elements("scatter_add", how, x, dim, [index, source])
    }

    fn scatter(&self, x: Operand, dim: usize, index: Operand, source: Operand) -> Result<Storage> {
        self.scatter_elements("scatter", Scatter::Replace, x, dim, [index, source])
    }

    fn scatter_reduce(
        &self,
        op: ReduceOp,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        let how = Scatter::Combine(op);
        self.scatter_elements("scatter_reduce", how, x, dim, [index, source])
    }

    fn index_select(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        self.select_slices(x, dim, index)
    }

    fn index_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        self.add_slices(x, dim, index, source)
    }

    fn nonzero(&self, mask: Operand) -> Result<(Storage, usize)> {
        let rank = mask.layout.rank();
        let (places, count) =
            self.compute_on_host("nonzero", [mask], |cpu, [mask]| cpu.nonzero(mask))?;
        Ok((self.device_copy(places, count * rank)?, count))
    }

    fn cat(&self, parts: Vec<Operand>, dim: usize) -> Result<Storage> {
        self.concatenate(parts, dim)
    }

    fn convolution(
        &self,
        op: ConvOp,
        a: Operand,
        b: Operand,
        geometry: &ConvGeometry,
    ) -> Result<Storage> {
        self.convolve(op, a, b, geometry)
    }

    fn unfold(&self, op: UnfoldOp, x: Operand, geometry: &UnfoldGeometry) -> Result<Storage> {
        self.unfold_windows(op, x, geometry)
    }

    fn max_pool(&self, x: Operand, geometry: &PoolGeometry) -> Result<Storage> {
        self.find_greatest(x, geometry)
    }

    fn max_pool_with_indices(
        &self,
        x: Operand,
        geometry: &PoolGeometry,
    ) -> Result<(Storage, Storage)> {
        self.find_greatest_with_places(x, geometry)
    }

    fn max_pool_backward(
        &self,
        grad: Operand,
        indices: Operand,
        geometry: &PoolGeometry,
    ) -> Result<Storage> {
        self.add_to_greatest(grad, indices, geometry)
    }

    fn avg_pool(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &PoolGeometry,
        divisor: PoolDivisor,
    ) -> Result<Storage> {
        self.average_windows(op, x, geometry, divisor)
    }

    fn resample(&self, op: LinearOp, x: Operand, geometry: &ResampleGeometry) -> Result<Storage> {
        self.resize_images(op, x, geometry)
    }

    fn sample(
        &self,
        op: SampleOp,
        a: Operand,
        b: Operand,
        locations: Operand,
        geometry: &SampleGeometry,
    ) -> Result<Storage> {
        self.sample_images(op, [a, b, locations], geometry)
    }

    fn softmax_family(&self) -> Option<&dyn SoftmaxKernels> {
        Some(self)
    }

    fn normalization(&self) -> Option<&dyn NormKernels> {
        Some(self)
    }

    fn cross_entropy(&self) -> Option<&dyn CrossEntropyKernels> {
        Some(self)
    }

    fn attention(&self) -> Option<&dyn AttentionKernels> {
        Some(self)
    }

    fn dropout(&self) -> Option<&dyn DropoutKernels> {
        (!self.has_cpu_dropout()).then_some(self)
    }

    fn updates(&self) -> Option<&dyn UpdateKernels> {
        Some(self)
    }
}
