//! Reads PyTorch's recordings and compares with them.
//!
//! `golden/README.md` describes the files. Everything here panics on files that do not match that description, because only
//! tests call it.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use module_core::{DType, Device, StateDict, Tensor};
use serde_json::Value;

/// A file or directory of the recorded data.
pub fn path(name: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../golden/data")
        .join(name)
}

/// The `case` of a recorded safetensors file, and its tensors; `name` is relative to the data.
pub fn load(name: impl AsRef<Path>) -> (Value, StateDict) {
    let path = path(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (length, rest) = bytes.split_first_chunk().expect("a length of eight bytes");
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap();
    let header: Value = serde_json::from_slice(&rest[..length]).expect("a JSON header");
    let case = header["__metadata__"]["case"].as_str().expect("a case");
    let tensors = StateDict::load(&path).unwrap();
    (serde_json::from_str(case).expect("a JSON case"), tensors)
}

/// The files of the layer families.
pub fn layer_families() -> Vec<String> {
    starting_with(&path(""), "layers_")
}

/// The files whose names start with `prefix` in the directory `GOLDEN_PEERS`, which has every case of PyTorch's databases,
/// or else in the recorded data; and whether that directory is set.
pub fn peers(prefix: &str) -> (Vec<String>, bool) {
    let Some(folder) = std::env::var_os("GOLDEN_PEERS") else {
        return (starting_with(&path(""), prefix), false);
    };
    let folder = PathBuf::from(folder);
    let whole = |name: String| {
        folder
            .join(name)
            .to_str()
            .expect("a path in UTF-8")
            .to_owned()
    };
    let names = starting_with(&folder, prefix);
    (names.into_iter().map(whole).collect(), true)
}

fn starting_with(folder: &Path, prefix: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("a folder of recorded data");
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names
}

/// One entry of the list of operations.
#[derive(Clone, Debug)]
pub struct Case {
    /// `op.<name>.<variant>.<dtype>`, the beginning of the keys of its tensors.
    pub key: String,
    /// PyTorch's name of the operation.
    pub op: String,
    /// Its arguments, with PyTorch's names.
    pub args: Value,
    /// The memory layout of each input.
    pub layouts: Vec<String>,
}

impl Case {
    /// A case from its JSON.
    pub fn new(case: &Value) -> Self {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        Self {
            key: text(&case["key"]),
            op: text(&case["op"]),
            args: case["args"].clone(),
            layouts: case["layouts"]
                .as_array()
                .expect("a list of layouts")
                .iter()
                .map(text)
                .collect(),
        }
    }

    /// A tensor of this case: `in0`, `out`, `gout`, `gin0` and so on.
    pub fn tensor<'a>(&self, tensors: &'a StateDict, part: &str) -> Option<&'a Tensor> {
        tensors.get(&format!("{}.{part}", self.key))
    }

    /// The inputs, in their recorded memory layouts.
    pub fn inputs(&self, tensors: &StateDict) -> Vec<Tensor> {
        self.inputs_on(tensors, &Device::cpu())
    }

    /// The same inputs in the memory of a device.
    pub fn inputs_on(&self, tensors: &StateDict, device: &Device) -> Vec<Tensor> {
        let input = |(i, layout): (usize, &String)| {
            let values = self.tensor(tensors, &format!("in{i}")).expect("an input");
            lay_out(&values.to_device(device).expect("a copy"), layout)
        };
        self.layouts.iter().enumerate().map(input).collect()
    }
}

/// The same values in a memory layout described in `golden/README.md`.
pub fn lay_out(x: &Tensor, layout: &str) -> Tensor {
    let (name, dims) = layout.split_once(':').unwrap_or((layout, ""));
    let dims: Vec<isize> = dims.split(',').filter_map(|d| d.parse().ok()).collect();
    let out = match (name, dims.as_slice()) {
        ("contiguous", []) => x.contiguous(),
        ("transposed", &[a, b]) => x
            .transpose(a, b)
            .and_then(|x| x.contiguous()?.transpose(a, b)),
        ("narrowed", &[dim]) => narrowed(x, dim),
        ("strided", &[dim]) => strided(x, dim),
        ("expanded", &[dim]) => x.narrow(dim, 0..1).and_then(|row| row.expand(x.shape())),
        _ => panic!("an unknown layout: {layout}"),
    };
    let out = out.unwrap().detach();
    assert_eq!(out.shape(), x.shape(), "{layout}");
    out
}

/// A slice, from index 1, of a tensor that is longer by three along `dim`.
fn narrowed(x: &Tensor, dim: isize) -> module_core::Result<Tensor> {
    let size = x.size(dim)?;
    let more = |n: usize| {
        let index: Vec<i64> = vec![0; n];
        x.index_select(dim, &Tensor::from_vec(index, n)?.to_device(&x.device())?)
    };
    Tensor::cat(&[&more(1)?, x, &more(2)?], dim)?.narrow(dim, 1..size + 1)
}

/// Every second element along `dim` of a tensor twice as long: one of two interleaved halves.
fn strided(x: &Tensor, dim: isize) -> module_core::Result<Tensor> {
    let place = if dim < 0 { dim } else { dim + 1 };
    let pairs = Tensor::stack(&[x, &x.zeros_like()?], place)?;
    pairs.narrow(place, 0..1)?.squeeze(place)
}

/// The allowed difference between a value and the recorded one.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// For `F32`; the other dtypes have fixed tolerances.
    f32: f64,
    /// Relative to the largest magnitude in the tensor instead of the element's own.
    by_tensor: bool,
    /// Below this magnitude the difference is absolute.
    floor: f64,
    exact: bool,
}

