//! The kernels of a GPU, by the names of the interface of devices.

use module_tensor::backend::{
    ArgReduceOp, AttentionKernels, Backend, BinaryOp, CompareOp, ConvGeometry, ConvOp,
    CrossEntropyKernels, FillRange, GatherAlongGeometry, HostData, LinearOp, NormKernels, Operand,
    PoolDivisor, PoolGeometry, ReduceOp, ResampleGeometry, SampleGeometry, SampleOp, SharedBytes,
    SoftmaxKernels, SoftmaxOp, Storage, UnaryOp, UnfoldGeometry, UnfoldOp, UpdateKernels,
};
use module_tensor::{DType, Layout, Result, Scalar};

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
        self.filled(numel, dtype, value)
    }

    fn contiguous(&self, x: Operand) -> Result<Storage> {
        self.copy_elements("contiguous", &x)
    }

    fn cast(&self, x: Operand, dtype: DType) -> Result<Storage> {
        self.converted(x, dtype)
    }

    fn unary(&self, op: UnaryOp, x: Operand) -> Result<Storage> {
        self.of_one(op, x)
    }

    fn unary_times(&self, op: UnaryOp, x: Operand, factor: Operand) -> Result<Storage> {
        self.of_one_times(op, x, factor)
    }

    fn binary(&self, op: BinaryOp, a: Operand, b: Operand) -> Result<Storage> {
        self.of_two(op, a, b)
    }

    fn fill_in_range(
        &self,
        region: FillRange,
        value: Scalar,
        x: Operand,
        other: Operand,
    ) -> Result<Storage> {
        self.filled_in_range(region, value, x, other)
    }

    fn binary_scalar(&self, op: BinaryOp, x: Operand, number: Scalar) -> Result<Storage> {
        self.of_number(op, x, number)
    }

    fn add_scaled(&self, a: Operand, b: Operand, alpha: Scalar) -> Result<Storage> {
        self.sum_scaled(a, b, alpha)
    }

    fn compare(&self, op: CompareOp, a: Operand, b: Operand) -> Result<Storage> {
        self.comparison(op, a, b)
    }

    fn compare_scalar(&self, op: CompareOp, x: Operand, number: Scalar) -> Result<Storage> {
        self.comparison_with(op, x, number)
    }

    fn select(&self, condition: Operand, a: Operand, b: Operand) -> Result<Storage> {
        self.selected(condition, a, b)
    }

    fn masked_fill(&self, x: Operand, mask: Operand, on: bool, number: Scalar) -> Result<Storage> {
        self.masked(x, mask, on, number)
    }

    fn reduce(&self, op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
        self.reduced(op, x, dims)
    }

    fn sum_squares(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        self.squares_summed(x, dims)
    }

    fn arg_reduce(&self, op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage> {
        self.extreme(op, x, dim)
    }

    fn cumsum(&self, x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
        self.scanned(BinaryOp::Add, x, dim, reverse)
    }

    fn cumprod(&self, x: Operand, dim: usize) -> Result<Storage> {
        self.scanned(BinaryOp::Mul, x, dim, false)
    }

    fn argsort(&self, x: Operand, count: usize, descending: bool) -> Result<Storage> {
        self.sorted(x, count, descending)
    }

    fn as_strided_scatter(
        &self,
        x: Operand,
        layout: &Layout,
        numel: usize,
        fill: Scalar,
    ) -> Result<Storage> {
        self.written_through(x, layout, numel, fill)
    }

    fn gather_along(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &GatherAlongGeometry,
    ) -> Result<Storage> {
        self.taken_along(op, x, geometry)
    }

    fn matmul(&self, a: Operand, b: Operand) -> Result<Storage> {
        self.multiplied(None, a, b)
    }

    fn addmm(&self, row: Operand, a: Operand, b: Operand) -> Result<Storage> {
        self.multiplied(Some(row), a, b)
    }

    fn softmax(&self, op: SoftmaxOp, x: Operand, dim: usize) -> Result<Storage> {
        self.softmaxed(op, x, dim)
    }

    fn gather(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        self.gathered(x, dim, index)
    }

    fn scatter_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        let how = Scatter::Combine(ReduceOp::Sum);
        self.scattered("scatter_add", how, x, dim, [index, source])
    }

    fn scatter(&self, x: Operand, dim: usize, index: Operand, source: Operand) -> Result<Storage> {
        self.scattered("scatter", Scatter::Replace, x, dim, [index, source])
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
        self.scattered("scatter_reduce", how, x, dim, [index, source])
    }

    fn index_select(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        self.slices_selected(x, dim, index)
    }

    fn index_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        self.slices_added(x, dim, index, source)
    }

    fn nonzero(&self, mask: Operand) -> Result<(Storage, usize)> {
        let rank = mask.layout.rank();
        let (places, count) =
            self.compute_on_host("nonzero", [mask], |cpu, [mask]| cpu.nonzero(mask))?;
        Ok((self.device_copy(places, count * rank)?, count))
    }

    fn cat(&self, parts: Vec<Operand>, dim: usize) -> Result<Storage> {
        self.concatenated(parts, dim)
    }

    fn convolution(
        &self,
        op: ConvOp,
        a: Operand,
        b: Operand,
        geometry: &ConvGeometry,
    ) -> Result<Storage> {
        self.convolved(op, a, b, geometry)
    }

    fn unfold(&self, op: UnfoldOp, x: Operand, geometry: &UnfoldGeometry) -> Result<Storage> {
        self.unfolded(op, x, geometry)
    }

    fn max_pool(&self, x: Operand, geometry: &PoolGeometry) -> Result<Storage> {
        self.greatest(x, geometry)
    }

    fn max_pool_with_indices(
        &self,
        x: Operand,
        geometry: &PoolGeometry,
    ) -> Result<(Storage, Storage)> {
        self.greatest_with_places(x, geometry)
    }

    fn max_pool_backward(
        &self,
        grad: Operand,
        indices: Operand,
        geometry: &PoolGeometry,
    ) -> Result<Storage> {
        self.greatest_backward(grad, indices, geometry)
    }

    fn avg_pool(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &PoolGeometry,
        divisor: PoolDivisor,
    ) -> Result<Storage> {
        self.averaged(op, x, geometry, divisor)
    }

    fn resample(&self, op: LinearOp, x: Operand, geometry: &ResampleGeometry) -> Result<Storage> {
        self.resized(op, x, geometry)
    }

    fn sample(
        &self,
        op: SampleOp,
        a: Operand,
        b: Operand,
        locations: Operand,
        geometry: &SampleGeometry,
    ) -> Result<Storage> {
        self.sampled(op, [a, b, locations], geometry)
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

    fn updates(&self) -> Option<&dyn UpdateKernels> {
        Some(self)
    }
}
