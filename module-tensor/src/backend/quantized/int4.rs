// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::{CodeOrder, CodeTables, CodedRows, Device, PackedRuns};
use super::shared::{HostPacked, check_dtype, check_finite, check_len};
use crate::simd::{Loop, run_at_best_level};
use crate::zip::zip;
use crate::{DType, Error, Result};

/// 4-bit integers with a scale and a zero point for each group: `scale · (code - zero_point)`.
///
/// With `a = min(w, 0)` and `b = max(w, 0)` over the group, `scale = (b - a)/15`, at least 2⁻²³, `zero_point = -a/scale`
/// and `code = w/scale + zero_point`, each rounded to nearest, ties to even, from 0 to 15: as PyTorch's
/// `PerChannelMinMaxObserver` chooses for `torch.per_channel_affine`.
///
/// The first half of a group's codes are in the lower halves of its bytes, the second half in the upper ones.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{Int4Parts, Int4Storage, Storage};
/// use module_tensor::{DType, Layout, Tensor};
///
/// // The numbers 0 to 15, twice: one group with a scale of 1.
/// let values: Vec<f32> = (0..32_u8).map(|i| f32::from(i % 16)).collect();
/// let parts = Int4Parts::quantize(&values, Int4Parts::GROUP_MULTIPLE, DType::F32)?;
/// let storage = Int4Storage::new(parts)?;
/// let parts = storage.parts();
/// assert_eq!((parts.scales[0], parts.zero_points[0], parts.codes[3]), (1.0, 0, 0x33));
/// let x = Tensor::from_storage(Storage::new(storage), Layout::contiguous([2, 16].into()));
/// assert_eq!((x.nbytes(), x.unpack()?.to_vec::<f32>()?), (16 + 4 + 1, values));
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Int4Storage {
    parts: Int4Parts,
    device: Device,
}

/// The parts of an [`Int4Storage`].
#[derive(Clone, Debug)]
pub struct Int4Parts {
    /// Two codes in each byte.
    pub codes: Vec<u8>,
    /// One for each group, in the order of the codes.
    pub scales: Vec<f32>,
    /// One for each group, from 0 to 15.
    pub zero_points: Vec<u8>,
    /// The elements of a group: a multiple of [`Int4Parts::GROUP_MULTIPLE`].
    pub group_size: usize,
    /// The dtype of unpacked elements.
    pub dtype: DType,
}

/// The name in errors.
const NAME: &str = "int4";

/// The bytes that are unpacked together.
const BYTES: usize = 16;

/// For each zero point, the value of each code minus it.
const DIFFERENCES: [[f32; 16]; 16] = {
    let mut all = [[0.0; 16]; 16];
    let mut zero = 0;
    while zero < 16 {
        let mut code = 0;
        while code < 16 {
            all[zero][code] = code as f32 - zero as f32;
            code += 1;
        }
        zero += 1;
    }
    all
};

impl Int4Parts {
    /// The size of a group is a multiple of this.
    pub const GROUP_MULTIPLE: usize = 2 * BYTES;

    /// Rounds groups of elements; an incomplete last group is ignored.
    ///
    /// # Errors
    ///
    /// Elements that are not finite.
    pub fn quantize(values: &[f32], group_size: usize, dtype: DType) -> Result<Self> {
        check_finite(NAME, values)?;
        let mut parts = Self {
            codes: Vec::with_capacity(values.len() / 2),
            scales: Vec::new(),
            zero_points: Vec::new(),
            group_size,
            dtype,
        };
        for group in values.chunks_exact(group_size.max(1)) {
            let least = group.iter().copied().fold(0.0, f32::min);
            let greatest = group.iter().copied().fold(0.0, f32::max);
            let scale = ((greatest - least) / 15.0).max(f32::EPSILON);
            let zero_point = (-(least / scale).round_ties_even()).clamp(0.0, 15.0);
            let inverse = 1.0 / scale;
            let code = |v: f32| {
                let code = (v * inverse).round_ties_even() + zero_point;
                code.clamp(0.0, 15.0) as u8
            };
            let (low, high) = group.split_at(group_size / 2);
            let bytes = zip(low, high).map(|(&low, &high)| code(low) | code(high) << 4);
            parts.codes.extend(bytes);
            parts.scales.push(scale);
            parts.zero_points.push(zero_point as u8);
        }
        Ok(parts)
    }
}