impl Tolerance {
    /// Copies, indices and random draws: the same bits, except for the payload of NaN.
    pub const EXACT: Self = Self {
        f32: 0.0,
        by_tensor: false,
        floor: 0.0,
        exact: true,
    };
    /// Unary functions: each element is compared on its own.
    pub const ELEMENTWISE: Self = Self {
        f32: 1e-6,
        by_tensor: false,
        floor: FLOOR,
        exact: false,
    };
    /// Sums of many elements, whose order of additions matters: relative to the largest element.
    pub const CONTRACTION: Self = Self {
        f32: 1e-5,
        by_tensor: true,
        floor: TENSOR_FLOOR,
        exact: false,
    };

    /// The same, however small the largest element is.
    pub const OF_LARGEST: Self = Self {
        floor: 0.0,
        ..Self::CONTRACTION
    };

    /// Differences of larger numbers that cancel, as in the gradients of a normalization: the rounding errors are those of
    /// the larger numbers, so the tolerance is relative to 1 at least.
    pub const DIFFERENCE: Self = Self {
        floor: 1.0,
        ..Self::CONTRACTION
    };

    fn of(self, dtype: DType) -> f64 {
        match dtype {
            _ if self.exact => 0.0,
            DType::F32 => self.f32,
            DType::F64 => 1e-12,
            DType::F16 => 2e-3,
            DType::BF16 => 2e-2,
            _ => 0.0,
        }
    }
}

/// Below this magnitude, an elementwise result is compared absolutely: differences such as `1 - y` lose the digits that a
/// relative comparison would require.
const FLOOR: f64 = 0.1;

/// A tensor whose largest element is smaller than this is compared as if it had an element of this size: a result that is 0
/// except for rounding has the rounding errors of the terms, not of the sum.
const TENSOR_FLOOR: f64 = 1e-3;

/// Compares two tensors in shape, dtype and elements.
///
/// NaN equals NaN, and infinities must have the same sign.
///
/// # Errors
///
/// A description of the first difference that exceeds the tolerance.
pub fn compare(actual: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Result<(), String> {
    same_form(actual, expected)?;
    if !expected.dtype().is_floating_point() {
        // Not all integers fit in `f64`, so they are compared directly.
        let equal = actual.eq(expected).unwrap().to_vec::<bool>().unwrap();
        return match equal.iter().position(|equal| !equal) {
            None => Ok(()),
            Some(i) => Err(format!("element {i} of {actual} instead of {expected}")),
        };
    }
    let (got, want) = (numbers(actual), numbers(expected));
    let largest = want
        .iter()
        .filter(|v| v.is_finite())
        .fold(tolerance.floor, |max, v| max.max(v.abs()));
    let limit = tolerance.of(expected.dtype());
    for (i, (&a, &b)) in got.iter().zip(&want).enumerate() {
        let scale = if tolerance.by_tensor {
            largest
        } else {
            b.abs().max(tolerance.floor)
        };
        let close = if a.is_nan() || b.is_nan() {
            a.is_nan() && b.is_nan()
        } else if tolerance.exact {
            a.to_bits() == b.to_bits()
        } else {
            // Equal infinities have no difference.
            a == b || (a - b).abs() <= limit * scale
        };
        if !close {
            return Err(format!("element {i} is {a:e} instead of {b:e}"));
        }
    }
    Ok(())
}

fn same_form(actual: &Tensor, expected: &Tensor) -> Result<(), String> {
    if (actual.dtype(), actual.shape()) == (expected.dtype(), expected.shape()) {
        return Ok(());
    }
    let form = |x: &Tensor| format!("{} {}", x.dtype(), x.shape());
    Err(format!("{} instead of {}", form(actual), form(expected)))
}

fn numbers(x: &Tensor) -> Vec<f64> {
    x.detach()
        .to_dtype(DType::F64)
        .unwrap()
        .to_vec::<f64>()
        .unwrap()
}

/// Compares two tensors in shape, dtype and elements, which may differ by `limit`.
///
/// # Errors
///
/// A description of the first difference that is larger.
pub fn within(actual: &Tensor, expected: &Tensor, limit: f64) -> Result<(), String> {
    same_form(actual, expected)?;
    let (got, want) = (numbers(actual), numbers(expected));
    let is_far = |(a, b): (&f64, &f64)| (a - b).is_nan() || (a - b).abs() > limit;
    let far = got.iter().zip(&want).position(is_far);
    far.map_or(Ok(()), |i| {
        Err(format!(
            "element {i} is {:e} instead of {:e}, limit {limit:e}",
            got[i], want[i]
        ))
    })
}

/// Compares two tensors bit for bit.
///
/// # Errors
///
/// A description of the first difference.
pub fn same_bits(a: &Tensor, b: &Tensor) -> Result<(), String> {
    same_form(a, b)?;
    let (a, b) = (numbers(a), numbers(b));
    let differs = |(a, b): (&f64, &f64)| a.to_bits() != b.to_bits();
    let place = a.iter().zip(&b).position(differs);
    place.map_or(Ok(()), |i| {
        Err(format!("element {i} is {:e}, and then {:e}", a[i], b[i]))
    })
}

/// Panics with `label` if [`compare`] finds a difference.
#[track_caller]
pub fn assert_close(actual: &Tensor, expected: &Tensor, tolerance: Tolerance, label: &str) {
    if let Err(difference) = compare(actual, expected, tolerance) {
        panic!("{label}: {difference}");
    }
}
