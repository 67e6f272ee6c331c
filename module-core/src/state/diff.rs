use std::fmt;

use super::StateDict;
use crate::{DType, Result, Shape, Tensor};

/// The differences between two state dicts; made by [`StateDict::diff`].
///
/// # Example
///
/// ```
/// use module_core::{Changed, DType, Incompatible, StateDict, StateDiff, Tensor};
///
/// let left = StateDict::from_iter([
///     ("w", Tensor::from([1.0_f32, 2.0])),
///     ("b", Tensor::from(0.0_f32)),
///     ("old", Tensor::from(1_i64)),
/// ]);
/// let right = StateDict::from_iter([
///     ("w", Tensor::from([1.0_f32, 2.5])),
///     ("b", Tensor::from([0.0_f64])),
/// ]);
/// let diff: StateDiff = left.diff(&right)?;
/// let w = Changed { key: "w".into(), count: 1, numel: 2, max_abs: 0.5 };
/// assert_eq!((diff.only_left, diff.changed), (vec!["old".to_owned()], vec![w]));
/// let b = Incompatible {
///     key: "b".into(),
///     left: (().into(), DType::F32),
///     right: ([1].into(), DType::F64),
/// };
/// assert_eq!(diff.incompatible, [b]);
/// assert!(left.diff(&left)?.is_empty());
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateDiff {
    /// Keys that only the left one has, in its order.
    pub only_left: Vec<String>,
    /// Keys that only the right one has, in its order.
    pub only_right: Vec<String>,
    /// Keys whose shapes or dtypes differ, in the left one's order.
    pub incompatible: Vec<Incompatible>,
    /// Keys whose values differ, in the left one's order.
    pub changed: Vec<Changed>,
    /// The number of keys whose tensors are equal, bit for bit.
    pub equal: usize,
}

/// A key whose tensors differ in shape or dtype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incompatible {
    /// The key.
    pub key: String,
    /// The shape and dtype on the left.
    pub left: (Shape, DType),
    /// The shape and dtype on the right.
    pub right: (Shape, DType),
}

/// A key whose tensors have the same shape and dtype, but different values.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The key.
    pub key: String,
    /// The number of elements that differ in any bit.
    pub count: usize,
    /// The number of elements.
    pub numel: usize,
    /// The greatest absolute difference, for complex numbers that of a component; NaN if only one of the values is NaN.
    pub max_abs: f64,
}

impl StateDiff {
    /// Whether there are no differences.
    pub fn is_empty(&self) -> bool {
        self.only_left.is_empty()
            && self.only_right.is_empty()
            && self.incompatible.is_empty()
            && self.changed.is_empty()
    }
}

impl fmt::Display for StateDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in &self.only_left {
            writeln!(f, "- {key}")?;
        }
        for key in &self.only_right {
            writeln!(f, "+ {key}")?;
        }
        for Incompatible { key, left, right } in &self.incompatible {
            let ((a, of_a), (b, of_b)) = (left, right);
            writeln!(f, "! {key}: {of_a} {a} against {of_b} {b}")?;
        }
        for Changed {
            key,
            count,
            numel,
            max_abs,
        } in &self.changed
        {
            writeln!(
                f,
                "~ {key}: {count} of {numel} differ, at most by {max_abs:.3e}"
            )?;
        }
        write!(f, "{} equal", self.equal)
    }
}

impl StateDict {
    /// The differences from `other`: keys, shapes and dtypes, and bits of values.
    ///
    /// # Errors
    ///
    /// A device that fails.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = |bias: f32| {
    ///     StateDict::from_iter([("weight", Tensor::from([1.0_f32])), ("bias", Tensor::from(bias))])
    /// };
    /// let diff = state(0.5).diff(&state(0.25))?;
    /// assert_eq!(diff.to_string(), "~ bias: 1 of 1 differ, at most by 2.500e-1\n1 equal");
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn diff(&self, other: &Self) -> Result<StateDiff> {
        let mut diff = StateDiff::default();
        for (key, left) in self {
            let Some(right) = other.get(key) else {
                diff.only_left.push(key.to_owned());
                continue;
            };
            if (left.shape(), left.dtype()) != (right.shape(), right.dtype()) {
                diff.incompatible.push(Incompatible {
                    key: key.to_owned(),
                    left: (left.shape().clone(), left.dtype()),
                    right: (right.shape().clone(), right.dtype()),
                });
            } else if has_same_values(left, right)? {
                diff.equal += 1;
            } else {
                diff.changed.push(describe_change(key, left, right)?);
            }
        }
        let strange = other.keys().filter(|key| !self.contains_key(key));
        diff.only_right = strange.map(str::to_owned).collect();
        Ok(diff)
    }

    /// Whether both have the same keys, in any order, with tensors that are equal bit for bit.
    ///
    /// # Errors
    ///
    /// A device that fails.
    pub fn equal(&self, other: &Self) -> Result<bool> {
        if self.len() != other.len() {
            return Ok(false);
        }
        for (key, left) in self {
            match other.get(key) {
                Some(right) if has_same_values(left, right)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Whether two tensors hold the same bytes.
pub(super) fn has_same_values(a: &Tensor, b: &Tensor) -> Result<bool> {
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return Ok(false);
    }
    if a.shares_memory_with(b) && a.layout() == b.layout() {
        return Ok(true);
    }
    Ok(a.unpack()?.to_host()?.to_le_bytes() == b.unpack()?.to_host()?.to_le_bytes())
}

fn describe_change(key: &str, left: &Tensor, right: &Tensor) -> Result<Changed> {
    let (left, right) = (&left.unpack()?, &right.unpack()?);
    let size = left.dtype().size_in_bytes();
    let (a, b) = (
        left.to_host()?.to_le_bytes(),
        right.to_host()?.to_le_bytes(),
    );
    let count = a.chunks_exact(size).zip(b.chunks_exact(size));
    let numbers = |x: &Tensor| match x.dtype() {
        DType::Complex64 => x.view_as_real()?.to_dtype(DType::F64)?.to_vec::<f64>(),
        _ => x.to_dtype(DType::F64)?.to_vec::<f64>(),
    };
    let (a, b) = (numbers(left)?, numbers(right)?);
    let mut max_abs = 0.0_f64;
    for (a, b) in a.iter().zip(&b) {
        // Equal infinities count as equal, and so do two NaNs.
        let same = a == b || (a.is_nan() && b.is_nan());
        let difference = if same { 0.0 } else { (a - b).abs() };
        if difference.is_nan() || difference > max_abs {
            max_abs = difference;
        }
        if max_abs.is_nan() {
            break;
        }
    }
    Ok(Changed {
        key: key.to_owned(),
        count: count.filter(|(a, b)| a != b).count(),
        numel: left.numel(),
        max_abs,
    })
}
