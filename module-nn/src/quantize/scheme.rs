use module_core::backend::{
    Int4Parts, Int4Storage, Int8Parts, Int8Storage, Nf4Parts, Nf4Storage, Storage,
};
use module_core::{DType, Error, Layout, Result, Tensor};

/// How the elements of a weight `[out_features, in_features]` are packed. The documentation of each storage has its
/// formula.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// use module_nn::quantize::{Scheme, quantize};
///
/// let layer = Linear::new(64, 32)?;
/// let report = quantize(&layer, Select::all(), Scheme::NF4)?;
/// assert!(report.bytes_after < report.bytes_before / 6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// 8 bits with a scale for each row, and products that round their inputs to 8 bits, row by row
    /// ([`Int8Storage`]).
    ///
    /// The numbers of PyTorch's `quantize_dynamic` with `per_channel_dynamic_qconfig`, except that PyTorch chooses one
    /// scale for all input rows; here each row is quantized separately. Gradients to the input are those of the unrounded
    /// product.
    Int8Dynamic,
    /// 8 bits with a scale for each row ([`Int8Storage`]).
    Int8,
    /// 8 bits with a scale for each group of a row ([`Int8Storage`]).
    Int8Grouped {
        /// The number of elements in a group, which divides `in_features`.
        group_size: usize,
    },
    /// 4 bits with a scale and a zero point for each group of a row ([`Int4Storage`]).
    Int4 {
        /// The number of elements in a group, a multiple of 32 that divides `in_features`.
        group_size: usize,
    },
    /// 4 bits as bitsandbytes' `NormalFloat4` ([`Nf4Storage`]).
    Nf4 {
        /// The number of elements in a block, which may extend over several rows.
        block_size: usize,
        /// Whether the maximum absolute values of blocks are rounded to 8 bits too.
        double_quantization: bool,
    },
}

impl Scheme {
    /// `NormalFloat4` as in QLoRA: blocks of 64 and double quantization.
    pub const NF4: Self = Self::Nf4 {
        block_size: 64,
        double_quantization: true,
    };

    /// The name, as in [`Packed::scheme`](module_core::backend::Packed::scheme).
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8Dynamic => "int8_dynamic",
            Self::Int8 | Self::Int8Grouped { .. } => "int8",
            Self::Int4 { .. } => "int4",
            Self::Nf4 { .. } => "nf4",
        }
    }

    /// A matrix with packed elements, on the same device.
    ///
    /// # Errors
    ///
    /// A tensor that is not two-dimensional, elements that are already packed or not finite, a dtype other than `F32`,
    /// `F16` and `BF16`, groups that do not divide the columns.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::{DType, Tensor, quantize::Scheme};
    ///
    /// let x = Tensor::randn([16, 128], DType::F32)?;
    /// let packed = Scheme::NF4.pack(&x)?;
    /// assert_eq!((packed.shape(), packed.nbytes()), (x.shape(), 1024 + 32 + 4));
    /// # Ok::<(), module_nn::Error>(())
    /// ```
    pub fn pack(self, x: &Tensor) -> Result<Tensor> {
        let [_, columns] = x.dims()?;
        let dtype = x.dtype();
        // Otherwise the cast would hide it.
        if !matches!(dtype, DType::F32 | DType::F16 | DType::BF16) {
            let problem = "must be float32, float16 or bfloat16; cast with `to_dtype`";
            return Err(Error::argument(self.name(), "dtype", dtype, problem));
        }
        let values = x.detach().to_dtype(DType::F32)?.to_vec::<f32>()?;
        let storage = match self {
            Self::Int8Dynamic => int8(&values, columns, true, dtype)?,
            Self::Int8 => int8(&values, columns, false, dtype)?,
            Self::Int8Grouped { group_size } => {
                self.check_groups(group_size, columns)?;
                int8(&values, group_size, false, dtype)?
            }
            Self::Int4 { group_size } => {
                self.check_groups(group_size, columns)?;
                let parts = Int4Parts::quantize(&values, group_size, dtype)?;
                Storage::new(Int4Storage::new(parts)?)
            }
            Self::Nf4 {
                block_size,
                double_quantization,
            } => {
                let parts = Nf4Parts::quantize(&values, block_size, double_quantization, dtype)?;
                Storage::new(Nf4Storage::new(parts)?)
            }
        };
        let packed = Tensor::from_storage(storage, Layout::contiguous(x.shape().clone()));
        packed.to_device(&x.device())
    }

    /// Checks that groups do not extend over several rows.
    fn check_groups(self, size: usize, columns: usize) -> Result<()> {
        if size > 0 && columns.is_multiple_of(size) {
            return Ok(());
        }
        let problem = format!("must divide the {columns} columns of the weight");
        Err(Error::argument(self.name(), "group_size", size, problem))
    }
}

fn int8(values: &[f32], group_size: usize, rounds_inputs: bool, dtype: DType) -> Result<Storage> {
    let parts = Int8Parts::quantize(values, group_size, rounds_inputs, dtype)?;
    Ok(Storage::new(Int8Storage::new(parts)?))
}
