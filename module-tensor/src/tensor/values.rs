//! Tensors of the values of the host, by `From` and `TryFrom`.

use super::Tensor;
use crate::backend::Element;
use crate::{Complex, Error, F8E4M3, F8E5M2, Result, Shape};

/// Existing values already have memory, so these cannot fail.
macro_rules! from_values {
    ($($type:ty),*) => {$(
        impl From<$type> for Tensor {
            fn from(value: $type) -> Self {
                Self::of(vec![value], Shape::default())
            }
        }

        impl<const N: usize> From<[$type; N]> for Tensor {
            fn from(values: [$type; N]) -> Self {
                Self::of(values.to_vec(), [N].into())
            }
        }

        impl From<Vec<$type>> for Tensor {
            fn from(values: Vec<$type>) -> Self {
                let length = values.len();
                Self::of(values, length.into())
            }
        }

        impl From<&[$type]> for Tensor {
            fn from(values: &[$type]) -> Self {
                values.to_vec().into()
            }
        }

        impl<const N: usize, const M: usize, const L: usize> From<[[[$type; N]; M]; L]> for Tensor {
            fn from(values: [[[$type; N]; M]; L]) -> Self {
                let values = values.as_flattened().as_flattened();
                Self::of(values.to_vec(), [L, M, N].into())
            }
        }

        impl<const N: usize, const M: usize> From<[[$type; N]; M]> for Tensor {
            fn from(values: [[$type; N]; M]) -> Self {
                Self::of(values.as_flattened().to_vec(), [M, N].into())
            }
        }
    )*};
}

from_values!(
    f32,
    f64,
    half::f16,
    half::bf16,
    i64,
    i32,
    u8,
    bool,
    i8,
    i16,
    u16,
    F8E4M3,
    F8E5M2,
    Complex<f32>
);

macro_rules! from_u32 {
    ($($type:ty, [$($generic:tt)*], |$values:ident| $as_i64:expr;)*) => {$(
        /// Converts to `I64`, the integer dtype with arithmetic; [`Tensor::from_vec`] keeps `U32`.
        impl<$($generic)*> From<$type> for Tensor {
            fn from($values: $type) -> Self {
                $as_i64.into()
            }
        }
    )*};
}

from_u32! {
    u32, [], |value| i64::from(value);
    [u32; N], [const N: usize], |values| values.map(i64::from);
    [[u32; N]; M], [const N: usize, const M: usize], |rows| rows.map(|row| row.map(i64::from));
    Vec<u32>, [], |values| values.into_iter().map(i64::from).collect::<Vec<_>>();
    &[u32], [], |values| values.iter().copied().map(i64::from).collect::<Vec<_>>();
}

/// Makes a matrix from rows of equal length; no rows make a matrix of shape `[0, 0]`.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::try_from(vec![vec![1_i64, 2], vec![3, 4]])?;
/// assert_eq!(x.shape().to_string(), "[2, 2]");
/// let ragged = Tensor::try_from(vec![vec![1_i64, 2], vec![3]]).unwrap_err();
/// assert_eq!(
///     ragged.to_string(),
///     "try_from: rows = row 1 of 1 element(s): row 0 has 2; all rows must have the same length"
/// );
/// # Ok::<(), module_tensor::Error>(())
/// ```
impl<T: Element> TryFrom<Vec<Vec<T>>> for Tensor {
    type Error = Error;

    fn try_from(rows: Vec<Vec<T>>) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        if let Some((i, row)) = rows
            .iter()
            .enumerate()
            .find(|(_, row)| row.len() != columns)
        {
            let row = format!("row {i} of {} element(s)", row.len());
            let problem = format!("row 0 has {columns}; all rows must have the same length");
            return Err(Error::argument("try_from", "rows", row, problem));
        }
        let shape = [rows.len(), columns];
        Self::from_vec(rows.concat(), shape)
    }
}

impl Tensor {
    /// Makes a CPU tensor from as many values as `shape` has elements.
    fn of<T: Element>(values: Vec<T>, shape: Shape) -> Self {
        Self::fresh(crate::backend::cpu_storage(values), shape)
    }
}
