//! Tensors of a pickle: views of the storages that it names.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use super::globals::{Global, Kind, Scalars};
use super::heap::{Heap, Rebuild, Value};
use crate::checkpoint::FormatError;
use crate::checkpoint::words::shorten;
use crate::{Complex, DType, Shape, StateDict, Tensor};
use crate::{Layout, MAX_RANK};

/// Where the elements of storages are.
pub(in crate::checkpoint) trait Storages {
    /// The storage `key`, of `size` bytes, as a one-dimensional tensor.
    fn storage(&self, key: &str, dtype: DType, size: usize) -> Result<Tensor, String>;
}

/// The flags that PyTorch leaves for the reader of the elements to apply.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Lazy {
    negated: bool,
    conjugated: bool,
}

impl Lazy {
    fn apply(self, elements: &Tensor) -> Result<Tensor, FormatError> {
        let made = match elements.dtype() {
            DType::Complex64 => self.of_complex(elements),
            _ if self.negated => elements.neg(),
            // A real number is its own conjugate.
            _ => Ok(elements.clone()),
        };
        made.map_err(|error| FormatError::Unsupported(format!("its negative: {error}")))
    }

    fn of_complex(self, elements: &Tensor) -> crate::Result<Tensor> {
        // A product with -1 may keep the sign of NaN.
        let signed = |x: f32, negative| if negative { -x } else { x };
        let (re, im) = (self.negated, self.negated != self.conjugated);
        let mut numbers = elements.to_vec::<Complex<f32>>()?;
        for number in &mut numbers {
            *number = Complex::new(signed(number.re, re), signed(number.im, im));
        }
        Tensor::from_vec(numbers, elements.shape())
    }
}

/// The remedy for tensors with more elements than their storage has.
const ALLOW: &str =
    "save `tensor.contiguous()`, or allow it by `ReadOptions::new().expanded(true)`";

/// Makes the tensors of a state; those of one storage share its memory.
pub(super) struct TensorBuilder<'a> {
    heap: &'a Heap<'a>,
    storages: &'a dyn Storages,
    state: StateDict,
    /// The first tensor of each storage, and of its negative and conjugate.
    first: HashMap<(&'a str, DType, Lazy), usize>,
    /// Whether tensors may have more elements than there are.
    expanded: bool,
}

impl<'a> TensorBuilder<'a> {
    /// For a state of `count` tensors, which may be `expanded`.
    pub(super) fn new(
        heap: &'a Heap<'a>,
        storages: &'a dyn Storages,
        count: usize,
        expanded: bool,
    ) -> Result<Self, String> {
        // The entry, hash and index of the map.
        let entry = size_of::<(String, Tensor, [usize; 3])>();
        heap.budget().bytes(count.saturating_mul(entry))?;
        Ok(Self {
            heap,
            storages,
            state: StateDict::with_capacity(count),
            first: HashMap::new(),
            expanded,
        })
    }

    /// Adds a tensor under a name that must be unused.
    pub(super) fn insert(&mut self, name: &str, rebuild: Rebuild) -> Result<(), FormatError> {
        self.insert_at(name, name, rebuild)
    }

    /// Adds the tensor at `path` in the pickle under a name that must be unused.
    pub(super) fn insert_at(
        &mut self,
        name: &str,
        path: &str,
        rebuild: Rebuild,
    ) -> Result<(), FormatError> {
        let tensor = self.make(rebuild);
        let tensor = tensor.map_err(|problem| problem.in_part(&shorten(path)))?;
        self.heap.budget().bytes(name.len())?;
        match self.state.insert(name, tensor) {
            Some(_) => Err(format!("the key `{}` appears twice", shorten(name)).into()),
            None => Ok(()),
        }
    }

    /// The tensors so far.
    pub(super) fn state(&self) -> &StateDict {
        &self.state
    }

