// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::{Device, Int8Groups, Int8Rows, PackedRuns, cpu_int8_dot};
use super::shared::{HostPacked, check_dtype, check_finite, check_len, groups};
use crate::simd::{Loop, run_at_best_level};
use crate::zip::zip_mut;
use crate::{DType, Error, Result};

/// 8-bit integers with a scale for each group of a row, or for the whole row: `scale · code`.
///
/// `scale = max |w| / 127.5`, at least 2⁻²³, and `code = w / scale`, rounded to nearest, ties to even, from -128 to 127: as
/// PyTorch's `PerChannelMinMaxObserver` chooses for `torch.per_channel_symmetric`.
///
/// # Example
///
/// ```
/// use module_tensor::DType;
/// use module_tensor::backend::{Int8Parts, Int8Storage};
///
/// // A scale for each row of two elements: 127.5 steps to the greatest.
/// let parts = Int8Parts::quantize(&[255.0, 2.0, -127.5, 1.0], 2, false, DType::F32)?;
/// let storage = Int8Storage::new(parts)?;
/// assert_eq!(storage.parts().scales, [2.0, 1.0]);
/// assert_eq!(storage.parts().codes, [127, 1, -128, 1]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Int8Storage {
    parts: Int8Parts,
    device: Device,
    /// The sum of the codes of each row, if inputs are rounded.
    sums: Vec<i32>,
}

/// The parts of an [`Int8Storage`].
#[derive(Clone, Debug)]
pub struct Int8Parts {
    /// All rows, one after another.
    pub codes: Vec<i8>,
    /// One for each group, in the order of the codes.
    pub scales: Vec<f32>,
    /// The number of elements in a group.
    pub group_size: usize,
    /// Whether products round their inputs to 8 bits, row by row; then a row has one scale.
    pub rounds_inputs: bool,
    /// The dtype of unpacked elements.
    pub dtype: DType,
}

/// The smallest scale.
const LEAST: f32 = f32::EPSILON;

/// The smallest group whose products with inputs are computed without unpacking.
const LEAST_GROUP: usize = 64;

impl Int8Parts {
    /// Rounds groups of elements.
    ///
    /// # Errors
    ///
    /// Elements that are not finite, groups that do not divide them.
    pub fn quantize(
        values: &[f32],
        group_size: usize,
        rounds_inputs: bool,
        dtype: DType,
    ) -> Result<Self> {
        check_finite(NAME, values)?;
        let mut codes = Vec::with_capacity(values.len());
        let mut scales = Vec::with_capacity(values.len() / group_size.max(1));
        for group in values.chunks(group_size.max(1)) {
            let greatest = group.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
            let scale = (greatest / 127.5).max(LEAST);
            scales.push(scale);
            let inverse = 1.0 / scale;
            let code = |v: &f32| (v * inverse).round_ties_even().clamp(-128.0, 127.0) as i8;
            codes.extend(group.iter().map(code));
        }
        Ok(Self {
            codes,
            scales,
            group_size,
            rounds_inputs,
            dtype,
        })
    }
}

/// The name in errors.
const NAME: &str = "int8";

impl Int8Storage {
    /// A storage of these parts.
    ///
    /// # Errors
    ///
    /// Empty groups, or groups that do not divide the codes; a number of scales that does not match; a dtype other than
    /// `F32`, `F16` and `BF16`.
    pub fn new(parts: Int8Parts) -> Result<Self> {
        check_dtype(NAME, parts.dtype)?;
        let (numel, size) = (parts.codes.len(), parts.group_size);
        if size == 0 || !numel.is_multiple_of(size) {
            let problem = format!("must divide the {numel} elements");
            return Err(Error::argument(NAME, "group_size", size, problem));
        }
        check_len(NAME, "scales", parts.scales.len(), numel / size)?;
        let sum = |row: &[i8]| row.iter().map(|&code| i32::from(code)).sum();
        let sums = match parts.rounds_inputs {
            true => parts.codes.chunks_exact(size).map(sum).collect(),
            false => Vec::new(),
        };
        Ok(Self {
            parts,
            device: Device::cpu(),
            sums,
        })
    }

    /// Its parts.
    pub fn parts(&self) -> &Int8Parts {
        &self.parts
    }
}

impl HostPacked for Int8Storage {
    fn scheme(&self) -> &'static str {
        match self.parts.rounds_inputs {
            true => "int8_dynamic",
            false => NAME,
        }
    }

    fn numel(&self) -> usize {
        self.parts.codes.len()
    }

    fn size_in_bytes(&self) -> usize {
        self.parts.codes.len() + size_of_val(&*self.parts.scales) + size_of_val(&*self.sums)
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

impl PackedRuns for Int8Storage {
    fn group(&self) -> usize {
        1
    }

    fn unpack_run(&self, run: Range<usize>, out: &mut [f32]) {
        let codes = &self.parts.codes[run.clone()];
        for (group, part) in groups(run, self.parts.group_size) {
            run_at_best_level(Unpack {
                codes: &codes[part.clone()],
                scale: self.parts.scales[group],
                out: &mut out[part],
            });
        }
    }

    /// Of whole groups that are not small.
    fn dot_run(&self, run: Range<usize>, inputs: &[f32]) -> Option<f32> {
        let size = self.parts.group_size;
        let is_whole = run.start.is_multiple_of(size) && run.len().is_multiple_of(size);
        (is_whole && size >= LEAST_GROUP).then(|| {
            cpu_int8_dot(Int8Groups {
                codes: &self.parts.codes[run.clone()],
                scales: &self.parts.scales[run.start / size..],
                group_size: size,
                inputs,
            })
        })
    }

    fn rounding_inputs(&self) -> Option<Int8Rows<'_>> {
        self.parts.rounds_inputs.then_some(Int8Rows {
            codes: &self.parts.codes,
            scales: &self.parts.scales,
            sums: &self.sums,
        })
    }
}

struct Unpack<'a> {
    codes: &'a [i8],
    scale: f32,
    out: &'a mut [f32],
}

impl Loop for Unpack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, &code) in zip_mut(self.out, self.codes) {
            *out = f32::from(code) * self.scale;
        }
    }
}
