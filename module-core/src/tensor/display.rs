use std::fmt;

use super::Tensor;
use crate::DType;
use crate::backend::HostData;

/// Longer dimensions print only this many elements at each end, in tensors of over a thousand.
const EDGE: usize = 3;
const SUMMARISE: usize = 1000;

/// Prints as PyTorch does in outline: nested brackets, then what the numbers do not show.
pub(super) fn write(x: &Tensor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("tensor(")?;
    match x.to_host() {
        // Without elements there may still be any number of rows.
        Ok(_) if x.numel() == 0 => f.write_str("[]")?,
        Ok(data) => {
            let texts = texts(&data);
            let width = texts.iter().map(String::len).max().unwrap_or(0);
            let summarise = x.numel() > SUMMARISE;
            nested(f, &texts, width, x.shape(), summarise, 1)?;
        }
        Err(error) => write!(f, "<{error}>")?,
    }
    if !matches!(x.dtype(), DType::F32 | DType::I64 | DType::Bool) {
        write!(f, ", dtype={}", x.dtype())?;
    }
    if x.numel() == 0 && x.rank() != 1 {
        write!(f, ", size={}", x.shape())?;
    }
    if x.is_tracked() {
        f.write_str(if x.is_leaf() {
            ", requires_grad=True"
        } else {
            ", tracked"
        })?;
    }
    f.write_str(")")
}

fn texts(data: &HostData) -> Vec<String> {
    fn each<T: Copy>(values: &[T], text: impl Fn(T) -> String) -> Vec<String> {
        values.iter().map(|&v| text(v)).collect()
    }
    match data {
        HostData::F32(values) => floats(values.iter().map(|&v| v.into())),
        HostData::F64(values) => floats(values.iter().copied()),
        HostData::F16(values) => floats(values.iter().map(|v| v.to_f64())),
        HostData::BF16(values) => floats(values.iter().map(|v| v.to_f64())),
        HostData::I64(values) => each(values, |v| v.to_string()),
        HostData::I32(values) => each(values, |v| v.to_string()),
        HostData::U8(values) => each(values, |v| v.to_string()),
        HostData::Bool(values) => each(values, |v| if v { "True" } else { "False" }.to_owned()),
    }
}

/// Four decimals, with exponents where these would hide what the numbers are: PyTorch's rule.
fn floats(values: impl Iterator<Item = f64> + Clone) -> Vec<String> {
    let sizes = values.clone().map(f64::abs);
    let (least, greatest) = sizes
        .filter(|&size| size > 0.0 && size.is_finite())
        .fold((f64::INFINITY, 0.0_f64), |(least, greatest), size| {
            (least.min(size), greatest.max(size))
        });
    let exponents = greatest > 1e8 || greatest / least > 1e3 || least < 1e-4;
    let text = |v: f64| {
        if exponents && v.is_finite() {
            let text = format!("{v:.4e}");
            // Rust writes `1e5` where Python writes `1e+05`.
            match text.split_once('e') {
                Some((digits, exponent)) => match exponent.strip_prefix('-') {
                    Some(exponent) => format!("{digits}e-{exponent:0>2}"),
                    None => format!("{digits}e+{exponent:0>2}"),
                },
                None => text,
            }
        } else if v.is_nan() {
            "nan".to_owned()
        } else if v == v.trunc() {
            format!("{v:.1}")
        } else {
            format!("{v:.4}")
        }
    };
    values.map(text).collect()
}

fn nested(
    f: &mut fmt::Formatter<'_>,
    texts: &[String],
    width: usize,
    shape: &[usize],
    summarise: bool,
    depth: usize,
) -> fmt::Result {
    let Some((&size, inner)) = shape.split_first() else {
        return f.write_str(texts.first().map_or("", String::as_str));
    };
    let step: usize = inner.iter().product();
    f.write_str("[")?;
    let mut first = true;
    for i in 0..size {
        let hidden = summarise && size > 2 * EDGE && (EDGE..size - EDGE).contains(&i);
        if hidden && i > EDGE {
            continue;
        }
        if !first {
            f.write_str(",")?;
            if inner.is_empty() {
                f.write_str(" ")?;
            } else {
                for _ in 0..inner.len() {
                    f.write_str("\n")?;
                }
                write!(f, "{:indent$}", "", indent = "tensor(".len() + depth - 1)?;
            }
        }
        first = false;
        if hidden {
            f.write_str("...")?;
        } else if inner.is_empty() {
            write!(f, "{:>width$}", texts.get(i).map_or("", String::as_str))?;
        } else {
            let part = texts.get(i * step..(i + 1) * step).unwrap_or_default();
            nested(f, part, width, inner, summarise, depth + 1)?;
        }
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests {
    use crate::Tensor;

    /// As PyTorch prints them, but for the dots without decimals.
    #[test]
    fn small_and_far_numbers_keep_their_digits() {
        for (values, text) in [
            ([1e-5_f32, 2e-7], "tensor([1.0000e-05, 2.0000e-07])"),
            ([1.0, 1e5], "tensor([1.0000e+00, 1.0000e+05])"),
            ([f32::NAN, 1e-6], "tensor([       nan, 1.0000e-06])"),
            ([f32::INFINITY, 0.5], "tensor([   inf, 0.5000])"),
            ([0.0, 0.0], "tensor([0.0, 0.0])"),
        ] {
            assert_eq!(Tensor::from(values).to_string(), text);
        }
    }
}
