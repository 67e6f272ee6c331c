//! The objects that `torch.save` saves.

use std::fmt;

use crate::{StateDict, Tensor};

/// An object of a `torch.save` file: tensors, numbers and strings in dicts, lists and tuples.
///
/// This is what a training script saves besides the weights, such as `{"model": …, "optimizer": …, "epoch": 3}`. To read
/// only a state dict, use [`StateDict::load`].
///
/// # Example
///
/// ```
/// use module_core::{Tensor, checkpoint::TorchObject};
///
/// let weights = TorchObject::dict([("weight", Tensor::from([1.0_f32, 2.0]).into())]);
/// let saved = TorchObject::dict([("model", weights), ("epoch", 3.into())]);
/// let bytes = saved.to_bytes()?;
///
/// // `torch.load` reads these bytes, and so does this.
/// let read = TorchObject::from_bytes(bytes)?;
/// assert!(matches!(read.get("epoch"), Some(TorchObject::Int(3))));
/// let Some(TorchObject::Tensor(weight)) = read.get("model").and_then(|model| model.get("weight")) else {
///     panic!("no weight");
/// };
/// assert_eq!(weight.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use std::io::Cursor;
///
/// use module_core::{ReadOptions, checkpoint::TorchObject};
///
/// let saved = TorchObject::from_iter([("args", TorchObject::from_iter([("lr", 0.1)]))]);
/// let mut file = Cursor::new(Vec::new());
/// saved.write_to(&mut file)?;
///
/// // One part of it, from a reader or from bytes.
/// let lr = ReadOptions::new().entry("args.lr");
/// let bytes = file.get_ref().clone();
/// assert_eq!(TorchObject::from_reader(file, &lr)?.describe(), "the number 0.1");
/// assert_eq!(TorchObject::from_bytes_with(bytes, &lr)?.describe(), "the number 0.1");
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum TorchObject {
    /// `None`.
    #[default]
    None,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A tuple.
    Tuple(Vec<Self>),
    /// A dict, in insertion order.
    Dict(Vec<(Self, Self)>),
    /// A tensor.
    Tensor(Tensor),
    /// Anything else, such as a set or an object of a class, described in words; it is read but cannot be saved.
    Other(String),
}

impl TorchObject {
    /// A dict of these pairs. Each value becomes an object by `into`, whatever its type; values of one type are also
    /// collected as they are.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor, checkpoint::TorchObject};
    ///
    /// let state: StateDict = [("weight".to_owned(), Tensor::from([1.0_f32, 2.0]))].into_iter().collect();
    /// let saved = TorchObject::dict([("model", state.into()), ("epoch", 3.into()), ("best", 0.9.into())]);
    /// assert!(matches!(saved.get("best"), Some(TorchObject::Float(0.9))));
    ///
    /// let rates: TorchObject = [("lr", 0.1), ("momentum", 0.9)].into_iter().collect();
    /// assert!(matches!(rates.get("lr"), Some(TorchObject::Float(0.1))));
    /// ```
    pub fn dict<K: Into<Self>>(pairs: impl IntoIterator<Item = (K, Self)>) -> Self {
        pairs.into_iter().collect()
    }

    /// The value of a dict under a string key, if there is one; of equal keys the last, as in Python.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dict(pairs) = self else { return None };
        let mut pairs = pairs.iter().rev();
        let found = pairs.find(|(name, _)| matches!(name, Self::Text(text) if text == key));
        found.map(|(_, value)| value)
    }

    /// The kind of the object, in words: `a dict`.
    pub fn describe(&self) -> String {
        match self {
            Self::None => "None".to_owned(),
            Self::Bool(true) => "True".to_owned(),
            Self::Bool(false) => "False".to_owned(),
            Self::Int(number) => format!("the number {number}"),
            Self::Float(number) => format!("the number {number}"),
            Self::Text(text) => format!("the text `{}`", super::words::shorten(text)),
            Self::List(_) => "a list".to_owned(),
            Self::Tuple(_) => "a tuple".to_owned(),
            Self::Dict(_) => "a dict".to_owned(),
            Self::Tensor(tensor) => {
                format!("a tensor {} of shape {}", tensor.dtype(), tensor.shape())
            }
            Self::Other(what) => what.clone(),
        }
    }
}

impl fmt::Display for TorchObject {
    /// The text of [`describe`](Self::describe).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr;)*) => {$(
        impl From<$type> for TorchObject {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}

from! {
    bool => |value| Self::Bool(value);
    i64 => |value| Self::Int(value);
    f64 => |value| Self::Float(value);
    &str => |value| Self::Text(value.to_owned());
    String => |value| Self::Text(value);
    Tensor => |value| Self::Tensor(value);
    StateDict => |value| value.into_iter().collect();
    Vec<Self> => |value| Self::List(value);
}

/// A dict of these pairs.
impl<K: Into<Self>, V: Into<Self>> FromIterator<(K, V)> for TorchObject {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        Self::Dict(
            pairs
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}
