//! Arguments with one number for each dimension, or one number for all.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, Deserializer, Error, IntoDeserializer, SeqAccess, Unexpected, Visitor,
};
use serde::ser::{Serialize, Serializer};

use crate::OptionValue;

/// One number for each of `N` dimensions: a kernel, a stride, a padding, a scale.
///
/// One number stands for all of them, and prints the way it was given, as in PyTorch. Sizes are equal if their numbers are.
///
/// # Example
///
/// ```
/// use module_tensor::Sizes;
///
/// let kernel = Sizes::<2>::from(3);
/// assert_eq!(kernel, Sizes::from([3, 3]));
/// assert_eq!((kernel.to_string(), kernel.as_given().to_string()), ("(3, 3)".into(), "3".into()));
/// assert_eq!(Sizes::<1>::from([5]).to_string(), "(5,)");
/// ```
///
/// ```
/// use module_tensor::Sizes;
///
/// assert_eq!(Sizes::<3>::from(2).get(), [2, 2, 2]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sizes<const N: usize, T = usize> {
    sizes: [T; N],
    /// Whether one number was given for all.
    one: bool,
}

impl<const N: usize, T: Copy> Sizes<N, T> {
    /// The number of each dimension.
    pub fn get(self) -> [T; N] {
        self.sizes
    }

    /// These sizes as they were given: a single number if one stood for all.
    pub fn as_given(self) -> impl fmt::Display
    where
        T: fmt::Debug,
    {
        fmt::from_fn(move |f| match self.sizes.as_slice() {
            [first, ..] if self.one => write!(f, "{first:?}"),
            _ => write!(f, "{self}"),
        })
    }
}

impl<const N: usize, T: PartialEq> PartialEq for Sizes<N, T> {
    fn eq(&self, other: &Self) -> bool {
        self.sizes == other.sizes
    }
}

impl<const N: usize, T: Eq> Eq for Sizes<N, T> {}

impl<const N: usize, T: Copy> From<T> for Sizes<N, T> {
    fn from(size: T) -> Self {
        let sizes = [size; N];
        Self { sizes, one: true }
    }
}

impl<const N: usize, T> From<[T; N]> for Sizes<N, T> {
    fn from(sizes: [T; N]) -> Self {
        Self { sizes, one: false }
    }
}

impl<T> From<(T, T)> for Sizes<2, T> {
    fn from((height, width): (T, T)) -> Self {
        [height, width].into()
    }
}

impl<T> From<(T, T, T)> for Sizes<3, T> {
    fn from((depth, height, width): (T, T, T)) -> Self {
        [depth, height, width].into()
    }
}

/// Prints a tuple like Python; `{:?}` of a number prints what Python prints.
impl<const N: usize, T: fmt::Debug> fmt::Display for Sizes<N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sizes.as_slice() {
            [one] => write!(f, "({one:?},)"),
            sizes => {
                for (i, size) in sizes.iter().enumerate() {
                    write!(f, "{}{size:?}", if i == 0 { "(" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}

impl<const N: usize, T: Serialize> Serialize for Sizes<N, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.sizes.as_slice() {
            [first, ..] if self.one => first.serialize(serializer),
            sizes => serializer.collect_seq(sizes),
        }
    }
}

impl<'de, const N: usize, T: Copy + Deserialize<'de>> Deserialize<'de> for Sizes<N, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(SizesVisitor::<N, T>(PhantomData, &[]))? {
            Words::Sizes(sizes) => Ok(sizes),
            Words::Word(word) => Err(Error::invalid_value(Unexpected::Str(word), &"numbers")),
        }
    }
}

/// The zero padding of a convolution.
///
/// # Example
///
/// ```
/// use module_tensor::Padding;
///
/// let read = |text| serde_json::from_str::<Padding>(text).map_err(|error| error.to_string());
/// assert_eq!(read("1"), Ok(Padding::Size([1, 1])));
/// assert_eq!(read("[1, 0]"), Ok(Padding::Size([1, 0])));
/// assert_eq!(read("\"same\""), Ok(Padding::Same));
/// assert!(read("-1").is_err_and(|error| error.contains("-1")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding<const N: usize = 2> {
    /// No padding.
    Valid,
    /// As many as keep the size; the stride must be 1. An odd total puts the extra one after.
    Same,
    /// This many before and after, for each dimension.
    Size([usize; N]),
}

impl<const N: usize> Padding<N> {
    const WORDS: &[&str] = &["same", "valid"];
}

impl<const N: usize> From<usize> for Padding<N> {
    fn from(size: usize) -> Self {
        Self::Size([size; N])
    }
}

impl<const N: usize> From<[usize; N]> for Padding<N> {
    fn from(size: [usize; N]) -> Self {
        Self::Size(size)
    }
}

impl<const N: usize> OptionValue<Padding<N>> for [usize; N] {
    #[inline]
    fn into_value(self) -> Padding<N> {
        self.into()
    }
}

/// Prints as PyTorch does.
impl<const N: usize> fmt::Display for Padding<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Valid => f.write_str("valid"),
            Self::Same => f.write_str("same"),
            Self::Size(sizes) => Sizes::<N>::from(sizes).fmt(f),
        }
    }
}

/// A number for each dimension, `"same"` or `"valid"`.
impl<const N: usize> Serialize for Padding<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Size(sizes) => serializer.collect_seq(sizes),
            Self::Valid | Self::Same => serializer.collect_str(self),
        }
    }
}

impl<'de, const N: usize> Deserialize<'de> for Padding<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = SizesVisitor::<N, usize>(PhantomData, Self::WORDS);
        Ok(match deserializer.deserialize_any(visitor)? {
            Words::Sizes(sizes) => Self::Size(sizes.get()),
            Words::Word("same") => Self::Same,
            Words::Word(_) => Self::Valid,
        })
    }
}

/// Reads one number, `N` of them, or one of the words.
struct SizesVisitor<const N: usize, T>(PhantomData<T>, &'static [&'static str]);

enum Words<const N: usize, T> {
    Sizes(Sizes<N, T>),
    Word(&'static str),
}

impl<const N: usize, T: Copy> SizesVisitor<N, T> {
    fn one<'de, E: Error>(number: impl IntoDeserializer<'de, E>) -> Result<Words<N, T>, E>
    where
        T: Deserialize<'de>,
    {
        let number = T::deserialize(number.into_deserializer())?;
        Ok(Words::Sizes(number.into()))
    }
}

impl<'de, const N: usize, T: Copy + Deserialize<'de>> Visitor<'de> for SizesVisitor<N, T> {
    type Value = Words<N, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number or {N} of them")?;
        self.1.iter().try_for_each(|word| write!(f, " or {word:?}"))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Self::one(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Self::one(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Self::one(number)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        let known = self.1.iter().find(|known| **known == word);
        let unknown = || E::invalid_value(Unexpected::Str(word), &self);
        known.copied().map(Words::Word).ok_or_else(unknown)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Self::Value, A::Error> {
        let (mut sizes, mut count) = (smallvec::SmallVec::<[T; 6]>::new(), 0);
        while let Some(number) = numbers.next_element()? {
            count += 1;
            if count <= N {
                sizes.push(number);
            }
        }
        match <[T; N]>::try_from(sizes.as_slice()) {
            Ok(sizes) if count == N => Ok(Words::Sizes(sizes.into())),
            _ => Err(A::Error::invalid_length(count, &self)),
        }
    }
}
