//! Writes objects as a pickle of protocol 2, like `torch.save`.

use std::collections::HashMap;

use super::globals::storage_class;
use super::objects::DEPTH;
use crate::Tensor;
use crate::checkpoint::TorchObject;

/// The pickle of an object, and the tensors whose elements are its storages `0`, `1`, ….
pub(in crate::checkpoint) fn pickle(
    object: &TorchObject,
) -> Result<(Vec<u8>, Vec<&Tensor>), String> {
    let mut writer = Writer {
        bytes: vec![0x80, 2],
        storages: Vec::new(),
        by_memory: HashMap::new(),
    };
    writer.object(object, 0)?;
    writer.bytes.push(b'.');
    Ok((writer.bytes, writer.storages))
}

struct Writer<'a> {
    bytes: Vec<u8>,
    storages: Vec<&'a Tensor>,
    /// The numbers of the storages at each address, so that ties are written once.
    by_memory: HashMap<usize, Vec<usize>>,
}

impl<'a> Writer<'a> {
    fn object(&mut self, object: &'a TorchObject, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err(format!(
                "its objects lie more than {DEPTH} deep in each other"
            ));
        }
        match object {
            TorchObject::None => self.bytes.push(b'N'),
            TorchObject::Bool(value) => self.bytes.push(if *value { 0x88 } else { 0x89 }),
            TorchObject::Int(number) => self.int(*number),
            TorchObject::Float(number) => {
                self.bytes.push(b'G');
                self.bytes.extend(number.to_be_bytes());
            }
            TorchObject::Text(text) => self.text(text)?,
            TorchObject::List(items) => {
                self.bytes.extend(b"](");
                self.items(items, depth)?;
                self.bytes.push(b'e');
            }
            TorchObject::Tuple(items) => {
                self.bytes.push(b'(');
                self.items(items, depth)?;
                self.bytes.push(b't');
            }
            TorchObject::Dict(pairs) => {
                self.bytes.extend(b"}(");
                for (key, value) in pairs {
                    check_key(key)?;
                    self.object(key, depth + 1)?;
                    self.object(value, depth + 1)?;
                }
                self.bytes.push(b'u');
            }
            TorchObject::Tensor(tensor) => self.tensor(tensor)?,
            TorchObject::Other(what) => {
                return Err(format!("it holds {what}, which is only read"));
            }
        }
        Ok(())
    }

    fn items(&mut self, items: &'a [TorchObject], depth: usize) -> Result<(), String> {
        items
            .iter()
            .try_for_each(|item| self.object(item, depth + 1))
    }

    fn int(&mut self, number: i64) {
        match (u8::try_from(number), i32::try_from(number)) {
            (Ok(number), _) => self.bytes.extend([b'K', number]),
            (_, Ok(number)) => {
                self.bytes.push(b'J');
                self.bytes.extend(number.to_le_bytes());
            }
            _ => {
                self.bytes.extend([0x8a, 8]);
                self.bytes.extend(number.to_le_bytes());
            }
        }
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        let length = u32::try_from(text.len()).map_err(|e| format!("a text: {e}"))?;
        self.bytes.push(b'X');
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(text.as_bytes());
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) {
        self.bytes.extend(format!("c{module}\n{name}\n").bytes());
    }

    /// `_rebuild_tensor_v2(storage, 0, sizes, strides, False, OrderedDict())`; for a dtype without a storage class
    /// `_rebuild_tensor_v3`, with the dtype as the last argument.
    fn tensor(&mut self, tensor: &'a Tensor) -> Result<(), String> {
        let dtype = tensor.dtype();
        let class = storage_class(dtype)
            .ok_or_else(|| format!("PyTorch has no name for the dtype {dtype}"))?;
        let function = if class.is_some() {
            "_rebuild_tensor_v2"
        } else {
            "_rebuild_tensor_v3"
        };
        self.global("torch._utils", function);
        self.bytes.push(b'(');
        self.storage(tensor, class)?;
        self.int(0);
        let sizes = tensor.shape().to_vec();
        let mut strides = vec![1; sizes.len()];
        for i in (1..sizes.len()).rev() {
            strides[i - 1] = strides[i] * sizes[i].max(1);
        }
        for numbers in [sizes, strides] {
            self.bytes.push(b'(');
            for number in numbers {
                self.int(i64::try_from(number).map_err(|e| e.to_string())?);
            }
            self.bytes.push(b't');
        }
        self.bytes.push(0x89);
        self.global("collections", "OrderedDict");
        self.bytes.extend(b")R");
        if class.is_none() {
            self.global("torch", dtype.name());
        }
        self.bytes.extend(b"tR");
        Ok(())
    }

    /// `('storage', class, key, 'cpu', count)` as a persistent object outside the pickle.
    fn storage(&mut self, tensor: &'a Tensor, class: Option<&str>) -> Result<(), String> {
        let number = self.number(tensor);
        self.bytes.push(b'(');
        self.text("storage")?;
        match class {
            Some(class) => self.global("torch", class),
            None => self.global("torch.storage", "UntypedStorage"),
        }
        self.text(&number.to_string())?;
        self.text("cpu")?;
        let size = if class.is_some() {
            1
        } else {
            tensor.dtype().size_in_bytes()
        };
        let count = i64::try_from(tensor.numel() * size);
        self.int(count.map_err(|e| e.to_string())?);
        self.bytes.extend(b"tQ");
        Ok(())
    }

    /// The number of the storage of a tensor.
    fn number(&mut self, tensor: &'a Tensor) -> usize {
        let sharing = self.by_memory.entry(tensor.storage().address());
        let sharing = sharing.or_default();
        let storages = &self.storages;
        let same = |number: &&usize| {
            let other = storages.get(**number);
            other.is_some_and(|other| {
                other.numel() > 0
                    && other.layout() == tensor.layout()
                    && other.dtype() == tensor.dtype()
            })
        };
        if let Some(number) = sharing.iter().find(same) {
            return *number;
        }
        let number = self.storages.len();
        sharing.push(number);
        self.storages.push(tensor);
        number
    }
}

/// Refuses keys that a Python dict cannot have.
fn check_key(key: &TorchObject) -> Result<(), String> {
    match key {
        TorchObject::List(_) | TorchObject::Dict(_) | TorchObject::Tensor(_) => Err(format!(
            "a key is {}; a dict has numbers, texts or tuples for keys",
            key.describe()
        )),
        _ => Ok(()),
    }
}
