//! The stack machine that executes a pickle: protocols 2 to 5.
//!
//! It is a loop over the bytes. The stack, the marks and the memo are bounded, and objects are limited by the
//! [budget](super::budget).

use super::call::{build, call, call_named};
use super::globals::{Global, Kind};
use super::heap::{Heap, Storage, Value};
use super::reader::{Reader, text};

/// Containers are written in batches of a thousand; only a tuple needs its full length on the stack.
const STACK: usize = 100_000;

pub(super) struct Machine<'a> {
    pub(super) heap: Heap<'a>,
    stack: Vec<Value>,
    /// The stack length at each open mark.
    marks: Vec<usize>,
    memo: Vec<Option<Value>>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(heap: Heap<'a>) -> Self {
        Self {
            heap,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
        }
    }

    /// Runs a pickle to its end and returns its result.
    pub(super) fn run(&mut self, reader: &mut Reader<'a>) -> Result<Value, String> {
        loop {
            let at = reader.at();
            let code = reader.byte()?;
            if code == b'.' {
                break;
            }
            self.step(code, reader)
                .map_err(|problem| format!("{problem} (pickle, byte {at})"))?;
        }
        match (&self.stack[..], &self.marks[..]) {
            (&[value], []) => Ok(value),
            _ => Err(format!("the pickle ends with {} objects", self.stack.len())),
        }
    }

    fn step(&mut self, code: u8, reader: &mut Reader<'a>) -> Result<(), String> {
        let value = match code {
            0x80 => return protocol(reader.byte()?),
            0x95 => return check_frame(reader),
            b'(' => return self.mark(),
            b'0' => return self.pop().map(drop),
            b'1' => return self.pop_since_mark().map(drop),
            b'2' => self.top()?,

            b'N' => Value::Other(Kind::None),
            0x88 | 0x89 => Value::Other(Kind::Bool(code == 0x88)),
            b'J' => Value::Int(i32::from_le_bytes(reader.array()?)),
            b'K' => Value::Int(reader.byte()?.into()),
            b'M' => Value::Int(u16::from_le_bytes(reader.array()?).into()),
            0x8a => self.long(reader.read_counted::<1>()?)?,
            0x8b => self.long(reader.read_counted::<4>()?)?,
            b'G' => self.heap.new_float(f64::from_be_bytes(reader.array()?))?,
            b'X' => self.text(reader.read_counted::<4>()?)?,
            0x8c => self.text(reader.read_counted::<1>()?)?,
            0x8d => self.text(reader.read_counted::<8>()?)?,
            b'U' => self.old_text(reader.read_counted::<1>()?)?,
            b'T' => self.old_text(reader.read_counted::<4>()?)?,
            b'B' => bytes(reader.read_counted::<4>()?),
            b'C' => bytes(reader.read_counted::<1>()?),
            0x8e | 0x96 => bytes(reader.read_counted::<8>()?),

            b')' => self.heap.new_tuple(&[])?,
            0x85 => self.tuple(1)?,
            0x86 => self.tuple(2)?,
            0x87 => self.tuple(3)?,
            b't' => {
                let items = self.pop_since_mark()?;
                self.heap.new_tuple(&items)?
            }
            b']' => self.heap.new_list()?,
            b'l' => {
                let items = self.pop_since_mark()?;
                let list = self.heap.new_list()?;
                self.append(list, &items)?;
                list
            }
            b'a' => {
                let item = self.pop()?;
                let list = self.top()?;
                return self.append(list, &[item]);
            }
            b'e' => {
                let items = self.pop_since_mark()?;
                let list = self.top()?;
                return self.append(list, &items);
            }
            b'}' => self.heap.new_dict()?,
            b'd' => {
                let pairs = self.pop_since_mark()?;
                let dict = self.heap.new_dict()?;
                self.set(dict, &pairs)?;
                dict
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                let dict = self.top()?;
                return self.set(dict, &[key, value]);
            }
            b'u' => {
                let pairs = self.pop_since_mark()?;
                let dict = self.top()?;
                return self.set(dict, &pairs);
            }
            0x8f => Value::Other(Kind::Set),
            0x90 => {
                self.pop_since_mark()?;
                return match self.top()? {
                    Value::Other(Kind::Set) | Value::Opaque(_) => Ok(()),
                    other => Err(self.unfit_error("adds items to", other)),
                };
            }
            0x91 => self.pop_since_mark().map(|_| Value::Other(Kind::Set))?,

            b'q' => return self.put(reader.byte()?.into(), reader.at()),
            b'r' => return self.put(reader.length::<4>()?, reader.at()),
            0x94 => return self.put(self.memo.len(), reader.at()),
            b'h' => self.get(reader.byte()?.into())?,
            b'j' => self.get(reader.length::<4>()?)?,

            b'c' => {
                let module = reader.line()?;
                self.heap.global(module, reader.line()?)?
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (self.heap.text(module), self.heap.text(name)) {
                    (Some(module), Some(name)) => self.heap.global(module, name)?,
                    _ => {
                        return Err(
                            "the pickle names a global by something that is not text".to_owned()
                        );
                    }
                }
            }
            // A new object of a class is made the same way as by calling the class.
            b'R' | 0x81 => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                call(&mut self.heap, function, arguments)?
            }
            0x92 => {
                let (named, arguments) = (self.pop()?, self.pop()?);
                let class = self.pop()?;
                call_named(&mut self.heap, class, arguments, named)?
            }
            b'b' => {
                self.pop()?;
                let object = self.top()?;
                return build(&self.heap, object);
            }
            b'Q' => self.storage()?,
            _ => {
                return Err(format!(
                    "the operation {:?} (0x{code:02x}) is none that checkpoints need",
                    char::from(code)
                ));
            }
        };
        self.push(value)
    }

    fn push(&mut self, value: Value) -> Result<(), String> {
        if self.stack.len() == STACK {
            return Err(format!("more than {STACK} objects are open at once"));
        }
        self.stack.push(value);
        Ok(())
    }

    /// Pops the last object since the last mark.
    fn pop(&mut self) -> Result<Value, String> {
        let value = self.top()?;
        self.stack.pop();
        Ok(value)
    }

    fn top(&self) -> Result<Value, String> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.get(floor..) {
            Some(&[.., last]) => Ok(last),
            _ => Err("the pickle takes an object where there is none".to_owned()),
        }
    }

    fn mark(&mut self) -> Result<(), String> {
        if self.marks.len() == STACK {
            return Err(format!("more than {STACK} containers are open at once"));
        }
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn pop_since_mark(&mut self) -> Result<Vec<Value>, String> {
        let mark = self
            .marks
            .pop()
            .ok_or("the pickle closes what is not open")?;
        Ok(self.stack.split_off(mark))
    }

    fn tuple(&mut self, count: usize) -> Result<Value, String> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let start = self.stack.len().checked_sub(count);
        let start = start
            .filter(|&start| start >= floor)
            .ok_or("the pickle takes objects where there are none")?;
        let tuple = self.heap.new_tuple(&self.stack[start..])?;
        self.stack.truncate(start);
        Ok(tuple)
    }

    fn append(&mut self, list: Value, items: &[Value]) -> Result<(), String> {
        match list {
            Value::List(place) => self.heap.append(place, items),
            Value::Opaque(_) => Ok(()),
            other => Err(self.unfit_error("adds items to", other)),
        }
    }

    fn set(&mut self, dict: Value, pairs: &[Value]) -> Result<(), String> {
        match dict {
            Value::Dict(place) => self.heap.set(place, pairs),
            // The counts of a counter are not tensors.
            Value::Other(Kind::Counter) | Value::Opaque(_) => Ok(()),
            other => Err(self.unfit_error("sets keys of", other)),
        }
    }

    fn unfit_error(&self, does: &str, value: Value) -> String {
        format!("the pickle {does} {}", self.heap.describe(value))
    }

    /// Stores the last object under a number; Python counts from 0, and each takes two bytes.
    fn put(&mut self, place: usize, at: usize) -> Result<(), String> {
        let value = self.top()?;
        if place > at {
            return Err(format!("object {place} is remembered by byte {at}"));
        }
        if let Some(more) = (place + 1).checked_sub(self.memo.len()) {
            self.heap.budget().reserve(&mut self.memo, more)?;
            self.memo.resize(self.memo.len() + more, None);
        }
        self.memo[place] = Some(value);
        Ok(())
    }

    fn get(&self, place: usize) -> Result<Value, String> {
        let value = self.memo.get(place).copied().flatten();
        value.ok_or_else(|| format!("object {place} was not remembered"))
    }

    /// A little-endian signed integer of any length; one that does not fit `i128` is never used.
    fn long(&mut self, bytes: &[u8]) -> Result<Value, String> {
        let fill = match bytes.last() {
            Some(last) if *last >= 0x80 => 0xff,
            _ => 0,
        };
        let mut number = [fill; 16];
        match number.get_mut(..bytes.len()) {
            Some(low) => {
                low.copy_from_slice(bytes);
                self.heap.new_int(i128::from_le_bytes(number))
            }
            None => Ok(Value::Other(Kind::Number)),
        }
    }

    fn text(&mut self, bytes: &'a [u8]) -> Result<Value, String> {
        self.heap.new_text(text(bytes)?)
    }

    /// Python 2's strings, which are text or bytes.
    fn old_text(&mut self, text: &'a [u8]) -> Result<Value, String> {
        match std::str::from_utf8(text) {
            Ok(text) => self.heap.new_text(text),
            Err(_) => Ok(bytes(text)),
        }
    }

    /// `('storage', class, key, device, count[, view])`.
    fn storage(&mut self) -> Result<Value, String> {
        let id = self.pop()?;
        let heap = &mut self.heap;
        let parts = heap.tuple(id).unwrap_or_default();
        // A class of modules with its source, or an unknown storage class.
        if let &[_, class @ Value::Opaque(_), ..] = parts {
            return Ok(class);
        }
        if parts.first().and_then(|&tag| heap.text(tag)) == Some("module") {
            return Err(
                "the checkpoint holds a whole module; save `model.state_dict()` instead".to_owned(),
            );
        }
        let (_tag, class, key, count, view) = match *parts {
            [tag, class, key, _, count] => (tag, class, key, count, None),
            [tag, class, key, _, count, view] => (tag, class, key, count, Some(view)),
            _ => return Err("an external object that is not a storage".to_owned()),
        };
        if view.is_some_and(|view| view != Value::Other(Kind::None)) {
            return Err(
                "a storage that is part of another, as PyTorch wrote them before 0.4; re-save it"
                    .to_owned(),
            );
        }
        let count = heap
            .int(count)
            .and_then(|count| usize::try_from(count).ok());
        match (class, heap.text(key), count) {
            (Value::Global(Global::Storage(scalars)), Some(key), Some(count)) => {
                heap.new_storage(key, Storage { scalars, count })
            }
            _ => Err("a storage without a class, a key or a size".to_owned()),
        }
    }
}

fn bytes(_: &[u8]) -> Value {
    Value::Other(Kind::Bytes)
}

fn protocol(number: u8) -> Result<(), String> {
    match number {
        2..=5 => Ok(()),
        _ => Err(format!(
            "pickle protocol {number} is not supported; expected 2 to 5"
        )),
    }
}

/// A frame only states how many bytes follow, and there must be that many.
fn check_frame(reader: &mut Reader<'_>) -> Result<(), String> {
    let length = reader.length::<8>()?;
    reader.fork().take(length).map(drop)
}
