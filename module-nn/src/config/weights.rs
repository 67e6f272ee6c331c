use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::{DType, Result, Tensor, default_dtype};

/// A tensor among the arguments of a configuration, such as the class weights of a loss.
///
/// It is serialized as nested lists of numbers, and deserialized as a tensor of the default dtype.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, Weights};
///
/// let weights = Weights::from(Tensor::from([0.5_f32, 2.0]));
/// let text = serde_json::to_string(&weights)?;
/// assert_eq!(text, "[0.5,2.0]");
/// assert_eq!(serde_json::from_str::<Weights>(&text)?, weights);
/// assert_eq!(weights.tensor().numel(), 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Weights(Tensor);

impl Weights {
    /// The tensor.
    pub fn tensor(&self) -> &Tensor {
        &self.0
    }

    fn numbers(&self) -> Result<Vec<f64>> {
        self.0.to_dtype(DType::F64)?.to_vec::<f64>()
    }
}

impl From<Tensor> for Weights {
    fn from(tensor: Tensor) -> Self {
        Self(tensor.detach())
    }
}

/// Equal in shape, dtype and every number.
impl PartialEq for Weights {
    fn eq(&self, other: &Self) -> bool {
        let form = |weights: &Self| (weights.0.dtype(), weights.0.shape().clone());
        form(self) == form(other)
            && matches!((self.numbers(), other.numbers()), (Ok(a), Ok(b)) if a == b)
    }
}

impl Serialize for Weights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = self.numbers().map_err(serde::ser::Error::custom)?;
        let (shape, numbers) = (self.0.shape(), numbers.as_slice());
        NumbersView { shape, numbers }.serialize(serializer)
    }
}

/// Some of the numbers, in this shape.
struct NumbersView<'a> {
    shape: &'a [usize],
    numbers: &'a [f64],
}

impl Serialize for NumbersView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self.shape {
            [] => serializer.serialize_f64(self.numbers.first().copied().unwrap_or_default()),
            [count, ref shape @ ..] => {
                let each = self.numbers.len() / count.max(1);
                serializer.collect_seq((0..count).map(|i| NumbersView {
                    shape,
                    numbers: self.numbers.get(i * each..(i + 1) * each).unwrap_or(&[]),
                }))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Weights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Nested { shape, numbers } = Nested::deserialize(deserializer)?;
        let tensor = Tensor::from_vec(numbers, shape).and_then(|x| x.to_dtype(default_dtype()));
        tensor.map(Self).map_err(D::Error::custom)
    }
}

/// Nested lists, all of the same length at each depth.
struct Nested {
    shape: Vec<usize>,
    numbers: Vec<f64>,
}

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lists)
    }
}

struct Lists;

impl<'de> Visitor<'de> for Lists {
    type Value = Nested;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nested lists of numbers")
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Nested, E> {
        let (shape, numbers) = (Vec::new(), vec![number]);
        Ok(Nested { shape, numbers })
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Nested, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Nested, E> {
        self.visit_f64(number as f64)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Nested, A::Error> {
        let Some(Nested { shape, mut numbers }) = parts.next_element()? else {
            let (shape, numbers) = (vec![0], Vec::new());
            return Ok(Nested { shape, numbers });
        };
        let mut count = 1;
        while let Some(part) = parts.next_element::<Nested>()? {
            if part.shape != shape {
                let problem = format!("shape {:?} beside shape {shape:?} in a list", part.shape);
                return Err(A::Error::custom(problem));
            }
            numbers.extend(part.numbers);
            count += 1;
        }
        let shape = [count].into_iter().chain(shape).collect();
        Ok(Nested { shape, numbers })
    }
}
