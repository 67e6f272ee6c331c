//! Reads the values of a header from untrusted bytes.

use super::value::{GgufArray, GgufValue};
use crate::checkpoint::FormatError;
use crate::checkpoint::words::shorten;

/// How deep arrays may be nested.
const DEPTH: usize = 8;

/// Why parsing stops.
pub(super) enum Stop {
    /// The file is longer than the bytes read so far.
    More,
    /// The file is invalid.
    Problem(FormatError),
}

impl<P: Into<FormatError>> From<P> for Stop {
    fn from(problem: P) -> Self {
        Self::Problem(problem.into())
    }
}

/// The first bytes of a file of some length, and how many of them have been read.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    length: usize,
    place: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], length: usize) -> Self {
        let place = 0;
        Self {
            bytes,
            length,
            place,
        }
    }

    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// The bytes of the file that have not been read.
    fn left(&self) -> usize {
        self.length - self.place
    }

    fn bytes(&mut self, count: u64) -> Result<&'a [u8], Stop> {
        let left = self.left();
        let count = usize::try_from(count).ok().filter(|count| *count <= left);
        let Some(count) = count else {
            return Err(early(self.place).into());
        };
        let end = self.place + count;
        let bytes = self.bytes.get(self.place..end).ok_or(Stop::More)?;
        self.place = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let bytes = self.bytes(N as u64)?;
        Ok(bytes.try_into().unwrap_or([0; N]))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        self.array().map(u64::from_le_bytes)
    }

    /// A string after its length.
    pub(super) fn text(&mut self, what: &str) -> Result<String, Stop> {
        let length = self.u64()?;
        let bytes = self.bytes(length)?;
        match str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => {
                let lossy = String::from_utf8_lossy(bytes);
                let (text, place) = (shorten(&lossy), error.valid_up_to());
                Err(format!("{what} `{text}` is not UTF-8 from its byte {place} on").into())
            }
        }
    }

    /// The number of items that follow, each of at least `least` bytes.
    pub(super) fn count(&mut self, what: &str, least: usize) -> Result<usize, Stop> {
        let (count, left) = (self.u64()?, self.left());
        let fits = usize::try_from(count)
            .ok()
            .filter(|count| *count <= left / least);
        fits.ok_or_else(|| {
            format!(
                "it is said to have {count} {what}, but {left} bytes follow (truncated?); download or save it again"
            )
            .into()
        })
    }

    /// A value of the type with this number.
    pub(super) fn value(&mut self, kind: u32) -> Result<GgufValue, Stop> {
        Ok(match kind {
            0 => GgufValue::U8(u8::from_le_bytes(self.array()?)),
            1 => GgufValue::I8(i8::from_le_bytes(self.array()?)),
            2 => GgufValue::U16(u16::from_le_bytes(self.array()?)),
            3 => GgufValue::I16(i16::from_le_bytes(self.array()?)),
            4 => GgufValue::U32(self.u32()?),
            5 => GgufValue::I32(i32::from_le_bytes(self.array()?)),
            6 => GgufValue::F32(f32::from_le_bytes(self.array()?)),
            7 => GgufValue::Bool(truth(u8::from_le_bytes(self.array()?))?),
            8 => GgufValue::Str(self.text("the text")?),
            9 => GgufValue::Array(self.elements(DEPTH)?),
            10 => GgufValue::U64(self.u64()?),
            11 => GgufValue::I64(i64::from_le_bytes(self.array()?)),
            12 => GgufValue::F64(f64::from_le_bytes(self.array()?)),
            _ => return Err(unknown(kind).into()),
        })
    }

    /// An array of arrays up to a maximum depth.
    fn elements(&mut self, depth: usize) -> Result<GgufArray, Stop> {
        let kind = self.u32()?;
        // A string takes at least its length field, an array its type and its length.
        let least = match kind {
            8 => 8,
            9 => 12,
            _ => 1,
        };
        let count = self.count("elements in an array", least)?;
        Ok(match kind {
            0 => GgufArray::U8(self.numbers(count, u8::from_le_bytes)?),
            1 => GgufArray::I8(self.numbers(count, i8::from_le_bytes)?),
            2 => GgufArray::U16(self.numbers(count, u16::from_le_bytes)?),
            3 => GgufArray::I16(self.numbers(count, i16::from_le_bytes)?),
            4 => GgufArray::U32(self.numbers(count, u32::from_le_bytes)?),
            5 => GgufArray::I32(self.numbers(count, i32::from_le_bytes)?),
            6 => GgufArray::F32(self.numbers(count, f32::from_le_bytes)?),
            7 => {
                let bytes = self.bytes(count as u64)?.iter();
                GgufArray::Bool(bytes.map(|byte| truth(*byte)).collect::<Result<_, _>>()?)
            }
            8 => GgufArray::Str(self.many(count, |cursor| cursor.text("the text"))?),
            9 if depth == 0 => {
                return Err(format!("arrays lie more than {DEPTH} deep in each other").into());
            }
            9 => GgufArray::Array(self.many(count, |cursor| cursor.elements(depth - 1))?),
            10 => GgufArray::U64(self.numbers(count, u64::from_le_bytes)?),
            11 => GgufArray::I64(self.numbers(count, i64::from_le_bytes)?),
            12 => GgufArray::F64(self.numbers(count, f64::from_le_bytes)?),
            _ => return Err(unknown(kind).into()),
        })
    }

    fn numbers<const N: usize, T>(
        &mut self,
        count: usize,
        read: fn([u8; N]) -> T,
    ) -> Result<Vec<T>, Stop> {
        let bytes = self.bytes((count as u64).saturating_mul(N as u64))?;
        let (numbers, _) = bytes.as_chunks::<N>();
        Ok(numbers.iter().map(|bytes| read(*bytes)).collect())
    }

    /// Elements of any count; memory is allocated only as they are read.
    pub(super) fn many<T>(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Stop>,
    ) -> Result<Vec<T>, Stop> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(read(self)?);
        }
        Ok(all)
    }
}

fn early(place: usize) -> String {
    format!(
        "the file ends early (truncated?), in the object that begins at byte {place}; download or save it again"
    )
}

fn truth(byte: u8) -> Result<bool, String> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(format!("a boolean is {byte}, and neither 0 nor 1")),
    }
}

fn unknown(kind: u32) -> String {
    format!("the type {kind} of a value is unknown")
}
