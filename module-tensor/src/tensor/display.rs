use std::fmt;

use super::{NodeKind, Tensor};
use crate::backend::HostData;
use crate::error::quote;
use crate::{Complex, DType, Device, Result, default_dtype};

/// PyTorch's print options.
const EDGE_ITEMS: usize = 3;
const SUMMARIZE_ABOVE: usize = 1000;
const LINE: usize = 80;

const PREFIX: &str = "tensor(";

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, f)
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, f)
    }
}

/// Prints as PyTorch does, character for character, except for the name of the operation in `grad_fn`.
fn write(x: &Tensor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = PREFIX.to_owned();
    // Without elements there may still be any number of rows.
    if x.numel() == 0 {
        text.push_str("[]");
    } else if is_hidden(x) {
        text.push_str("...");
    } else {
        match read_shown(x) {
            Ok((numbers, shape)) => Page::new(x, &numbers, &shape).write(&mut text, 0, 0),
            Err(error) => text.push_str(&format!("<{error}>")),
        }
    }
    // PyTorch's count, which starts two characters before the line.
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let mut width = last_line.len() + 2;
    for suffix in suffixes(x) {
        if width + suffix.len() + 2 > LINE {
            text.push_str(&format!(",\n{:indent$}{suffix}", "", indent = PREFIX.len()));
            width = PREFIX.len() + suffix.len();
        } else {
            text.push_str(&format!(", {suffix}"));
            width += suffix.len() + 2;
        }
    }
    text.push(')');
    f.write_str(&text)
}

/// Whether there are no elements to read one by one.
fn is_hidden(x: &Tensor) -> bool {
    !x.has_values() || x.is_packed()
}

/// The properties that the numbers do not show.
fn suffixes(x: &Tensor) -> Vec<String> {
    let mut suffixes = Vec::new();
    if x.device() != Device::cpu() {
        suffixes.push(format!("device='{}'", x.device()));
    }
    let empty = x.numel() == 0;
    if (empty && x.rank() != 1) || is_hidden(x) {
        let sizes: Vec<String> = x.shape().iter().map(ToString::to_string).collect();
        // A Python tuple with a single number ends with a comma.
        let comma = if sizes.len() == 1 { "," } else { "" };
        suffixes.push(format!("size=({}{comma})", sizes.join(", ")));
    }
    if let Some(packed) = x.storage.packed() {
        suffixes.push(format!("packed='{}'", quote(packed.scheme())));
    }
    // The dtype of booleans, integers and complex numbers is evident from their elements, if there are any.
    let told = match x.dtype() {
        DType::I64 | DType::Bool => true,
        DType::Complex64 => default_dtype() == DType::F32,
        _ => false,
    };
    if x.dtype() != default_dtype() && (!told || empty) {
        suffixes.push(format!("dtype=torch.{}", x.dtype()));
    }
    if let Some(edge) = &x.edge {
        suffixes.push(match &edge.node.kind {
            NodeKind::Leaf(_) => "requires_grad=True".to_owned(),
            NodeKind::Op(op) => format!("grad_fn=<{}>", op.name),
        });
    }
    suffixes
}

/// The printed elements, with their shape: for a large tensor only those at the ends of each dimension, so that no others
/// are fetched from the device.
fn read_shown(x: &Tensor) -> Result<(HostData, Vec<usize>)> {
    let mut x = x.detach();
    if x.numel() > SUMMARIZE_ABOVE {
        let mut shape = x.shape().to_vec();
        for (dim, size) in shape.iter_mut().enumerate().rev() {
            if *size > 2 * EDGE_ITEMS {
                // The two ends are two windows, as a view, which may have more dimensions than a public tensor.
                let ends = x.layout().windows(dim, 2, EDGE_ITEMS, *size - EDGE_ITEMS);
                let ends = x.with_layout(ends);
                x = ends.movedim(-1, dim + 1)?;
                *size = 2 * EDGE_ITEMS;
            }
        }
        return Ok((x.to_host()?, shape));
    }
    Ok((x.to_host()?, x.shape().to_vec()))
}

/// Texts of equal width, in the shape of a tensor.
struct Page<'a> {
    texts: Vec<String>,
    /// The shape of the texts, and which of its dimensions are abbreviated in the middle.
    shape: &'a [usize],
    hidden: Vec<bool>,
    width: usize,
}

impl<'a> Page<'a> {
    fn new(x: &Tensor, numbers: &HostData, shape: &'a [usize]) -> Self {
        let (texts, width) = texts(numbers);
        let hidden = x.shape().iter().zip(shape).map(|(all, shown)| all != shown);
        Self {
            texts,
            shape,
            hidden: hidden.collect(),
            width,
        }
    }

