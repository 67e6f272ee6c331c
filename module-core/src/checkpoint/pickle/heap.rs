//! The objects of a pickle.
//!
//! They are in a few vectors and refer to each other by number, so that cycles are harmless and dropping deeply nested
//! objects needs no stack. Objects that cannot be part of a tensor are kept only as their kind.

use indexmap::IndexMap;

use super::budget::Budget;
use super::globals::{self, Global, Kind, Scalars};
use crate::checkpoint::words::shorten;

/// An object, or a reference to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Int(i32),
    /// A number that fits no `i32`.
    Long(u32),
    Float(u32),
    Text(u32),
    Tuple(u32),
    List(u32),
    Dict(u32),
    Storage(u32),
    Tensor(u32),
    Global(Global),
    /// A class or function outside the list, or its result: only its name is known.
    Opaque(u32),
    Other(Kind),
}

/// Memory in the file that tensors share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::checkpoint) struct Storage {
    /// The declared element type; `None` for bytes whose type each tensor states.
    pub(in crate::checkpoint) scalars: Option<Scalars>,
    /// The number of elements.
    pub(in crate::checkpoint) count: usize,
}

impl Storage {
    /// The number of bytes, unless it overflows.
    pub(in crate::checkpoint) fn size(&self) -> Option<usize> {
        self.count
            .checked_mul(self.scalars.map_or(1, |scalars| scalars.size()))
    }
}

/// A tensor as a PyTorch function would make it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebuild {
    pub(super) by: Global,
    /// The tuple of arguments.
    pub(super) arguments: u32,
}

pub(super) struct Heap<'a> {
    budget: &'a Budget,
    longs: Vec<i128>,
    floats: Vec<f64>,
    texts: Vec<&'a str>,
    tuples: Vec<(u32, u32)>,
    items: Vec<Value>,
    lists: Vec<Vec<Value>>,
    dicts: Vec<Vec<(Value, Value)>>,
    storages: IndexMap<&'a str, Storage>,
    tensors: Vec<Rebuild>,
    /// Module and name.
    opaque: Vec<(&'a str, &'a str)>,
}

/// Appends a value to a vector, charged to the budget, and returns its index.
fn push<T>(budget: &Budget, all: &mut Vec<T>, value: T) -> Result<u32, String> {
    budget.reserve(all, 1)?;
    let place = u32::try_from(all.len()).map_err(|e| e.to_string())?;
    all.push(value);
    Ok(place)
}

impl<'a> Heap<'a> {
    pub(super) fn new(budget: &'a Budget) -> Self {
        Self {
            budget,
            longs: Vec::new(),
            floats: Vec::new(),
            texts: Vec::new(),
            tuples: Vec::new(),
            items: Vec::new(),
            lists: Vec::new(),
            dicts: Vec::new(),
            storages: IndexMap::new(),
            tensors: Vec::new(),
            opaque: Vec::new(),
        }
    }

