//! The objects of a pickle as an owned tree.

use std::collections::HashMap;

use super::globals::Kind;
use super::heap::{Heap, Value};
use super::select::{find, step};
use super::tensors::{Storages, TensorBuilder};
use crate::checkpoint::{FormatError, ReadOptions, TorchObject};

/// How deep objects may be nested, which is also the recursion depth.
pub(super) const DEPTH: usize = 64;

/// The object at the entry in the options, or the whole object.
pub(super) fn object(
    heap: &Heap<'_>,
    root: Value,
    options: &ReadOptions,
    storages: &dyn Storages,
) -> Result<TorchObject, FormatError> {
    let root = match options.entry.as_deref() {
        Some(path) => find(heap, root, path)?,
        None => root,
    };
    let mut tree = Tree {
        heap,
        tensors: TensorBuilder::new(heap, storages, heap.tensor_count(), options.expanded)?,
        places: HashMap::new(),
        path: Vec::new(),
    };
    let object = tree.object(root)?;
    // This refuses views with more elements than the file holds.
    tree.tensors.finish()?;
    Ok(object)
}

struct Tree<'a> {
    heap: &'a Heap<'a>,
    tensors: TensorBuilder<'a>,
    /// The tensors made so far.
    places: HashMap<u32, usize>,
    /// The keys and indices that lead to the object.
    path: Vec<String>,
}

impl Tree<'_> {
    fn object(&mut self, value: Value) -> Result<TorchObject, FormatError> {
        if self.path.len() > DEPTH {
            return Err(FormatError::Unsupported(format!(
                "its objects lie more than {DEPTH} deep in each other; choose one by `ReadOptions::entry`"
            )));
        }
        // A shared object is copied for each reference, so the total size is not bounded by the file's length.
        self.heap.budget().bytes(size_of::<TorchObject>())?;
        Ok(match value {
            Value::Other(Kind::None) => TorchObject::None,
            Value::Other(Kind::Bool(value)) => TorchObject::Bool(value),
            Value::Text(_) => {
                let text = self.heap.text(value).unwrap_or_default();
                self.heap.budget().bytes(text.len())?;
                TorchObject::Text(text.to_owned())
            }
            Value::Float(_) => TorchObject::Float(self.heap.float(value).unwrap_or_default()),
            Value::List(_) => TorchObject::List(self.items(value)?),
            Value::Tuple(_) => TorchObject::Tuple(self.items(value)?),
            Value::Dict(place) => {
                let heap = self.heap;
                let mut pairs = Vec::new();
                for &(key, value) in heap.dict(place) {
                    let name = step(heap, key).unwrap_or_else(|| heap.describe(key).into());
                    let key = self.inside("key".to_owned(), key)?;
                    pairs.push((key, self.inside(name.into_owned(), value)?));
                }
                TorchObject::Dict(pairs)
            }
            Value::Tensor(place) => self.tensor(place)?,
            other => match self.heap.int(other).map(i64::try_from) {
                Some(Ok(number)) => TorchObject::Int(number),
                _ => TorchObject::Other(self.heap.describe(other)),
            },
        })
    }

    /// The items of a list or a tuple.
    fn items(&mut self, value: Value) -> Result<Vec<TorchObject>, FormatError> {
        let items = self.heap.sequence(value).unwrap_or_default().iter();
        let items = items.enumerate();
        items
            .map(|(number, &item)| self.inside(number.to_string(), item))
            .collect()
    }

    /// An object that another holds under a name.
    fn inside(&mut self, name: String, value: Value) -> Result<TorchObject, FormatError> {
        self.path.push(name);
        let object = self.object(value);
        self.path.pop();
        object
    }

    fn tensor(&mut self, place: u32) -> Result<TorchObject, FormatError> {
        let made = self.places.get(&place).copied();
        let number = match made {
            Some(number) => number,
            None => {
                let number = self.tensors.state().len();
                let rebuild = self.heap.tensor(place);
                let path = self.path.join(".");
                self.tensors
                    .insert_at(&number.to_string(), &path, rebuild)?;
                self.heap.budget().bytes(2 * size_of::<(u32, usize)>())?;
                self.places.insert(place, number);
                number
            }
        };
        let tensor = self.tensors.state().tensor_at(number).cloned();
        Ok(tensor.map_or(TorchObject::None, TorchObject::Tensor))
    }
}