    /// The state, unless its views together have far more elements than the file holds.
    pub(super) fn finish(self) -> Result<StateDict, FormatError> {
        let most = self.heap.budget().views();
        let size = |tensor: &Tensor| tensor.numel() * tensor.dtype().size_in_bytes();
        let tensors = || self.state.iter().map(|(_, tensor)| tensor);
        if self.expanded || tensors().map(size).fold(0, usize::saturating_add) <= most {
            return Ok(self.state);
        }
        // Now ties count once.
        let (hasher, mut seen, mut sum) = (RandomState::new(), HashSet::new(), 0_usize);
        for (name, tensor) in self.state.iter() {
            let layout = tensor.layout();
            let place = (tensor.storage().address(), layout.offset());
            if seen.insert(hasher.hash_one((place, &layout.shape()[..], layout.strides()))) {
                self.heap.budget().bytes(2 * size_of::<u64>())?;
                sum = sum.saturating_add(size(tensor));
            }
            if sum > most {
                return Err(FormatError::Unsupported(format!(
                    "up to `{}` its tensors are views of more than {most} bytes together, many times \
                     what the file holds; {ALLOW}",
                    shorten(name)
                )));
            }
        }
        Ok(self.state)
    }

    /// `function(storage, offset, size, stride, requires_grad, hooks[, dtype][, metadata])`.
    fn make(&mut self, rebuild: Rebuild) -> Result<Tensor, FormatError> {
        let arguments = self.heap.tuple(Value::Tuple(rebuild.arguments));
        let &[storage, offset, sizes, strides, ref rest @ ..] = arguments.unwrap_or_default()
        else {
            return Err("it lacks a storage, an offset, sizes or strides".into());
        };
        let (key, storage) = self.heap.storage(storage).ok_or_else(|| {
            let what = self.heap.describe(storage);
            format!("its elements lie in {what}, not in a storage")
        })?;
        let (scalars, metadata) = match (rebuild.by, rest) {
            // The oldest function has neither of these two arguments before the metadata.
            (Global::Tensor, [] | [_] | [_, _]) => (storage.scalars, None),
            (Global::Tensor, &[_, _, metadata]) => (storage.scalars, Some(metadata)),
            (Global::TypedTensor, &[_, _, dtype]) => (Some(self.scalars(dtype)?), None),
            (Global::TypedTensor, &[_, _, dtype, metadata]) => {
                (Some(self.scalars(dtype)?), Some(metadata))
            }
            _ => {
                let count = rest.len() + 4;
                return Err(format!("{count} arguments do not describe a tensor").into());
            }
        };
        let scalars = scalars.ok_or("nothing tells its dtype")?;
        let dtype = scalars.dtype().ok_or_else(|| {
            FormatError::Unsupported(format!("its dtype {} is not supported", scalars.name()))
        })?;
        let lazy = metadata.map_or(Ok(Lazy::default()), |metadata| self.lazy(metadata))?;
        let size = storage
            .size()
            .filter(|size| size % dtype.size_in_bytes() == 0)
            .ok_or_else(|| format!("{} elements are not a size of a storage", storage.count))?;
        let layout = self.layout(offset, sizes, strides, dtype, size / dtype.size_in_bytes())?;
        let first = self.first.get(&(key, dtype, lazy)).copied();
        if let Some(first) = first.and_then(|place| self.state.tensor_at(place)) {
            return Ok(Tensor::from_storage(first.storage().clone(), layout));
        }
        // The entry of the map, and the object behind a storage.
        self.heap.budget().bytes(200)?;
        let mut elements = self.storages.storage(key, dtype, size)?;
        if lazy != Lazy::default() {
            // The whole storage at once, so that its views and ties share memory as before.
            self.heap.budget().bytes(size)?;
            elements = lazy.apply(&elements)?;
        }
        self.first.insert((key, dtype, lazy), self.state.len());
        Ok(Tensor::from_storage(elements.storage().clone(), layout))
    }

    /// The dtype that `_rebuild_tensor_v3` gets.
    fn scalars(&self, dtype: Value) -> Result<Scalars, FormatError> {
        match (dtype, self.heap.opaque(dtype)) {
            (Value::Global(Global::DType(scalars)), _) => Ok(scalars),
            (_, Some((module, name))) => {
                let (module, name) = (shorten(module), shorten(name));
                let problem = format!("its dtype `{module}.{name}` is not supported");
                Err(FormatError::Unsupported(problem))
            }
            _ => {
                let what = self.heap.describe(dtype);
                Err(format!("its dtype is {what}").into())
            }
        }
    }