impl Int4Storage {
    /// A storage of these parts.
    ///
    /// # Errors
    ///
    /// A group size that is not a multiple of [`Int4Parts::GROUP_MULTIPLE`]; a number of codes, scales or zero points that
    /// does not match the groups; a zero point above 15; a dtype other than `F32`, `F16` and `BF16`.
    pub fn new(parts: Int4Parts) -> Result<Self> {
        check_dtype(NAME, parts.dtype)?;
        let size = parts.group_size;
        if size == 0 || !size.is_multiple_of(Int4Parts::GROUP_MULTIPLE) {
            let problem = format!("must be a multiple of {}", Int4Parts::GROUP_MULTIPLE);
            return Err(Error::argument(NAME, "group_size", size, problem));
        }
        let groups = parts.scales.len();
        check_len(NAME, "codes", parts.codes.len(), groups * (size / 2))?;
        check_len(NAME, "zero_points", parts.zero_points.len(), groups)?;
        if let Some(zero_point) = parts.zero_points.iter().find(|&&zero| zero > 15) {
            return Err(Error::argument(
                NAME,
                "zero_point",
                zero_point,
                "must be from 0 to 15",
            ));
        }
        let device = Device::cpu();
        Ok(Self { parts, device })
    }

    /// Its parts.
    pub fn parts(&self) -> &Int4Parts {
        &self.parts
    }
}

impl HostPacked for Int4Storage {
    fn scheme(&self) -> &'static str {
        NAME
    }

    fn numel(&self) -> usize {
        2 * self.parts.codes.len()
    }

    fn size_in_bytes(&self) -> usize {
        let Int4Parts { codes, scales, .. } = &self.parts;
        codes.len() + size_of_val(&**scales) + self.parts.zero_points.len()
    }

    fn dtype(&self) -> DType {
        self.parts.dtype
    }

    fn device(&self) -> Device {
        self.device
    }

    fn on(&self, device: Device) -> Self {
        Self {
            device,
            ..self.clone()
        }
    }
}

impl PackedRuns for Int4Storage {
    fn group(&self) -> usize {
        self.parts.group_size
    }

    fn coded_rows(&self) -> Option<CodedRows<'_>> {
        Some(CodedRows {
            codes: &self.parts.codes,
            order: CodeOrder::LowerHalfFirst,
            block_size: self.parts.group_size,
            scales: &self.parts.scales,
            tables: CodeTables::OfBlock(&DIFFERENCES, &self.parts.zero_points),
        })
    }

    fn unpack_run(&self, run: Range<usize>, out: &mut [f32]) {
        let size = self.parts.group_size;
        let groups = run.start / size..run.end / size;
        run_at_best_level(Unpack {
            codes: &self.parts.codes[run.start / 2..run.end / 2],
            scales: &self.parts.scales[groups.clone()],
            zero_points: &self.parts.zero_points[groups],
            size,
            out,
        });
    }
}

/// Unpacks whole groups.
struct Unpack<'a> {
    codes: &'a [u8],
    scales: &'a [f32],
    zero_points: &'a [u8],
    size: usize,
    out: &'a mut [f32],
}

impl Loop for Unpack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let groups = self
            .codes
            .chunks_exact(self.size / 2)
            .zip(zip(self.scales, self.zero_points));
        for ((codes, (&scale, &zero)), out) in groups.zip(self.out.chunks_exact_mut(self.size)) {
            let (zero, half) = (i32::from(zero), codes.len());
            let (low, high) = out.split_at_mut(half);
            let high = &mut high[..half];
            // A single loop over indices is vectorized.
            for i in 0..half {
                low[i] = (i32::from(codes[i] & 15) - zero) as f32 * scale;
                high[i] = (i32::from(codes[i] >> 4) - zero) as f32 * scale;
            }
        }
    }
}
