//! The backend of host memory.

use std::ops::RangeInclusive;

use super::super::{
    AttentionKernels, Backend, CrossEntropyKernels, CtcKernels, DeviceGenerator, GridSampleKernels,
    NormKernels, RecurrentKernels, SoftmaxKernels,
};
use super::dispatch::{dispatch, dispatch_computed, dispatch_moved};
use super::map::{self, by_width};
use super::view;
use super::{
    ArgReduceOp, BinaryOp, CompareOp, ConvGeometry, ConvOp, CpuStorage, Element, FillRange,
    GatherAlongGeometry, HostData, LinearOp, Operand, PoolDivisor, PoolGeometry, ReduceOp,
    ResampleGeometry, SampleGeometry, SampleOp, SharedBytes, SoftmaxOp, Storage, UnaryOp,
    UnfoldGeometry, UnfoldOp, check_allocatable,
};
use super::{
    all_dtypes, arg_reduce, as_strided_scatter, band, blocks, cast, choose, conv, count,
    elementwise, full, gather, gather_along, half_product, index, index_add, nonzero,
    packed_matmul, pool, resample, rng, sample, scan, softmax, sort, truth, unary, unfold,
};
use crate::layout::{Layout, Shape};
use crate::{DType, Result, Scalar};

/// The backend of host memory.
pub(in crate::backend) struct CpuBackend {
    /// Backends are told apart by their addresses, so this one occupies memory.
    _marker: u8,
}

/// The one CPU.
pub(in crate::backend) static CPU: CpuBackend = CpuBackend { _marker: 0 };

impl Backend for CpuBackend {
    fn kind(&self) -> &str {
        "cpu"
    }

    fn generator(&self, seed: u64) -> Option<Box<dyn DeviceGenerator>> {
        Some(Box::new(rng::CpuGenerator::new(seed)))
    }

    fn empty_cache(&self) {
        blocks::empty();
    }

    fn upload(&self, data: HostData) -> Result<Storage> {
        Ok(CpuStorage::of(data))
    }

    fn borrow(&self, bytes: SharedBytes, dtype: DType) -> Result<Storage> {
        if let Some(storage) = CpuStorage::borrow(bytes.clone(), dtype) {
            return Ok(storage);
        }
        check_allocatable::<u8>(bytes.as_ref().len())?;
        self.upload(HostData::from_le_bytes(dtype, bytes.as_ref()))
    }

    fn download(&self, x: &Operand) -> Result<HostData> {
        let dtype = x.storage.dtype();
        if !dtype.is_storage_only() {
            return dispatch_computed!("to_vec", dtype, T => Ok(T::into_host(view::to_plain_vec::<T>(x)?)));
        }
        // Elements that are only stored are put in order as those of another dtype.
        let x = match x.layout.is_contiguous() {
            true => x.clone(),
            false => Operand {
                storage: self.contiguous(x.clone())?,
                layout: Layout::contiguous(x.layout.shape().clone()),
            },
        };
        dispatch!(dtype, T => {
            let values = view::slice::<T>(&x)?.unwrap_or_default();
            check_allocatable::<T>(values.len())?;
            Ok(T::into_host(values.to_vec()))
        })
    }

    fn full(&self, numel: usize, dtype: DType, value: Scalar) -> Result<Storage> {
        full::full(numel, dtype, value)
    }

    fn contiguous(&self, x: Operand) -> Result<Storage> {
        by_width(
            [x],
            |[x]| dispatch_moved!("contiguous", x.storage.dtype(), T => Ok(CpuStorage::wrap(view::to_vec::<T>(&x)?))),
        )
    }

    fn cast(&self, x: Operand, dtype: DType) -> Result<Storage> {
        cast::cast(x, dtype)
    }

    fn unary(&self, op: UnaryOp, mut x: Operand) -> Result<Storage> {
        unary::unary(op, &mut x)
    }

    fn unary_times(&self, op: UnaryOp, mut x: Operand, mut factor: Operand) -> Result<Storage> {
        unary::unary_times(op, &mut x, &mut factor)
    }

