//! Tensors of a pickle: views of the storages that it names.

use std::collections::HashMap;

use super::globals::Global;
use super::heap::{Heap, Rebuild, Value};
use crate::checkpoint::words::shortened;
use crate::layout::Layout;
use crate::{DType, Shape, StateDict, Tensor};

/// Where the elements of storages lie.
pub(in crate::checkpoint) trait Storages {
    /// The storage `key`, of `size` bytes, as a tensor of one dimension.
    fn storage(&self, key: &str, dtype: DType, size: usize) -> Result<Tensor, String>;
}

/// Makes the tensors of a state; those of one storage share its memory.
pub(super) struct Tensors<'a> {
    heap: &'a Heap<'a>,
    storages: &'a dyn Storages,
    pub(super) state: StateDict,
    /// The first tensor of each storage.
    first: HashMap<(&'a str, DType), usize>,
}

impl<'a> Tensors<'a> {
    /// For a state of `count` tensors.
    pub(super) fn new(
        heap: &'a Heap<'a>,
        storages: &'a dyn Storages,
        count: usize,
    ) -> Result<Self, String> {
        // Entry, hash and place of the map.
        let entry = size_of::<(String, Tensor, [usize; 3])>();
        heap.budget().bytes(count.saturating_mul(entry))?;
        Ok(Self {
            heap,
            storages,
            state: StateDict::with_capacity(count),
            first: HashMap::new(),
        })
    }

    /// Puts a tensor under a name that is still free.
    pub(super) fn insert(&mut self, name: &str, rebuild: Rebuild) -> Result<(), String> {
        let tensor = self
            .make(rebuild)
            .map_err(|problem| format!("`{}`: {problem}", shortened(name)))?;
        self.heap.budget().bytes(name.len())?;
        match self.state.insert(name, tensor) {
            Some(_) => Err(format!("the key `{}` stands twice", shortened(name))),
            None => Ok(()),
        }
    }

    /// `function(storage, offset, size, stride, …)`.
    fn make(&mut self, rebuild: Rebuild) -> Result<Tensor, String> {
        let arguments = self.heap.tuple(Value::Tuple(rebuild.arguments));
        let &[storage, offset, sizes, strides, ref rest @ ..] = arguments.unwrap_or_default()
        else {
            return Err("it lacks a storage, an offset, sizes or strides".to_owned());
        };
        let (key, storage) = self.heap.storage(storage).ok_or_else(|| {
            let what = self.heap.describe(storage);
            format!("its elements lie in {what}, not in a storage")
        })?;
        let scalars = match (rebuild.by, rest) {
            (Global::TypedTensor, &[_, _, Value::Global(Global::DType(scalars)), ..]) => scalars,
            _ => storage.scalars.ok_or("nothing tells its dtype")?,
        };
        let dtype = scalars
            .dtype()
            .ok_or_else(|| format!("its dtype {} is not served", scalars.name()))?;
        let size = storage
            .size()
            .filter(|size| size % dtype.size_in_bytes() == 0)
            .ok_or_else(|| format!("{} elements are no size of a storage", storage.count))?;
        let layout = self.layout(offset, sizes, strides, dtype, size / dtype.size_in_bytes())?;
        let first = self.first.get(&(key, dtype)).copied();
        if let Some(first) = first.and_then(|place| self.state.tensor_at(place)) {
            return Ok(first.with_layout(layout));
        }
        // The entry of the map, and the object behind a storage.
        self.heap.budget().bytes(200)?;
        let elements = self.storages.storage(key, dtype, size)?;
        self.first.insert((key, dtype), self.state.len());
        Ok(elements.with_layout(layout))
    }

    /// The layout in a storage of `count` elements.
    fn layout(
        &self,
        offset: Value,
        sizes: Value,
        strides: Value,
        dtype: DType,
        count: usize,
    ) -> Result<Layout, String> {
        let natural = |value| self.heap.int(value).and_then(|n| usize::try_from(n).ok());
        let naturals = |values| -> Option<Vec<usize>> {
            let values = self.heap.tuple(values)?;
            // PyTorch has no more dimensions; nothing is collected before that is known.
            (values.len() <= 64).then_some(())?;
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
        let (Some(offset), Some(sizes), Some(strides)) =
            (natural(offset), naturals(sizes), naturals(strides))
        else {
            return Err(format!("{} are none of a tensor", words()));
        };
        self.heap.budget().bytes(size_of_val(&*sizes) * 2)?;
        let shape = Shape::from(sizes);
        let fits = shape
            .checked_numel("checkpoint", dtype.size_in_bytes())
            .map_err(|e| e.to_string());
        fits?;
        Layout::within(shape, &strides, offset, count)
            .ok_or_else(|| format!("{} reach past the {count} elements of its storage", words()))
    }
}