    /// Computes the elements from the stored ones, according to the metadata that PyTorch writes for lazy views:
    /// `{"conj": True}` for a conjugate, `{"neg": True}` for its imaginary part.
    fn lazy(&self, metadata: Value) -> Result<Lazy, FormatError> {
        let pairs = match metadata {
            Value::Other(Kind::None) => &[],
            Value::Dict(place) => self.heap.dict(place),
            other => {
                let what = self.heap.describe(other);
                return Err(FormatError::Unsupported(format!(
                    "its metadata is {what}, not a dict"
                )));
            }
        };
        // Two keys are known; every tensor of a crafted file may name the same large dict.
        if pairs.len() > 16 {
            let count = pairs.len();
            return Err(format!("its metadata has {count} entries").into());
        }
        let mut lazy = Lazy::default();
        for &(key, value) in pairs {
            match (self.heap.text(key), value) {
                (Some("neg"), Value::Other(Kind::Bool(true))) => lazy.negated = true,
                (Some("conj"), Value::Other(Kind::Bool(true))) => lazy.conjugated = true,
                (name, value) => {
                    let name = match name {
                        Some(name) => format!("`{}`", shorten(name)),
                        None => self.heap.describe(key),
                    };
                    let value = match value {
                        Value::Other(Kind::Bool(false)) => "False".to_owned(),
                        Value::Other(Kind::Bool(true)) => "True".to_owned(),
                        value => self.heap.describe(value),
                    };
                    return Err(FormatError::Unsupported(format!(
                        "its metadata has {name}: {value}, which may change its elements and is not \
                         known; save `tensor.clone()` instead"
                    )));
                }
            }
        }
        Ok(lazy)
    }

    /// The layout in a storage of `count` elements.
    fn layout(
        &self,
        offset: Value,
        sizes: Value,
        strides: Value,
        dtype: DType,
        count: usize,
    ) -> Result<Layout, FormatError> {
        let natural = |value| self.heap.int(value).and_then(|n| usize::try_from(n).ok());
        let naturals = |values| -> Option<Vec<usize>> {
            let values = self.heap.tuple(values)?;
            values.iter().copied().map(natural).collect()
        };
        let words = || {
            let numbers = |value| match self.heap.tuple(value) {
                Some(values) => {
                    let shown = values.iter().take(8).map(|&v| match self.heap.int(v) {
                        Some(number) => number.to_string(),
                        None => self.heap.describe(v),
                    });
                    format!("[{}]", shown.collect::<Vec<_>>().join(", "))
                }
                None => self.heap.describe(value),
            };
            let offset = self.heap.int(offset).map(|n| n.to_string());
            format!(
                "offset {}, sizes {} and strides {}",
                offset.unwrap_or_else(|| "of no number".to_owned()),
                numbers(sizes),
                numbers(strides)
            )
        };
        // Nothing is collected before the number of sizes is known.
        let rank = |values| self.heap.tuple(values).map_or(0, <[Value]>::len);
        let rank = rank(sizes).max(rank(strides));
        if rank > MAX_RANK {
            return Err(format!("{rank} dimensions are more than {MAX_RANK}").into());
        }
        let (Some(offset), Some(sizes), Some(strides)) =
            (natural(offset), naturals(sizes), naturals(strides))
        else {
            return Err(format!("{} do not describe a tensor", words()).into());
        };
        self.heap.budget().bytes(size_of_val(&*sizes) * 2)?;
        let shape = Shape::from(sizes);
        let fits = shape
            .checked_numel("checkpoint", dtype.size_in_bytes())
            .map_err(|e| e.to_string());
        fits?;
        let layout = Layout::within(shape, &strides, offset, count)
            .ok_or_else(|| format!("{} reach past the {count} elements of its storage", words()))?;
        match layout.shape().numel() {
            numel if numel > count && !self.expanded => Err(FormatError::Unsupported(format!(
                "{} make {numel} elements of the {count} of its storage; {ALLOW}",
                words()
            ))),
            _ => Ok(layout),
        }
    }
}