    fn binary(&self, op: BinaryOp, mut a: Operand, mut b: Operand) -> Result<Storage> {
        elementwise::binary(op, &mut a, &mut b)
    }

    fn fill_in_range(
        &self,
        region: FillRange,
        value: Scalar,
        mut x: Operand,
        mut other: Operand,
    ) -> Result<Storage> {
        elementwise::fill_in_range(region, value, &mut x, &mut other)
    }

    fn binary_scalar(&self, op: BinaryOp, mut x: Operand, number: Scalar) -> Result<Storage> {
        elementwise::binary_scalar(op, &mut x, number)
    }

    fn add_scaled(&self, a: Operand, b: Operand, alpha: Scalar) -> Result<Storage> {
        elementwise::add_scaled(a, b, alpha)
    }

    fn compare(&self, op: CompareOp, a: Operand, b: Operand) -> Result<Storage> {
        all_dtypes::compare(op, &a, &b)
    }

    fn compare_scalar(&self, op: CompareOp, x: Operand, number: Scalar) -> Result<Storage> {
        all_dtypes::compare_scalar(op, &x, number)
    }

    fn select(&self, condition: Operand, a: Operand, b: Operand) -> Result<Storage> {
        by_width([a, b], |[mut a, mut b]| {
            dispatch_moved!("where", a.storage.dtype(), T => {
                choose::select::<T>(&condition, &mut a, &mut b)
            })
        })
    }

    fn masked_fill(&self, x: Operand, mask: Operand, on: bool, number: Scalar) -> Result<Storage> {
        let dtype = x.storage.dtype();
        if dtype == DType::Bool && mask.storage.dtype() == DType::Bool {
            return truth::masked_fill(&x, &mask, on, number);
        }
        if dtype.is_storage_only() {
            // The number is moved as the elements are.
            let layout = Layout::contiguous(Shape::default());
            let layout = layout.broadcast_to("masked_fill", x.layout.shape())?;
            let storage = self.full(1, dtype, number)?;
            let number = Operand { storage, layout };
            let (a, b) = if on { (number, x) } else { (x, number) };
            return self.select(mask, a, b);
        }
        dispatch_computed!("masked_fill", dtype, T => {
            choose::fill_where::<T>(x, &mask, on, number)
        })
    }

    fn reduce(&self, op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
        all_dtypes::reduce(op, x, dims)
    }

    fn sum_squares(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        all_dtypes::sum_squares(x, dims)
    }

    fn any(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        truth::any(&x, dims)
    }

    fn all(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        truth::all(&x, dims)
    }

    fn arg_reduce(&self, op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage> {
        arg_reduce::arg_reduce(op, x, dim)
    }

    fn cumsum(&self, x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
        scan::cumsum(x, dim, reverse)
    }

    fn cumprod(&self, x: Operand, dim: usize) -> Result<Storage> {
        scan::cumprod(x, dim)
    }

    fn argsort(&self, x: Operand, count: usize, descending: bool) -> Result<Storage> {
        dispatch_computed!("sort", x.storage.dtype(), T => {
            sort::argsort::<T>(&x, count, descending)
        })
    }

    fn as_strided_scatter(
        &self,
        x: Operand,
        layout: &Layout,
        numel: usize,
        fill: Scalar,
    ) -> Result<Storage> {
        as_strided_scatter::as_strided_scatter(x, layout, numel, fill)
    }

    fn keep_band(&self, x: Operand, band: RangeInclusive<i64>) -> Result<Storage> {
        band::keep_band(x, &band)
    }

    fn gather_along(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &GatherAlongGeometry,
    ) -> Result<Storage> {
        gather_along::gather_along(op, x, geometry)
    }

    fn matmul(&self, a: Operand, b: Operand) -> Result<Storage> {
        half_product::product(None, a, b)
    }

    fn addmm(&self, row: Operand, a: Operand, b: Operand) -> Result<Storage> {
        half_product::product(Some(row), a, b)
    }

    fn packed_matmul(&self, row: Option<Operand>, a: Operand, b: Operand) -> Result<Storage> {
        if let Some(product) = packed_matmul::packed_matmul(row.as_ref(), &a, &b)? {
            return Ok(product);
        }
        let b = self.unpacked(b, a.storage.dtype())?;
        half_product::product(row, a, b)
    }

    fn softmax(&self, op: SoftmaxOp, x: Operand, dim: usize) -> Result<Storage> {
        softmax::softmax(op, &x, dim)
    }

    fn gather(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        by_width(
            [x],
            |[x]| dispatch_moved!("gather", x.storage.dtype(), T => gather::gather::<T>(&x, dim, &index)),
        )
    }

    fn scatter_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        map::through_wide([x, source], |[x, source]| {
            gather::scatter_add(x, dim, &index, &source)
        })
    }