    /// Writes the part at depth `depth` that starts at element `start`.
    fn write(&self, text: &mut String, depth: usize, start: usize) {
        let indent = PREFIX.len() + depth + 1;
        let Some((&size, inner)) = self.shape.get(depth..).and_then(<[usize]>::split_first) else {
            text.push_str(self.texts.get(start).map_or("", String::as_str));
            return;
        };
        let step: usize = inner.iter().product();
        let hidden = self.hidden.get(depth).copied().unwrap_or_default();
        let per_line = ((LINE + 1).saturating_sub(indent) / (self.width + 2)).max(1);
        let mut shown: Vec<Option<usize>> = (0..size).map(Some).collect();
        if hidden {
            shown.insert(EDGE_ITEMS, None);
        }
        text.push('[');
        for (i, index) in shown.into_iter().enumerate() {
            if i > 0 {
                text.push(',');
                let breaks = match inner.len() {
                    0 if i % per_line == 0 => 1,
                    breaks => breaks,
                };
                text.push_str(&"\n".repeat(breaks));
                let blanks = if breaks == 0 { 1 } else { indent };
                text.push_str(&" ".repeat(blanks));
            }
            match index {
                Some(i) => self.write(text, depth + 1, start + i * step),
                // Extra spaces, as in PyTorch.
                None if inner.is_empty() => text.push_str(" ..."),
                None => text.push_str("..."),
            }
        }
        text.push(']');
    }
}

/// The texts of numbers, and their common width.
fn texts(data: &HostData) -> (Vec<String>, usize) {
    match data {
        HostData::F32(values) => floats(&mut values.iter().map(|&v| v.into())),
        HostData::F64(values) => floats(&mut values.iter().copied()),
        HostData::F16(values) => floats(&mut values.iter().map(|v| v.to_f64())),
        HostData::BF16(values) => floats(&mut values.iter().map(|v| v.to_f64())),
        HostData::I64(values) => integers(&mut values.iter().copied()),
        HostData::I32(values) => integers(&mut values.iter().map(|&v| v.into())),
        HostData::U8(values) => integers(&mut values.iter().map(|&v| v.into())),
        HostData::Bool(values) => truths(values),
        HostData::I8(values) => integers(&mut values.iter().map(|&v| v.into())),
        HostData::I16(values) => integers(&mut values.iter().map(|&v| v.into())),
        HostData::U16(values) => integers(&mut values.iter().map(|&v| v.into())),
        HostData::U32(values) => integers(&mut values.iter().map(|&v| v.into())),
        HostData::F8E4M3(values) => floats(&mut values.iter().map(|v| v.to_f32().into())),
        HostData::F8E5M2(values) => floats(&mut values.iter().map(|v| v.to_f32().into())),
        HostData::Complex64(values) => complex(values),
    }
}

fn truths(values: &[bool]) -> (Vec<String>, usize) {
    let text = |&v: &bool| if v { "True" } else { "False" }.to_owned();
    align(values.iter().map(text).collect(), 1)
}

fn integers(values: &mut dyn Iterator<Item = i64>) -> (Vec<String>, usize) {
    let mut texts = Vec::new();
    for value in values {
        texts.push(value.to_string());
    }
    align(texts, 1)
}

/// A format for the real parts and one for the imaginary ones, which are not aligned.
fn complex(values: &[Complex<f32>]) -> (Vec<String>, usize) {
    let (real, real_width) = floats(&mut values.iter().map(|v| v.re.into()));
    let (imaginary, width) = floats(&mut values.iter().map(|v| v.im.into()));
    let pairs = real.into_iter().zip(imaginary).map(|(re, im)| {
        let im = im.trim_start();
        let plus = if im.starts_with('-') { "" } else { "+" };
        format!("{re}{plus}{im}j")
    });
    (pairs.collect(), real_width + width + 1)
}

fn align(texts: Vec<String>, least: usize) -> (Vec<String>, usize) {
    let width = texts.iter().map(String::len).fold(least, usize::max);
    let aligned = texts.into_iter().map(|text| format!("{text:>width$}"));
    (aligned.collect(), width)
}

/// Four decimals; integral values with only a dot; exponents where these would hide the values. Zeros, infinities and NaN
/// affect neither the notation nor the width.
fn floats(listed: &mut dyn Iterator<Item = f64>) -> (Vec<String>, usize) {
    let mut values = Vec::new();
    for value in listed {
        values.push(value);
    }
    let telling = values
        .iter()
        .copied()
        .filter(|v| v.is_finite() && *v != 0.0);
    let (least, greatest) = telling
        .clone()
        .map(f64::abs)
        .fold((f64::INFINITY, 0.0_f64), |(least, greatest), size| {
            (least.min(size), greatest.max(size))
        });
    let whole = telling.clone().all(|v| v == v.trunc());
    let exponents = greatest / least > 1000.0 || greatest > 1e8 || least < 1e-4;
    let text = |v: f64| match v {
        _ if v.is_nan() => "nan".to_owned(),
        _ if v.is_infinite() => if v > 0.0 { "inf" } else { "-inf" }.to_owned(),
        _ if exponents => with_exponent(v),
        _ if whole => format!("{v:.0}."),
        _ => format!("{v:.4}"),
    };
    let width = telling.map(|v| text(v).len()).fold(1, usize::max);
    let aligned = values.into_iter().map(|v| format!("{:>width$}", text(v)));
    (aligned.collect(), width)
}

/// Rust writes `1e5` where Python writes `1e+05`.
fn with_exponent(v: f64) -> String {
    let text = format!("{v:.4e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text,
    }
}