    pub(super) fn budget(&self) -> &'a Budget {
        self.budget
    }

    pub(super) fn new_int(&mut self, number: i128) -> Result<Value, String> {
        match i32::try_from(number) {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => push(self.budget, &mut self.longs, number).map(Value::Long),
        }
    }

    pub(super) fn new_float(&mut self, number: f64) -> Result<Value, String> {
        push(self.budget, &mut self.floats, number).map(Value::Float)
    }

    pub(super) fn new_text(&mut self, text: &'a str) -> Result<Value, String> {
        push(self.budget, &mut self.texts, text).map(Value::Text)
    }

    pub(super) fn new_tuple(&mut self, items: &[Value]) -> Result<Value, String> {
        self.budget.reserve(&mut self.items, items.len())?;
        let start = u32::try_from(self.items.len());
        let length = u32::try_from(items.len());
        let range = start.and_then(|start| Ok((start, length?)));
        self.items.extend_from_slice(items);
        let range = range.map_err(|e| e.to_string())?;
        push(self.budget, &mut self.tuples, range).map(Value::Tuple)
    }

    pub(super) fn new_list(&mut self) -> Result<Value, String> {
        push(self.budget, &mut self.lists, Vec::new()).map(Value::List)
    }

    pub(super) fn new_dict(&mut self) -> Result<Value, String> {
        push(self.budget, &mut self.dicts, Vec::new()).map(Value::Dict)
    }

    pub(super) fn new_tensor(&mut self, by: Global, arguments: u32) -> Result<Value, String> {
        push(self.budget, &mut self.tensors, Rebuild { by, arguments }).map(Value::Tensor)
    }

    /// The meaning of a name.
    pub(super) fn global(&mut self, module: &'a str, name: &'a str) -> Result<Value, String> {
        match globals::find(module, name) {
            Some(global) => Ok(Value::Global(global)),
            None => push(self.budget, &mut self.opaque, (module, name)).map(Value::Opaque),
        }
    }

    /// The first name outside the list.
    pub(super) fn first_opaque(&self) -> Option<(&'a str, &'a str)> {
        self.opaque.first().copied()
    }

    /// The module and the name of an opaque value.
    pub(super) fn opaque(&self, value: Value) -> Option<(&'a str, &'a str)> {
        match value {
            Value::Opaque(place) => Some(self.opaque[place as usize]),
            _ => None,
        }
    }

    /// The storage of a key, which must be the same each time.
    pub(super) fn new_storage(&mut self, key: &'a str, storage: Storage) -> Result<Value, String> {
        let (place, before) = match self.storages.get_full(key) {
            Some((place, _, before)) => (place, *before),
            None => {
                // Entry, hash and index of the map, half of which may be spare capacity.
                self.budget
                    .bytes(2 * size_of::<(&str, Storage, [usize; 2])>())?;
                (self.storages.insert_full(key, storage).0, storage)
            }
        };
        if before != storage {
            return Err(format!(
                "storage `{}` is described in two ways, as {before:?} and as {storage:?}",
                shorten(key)
            ));
        }
        u32::try_from(place)
            .map(Value::Storage)
            .map_err(|e| e.to_string())
    }

    pub(super) fn append(&mut self, list: u32, items: &[Value]) -> Result<(), String> {
        let all = &mut self.lists[list as usize];
        self.budget.reserve(all, items.len())?;
        all.extend_from_slice(items);
        Ok(())
    }

    pub(super) fn set(&mut self, dict: u32, pairs: &[Value]) -> Result<(), String> {
        let (pairs, rest) = pairs.as_chunks();
        if !rest.is_empty() {
            return Err("a key without a value".to_owned());
        }
        let all = &mut self.dicts[dict as usize];
        self.budget.reserve(all, pairs.len())?;
        all.extend(pairs.iter().map(|&[key, value]| (key, value)));
        Ok(())
    }

    /// An integer, if the value is one.
    pub(super) fn int(&self, value: Value) -> Option<i128> {
        match value {
            Value::Int(number) => Some(number.into()),
            Value::Long(place) => Some(self.longs[place as usize]),
            _ => None,
        }
    }

    pub(super) fn float(&self, value: Value) -> Option<f64> {
        match value {
            Value::Float(place) => Some(self.floats[place as usize]),
            _ => None,
        }
    }

    pub(super) fn text(&self, value: Value) -> Option<&'a str> {
        match value {
            Value::Text(place) => Some(self.texts[place as usize]),
            _ => None,
        }
    }

    pub(super) fn tuple(&self, value: Value) -> Option<&[Value]> {
        match value {
            Value::Tuple(place) => {
                let (start, length) = self.tuples[place as usize];
                Some(&self.items[start as usize..][..length as usize])
            }
            _ => None,
        }
    }

    /// The items of a list or a tuple.
    pub(super) fn sequence(&self, value: Value) -> Option<&[Value]> {
        match value {
            Value::List(place) => Some(&self.lists[place as usize]),
            _ => self.tuple(value),
        }
    }

    pub(super) fn dict(&self, place: u32) -> &[(Value, Value)] {
        &self.dicts[place as usize]
    }

    pub(super) fn tensor(&self, place: u32) -> Rebuild {
        self.tensors[place as usize]
    }

    /// How many tensors the pickle makes.
    pub(super) fn tensor_count(&self) -> usize {
        self.tensors.len()
    }

    pub(super) fn storage(&self, value: Value) -> Option<(&'a str, Storage)> {
        match value {
            Value::Storage(place) => {
                let (key, storage) = self.storages.get_index(place as usize)?;
                Some((key, *storage))
            }
            _ => None,
        }
    }

    /// Every storage that the pickle names, including those that no tensor uses.
    pub(super) fn storages(&self) -> &IndexMap<&'a str, Storage> {
        &self.storages
    }

    /// The kind of a value, in words.
    pub(super) fn describe(&self, value: Value) -> String {
        match value {
            Value::Int(number) => format!("the number {number}"),
            Value::Long(_) | Value::Float(_) => "a number".to_owned(),
            Value::Text(_) => "a text".to_owned(),
            Value::Tuple(_) => "a tuple".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Dict(_) => "a dict".to_owned(),
            Value::Storage(_) => "a storage without a tensor".to_owned(),
            Value::Tensor(_) => "a tensor".to_owned(),
            Value::Global(global) => global.describe().to_owned(),
            Value::Opaque(place) => {
                let (module, name) = self.opaque[place as usize];
                globals::describe(module, name)
            }
            Value::Other(kind) => kind.describe().to_owned(),
        }
    }
}