    fn scatter(&self, x: Operand, dim: usize, index: Operand, source: Operand) -> Result<Storage> {
        by_width([x, source], |[x, source]| {
            dispatch_moved!("scatter", x.storage.dtype(), T => {
                gather::scatter::<T>(x, dim, &index, &source)
            })
        })
    }

    fn scatter_reduce(
        &self,
        op: ReduceOp,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        map::through_wide([x, source], |[x, source]| {
            gather::scatter_reduce(op, x, dim, &index, &source)
        })
    }

    fn index_select(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        index::index_select(x, dim, &index)
    }

    fn index_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        map::through_wide([x, source], |[x, source]| {
            index_add::index_add(x, dim, &index, &source)
        })
    }

    fn bincount(&self, x: Operand, length: usize) -> Result<Storage> {
        count::bincount(&x, length)
    }

    fn nonzero(&self, mask: Operand) -> Result<(Storage, usize)> {
        nonzero::nonzero(&mask)
    }

    fn cat(&self, parts: Vec<Operand>, dim: usize) -> Result<Storage> {
        index::cat(parts, dim)
    }

    fn convolution(
        &self,
        op: ConvOp,
        a: Operand,
        b: Operand,
        geometry: &ConvGeometry,
    ) -> Result<Storage> {
        map::through_f32([a, b], |[a, b]| conv::convolution(op, &a, &b, geometry))
    }

    fn unfold(&self, op: UnfoldOp, x: Operand, geometry: &UnfoldGeometry) -> Result<Storage> {
        map::through_f32([x], |[x]| unfold::unfold(op, &x, geometry))
    }

    fn max_pool(&self, x: Operand, geometry: &PoolGeometry) -> Result<Storage> {
        pool::max_pool(&x, geometry)
    }

    fn max_pool_with_indices(
        &self,
        x: Operand,
        geometry: &PoolGeometry,
    ) -> Result<(Storage, Storage)> {
        pool::max_pool_with_indices(&x, geometry)
    }

    fn max_pool_backward(
        &self,
        grad: Operand,
        indices: Operand,
        geometry: &PoolGeometry,
    ) -> Result<Storage> {
        map::through_f32([grad], |[grad]| {
            pool::max_pool_backward(&grad, &indices, geometry)
        })
    }

    fn avg_pool(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &PoolGeometry,
        divisor: PoolDivisor,
    ) -> Result<Storage> {
        map::through_f32([x], |[x]| resample::avg_pool(op, &x, geometry, divisor))
    }

    fn resample(&self, op: LinearOp, x: Operand, geometry: &ResampleGeometry) -> Result<Storage> {
        map::through_f32([x], |[x]| resample::resample(op, &x, geometry))
    }

    fn sample(
        &self,
        op: SampleOp,
        a: Operand,
        b: Operand,
        locations: Operand,
        geometry: &SampleGeometry,
    ) -> Result<Storage> {
        map::through_f32([a, b], |[a, b]| {
            sample::sample(op, &a, &b, &locations, geometry)
        })
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

    fn grid_sample(&self) -> Option<&dyn GridSampleKernels> {
        Some(self)
    }

    fn ctc(&self) -> Option<&dyn CtcKernels> {
        Some(self)
    }

    fn attention(&self) -> Option<&dyn AttentionKernels> {
        Some(self)
    }

    fn recurrent(&self) -> Option<&dyn RecurrentKernels> {
        Some(self)
    }
}
