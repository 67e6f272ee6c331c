//! `einsum`: sums of products by Einstein's convention.

use crate::tensor::Tensor;
use crate::{DType, Error, Result};

/// An axis of the whole expression: the dimensions of ellipses, counted from the last, then letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Ellipsis(usize),
    Letter(char),
}

/// The letters and the ellipsis of one operand, or of the output.
struct Term {
    letters: Vec<char>,
    /// The number of letters before the ellipsis.
    ellipsis: Option<usize>,
}

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        let (mut letters, mut ellipsis) = (Vec::new(), None);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("...") {
                if ellipsis.replace(letters.len()).is_some() {
                    return Err(format!("`{text}` has more than one ellipsis"));
                }
                rest = after;
                continue;
            }
            match c {
                _ if c.is_ascii_alphabetic() => letters.push(c),
                ' ' => {}
                _ => return Err(format!("`{c}` in `{text}` is not a letter")),
            }
            rest = &rest[c.len_utf8()..];
        }
        Ok(Self { letters, ellipsis })
    }

    /// The axes, with `count` axes for the ellipsis.
    fn axes(&self, count: usize) -> Vec<Axis> {
        let (before, after) = self.letters.split_at(self.ellipsis.unwrap_or(0));
        let letters = |letters: &[char]| letters.iter().map(|&c| Axis::Letter(c)).collect();
        let mut axes: Vec<Axis> = letters(before);
        axes.extend((0..count).rev().map(Axis::Ellipsis));
        axes.extend::<Vec<Axis>>(letters(after));
        axes
    }
}

/// A tensor and the axes of its dimensions.
#[derive(Clone)]
struct Labeled {
    x: Tensor,
    axes: Vec<Axis>,
}

impl Labeled {
    fn has(&self, axis: Axis) -> bool {
        self.axes.contains(&axis)
    }

    fn size(&self, axis: Axis) -> Option<usize> {
        let dim = self.axes.iter().position(|&a| a == axis)?;
        self.x.shape().get(dim).copied()
    }

    /// Takes the diagonal of axes that occur twice, so that each occurs once.
    fn without_repeats(mut self) -> Result<Self> {
        let again = |axes: &[Axis]| {
            let dims = axes.iter().enumerate();
            let mut pairs = dims.filter_map(|(j, axis)| {
                let i = axes[..j].iter().position(|a| a == axis)?;
                Some((i, j))
            });
            pairs.next()
        };
        while let Some((i, j)) = again(&self.axes) {
            self.x = self.x.diagonal(0, i as isize, j as isize)?;
            let axis = self.axes.remove(j);
            self.axes.remove(i);
            self.axes.push(axis);
        }
        Ok(self)
    }

    /// Sums over unused axes.
    fn sum_unless(self, wanted: impl Fn(Axis) -> bool) -> Result<Self> {
        let dims = 0..self.axes.len();
        let dims: Vec<usize> = dims.filter(|&d| !wanted(self.axes[d])).collect();
        if dims.is_empty() {
            return Ok(self);
        }
        let x = self.x.sum(dims.as_slice())?;
        let axes = self.axes.into_iter().filter(|&axis| wanted(axis));
        let axes = axes.collect();
        Ok(Self { x, axes })
    }

    fn into_i64(mut self) -> Result<Self> {
        self.x = self.x.to_dtype(DType::I64)?;
        Ok(self)
    }

    /// Removes the axes of size 1 along which `other` is longer, because they broadcast.
    fn without_stretched(self, other: &Self) -> Result<Self> {
        let stretched = |axis: &Axis| {
            self.size(*axis) == Some(1) && other.size(*axis).is_some_and(|size| size != 1)
        };
        let dims = self.axes.iter().enumerate();
        let dims: Vec<usize> = dims
            .filter(|(_, axis)| stretched(axis))
            .map(|(d, _)| d)
            .collect();
        let axes = self.axes.iter().copied().filter(|axis| !stretched(axis));
        Ok(Self {
            axes: axes.collect(),
            x: self.x.squeeze(dims.as_slice())?,
        })
    }

    /// Permutes the dimensions to the order of `axes`, all of which the tensor has.
    fn permute_by(&self, axes: &[Axis]) -> Result<Tensor> {
        let dim = |axis: &Axis| self.axes.iter().position(|a| a == axis);
        let order: Vec<isize> = axes.iter().filter_map(dim).map(|d| d as isize).collect();
        self.x.permute(order)
    }

    /// Permutes and reshapes to one dimension for each group of axes.
    fn group_axes(&self, groups: &[&[Axis]]) -> Result<Tensor> {
        let sizes = groups.iter().map(|group| {
            let sizes = group.iter().filter_map(|&axis| self.size(axis));
            sizes.product::<usize>()
        });
        let shape = sizes.collect();
        self.permute_by(&groups.concat())?.reshape_to(&shape)
    }

    /// The product, summed over unused axes.
    fn times(self, other: Self, wanted: impl Fn(Axis) -> bool) -> Result<Self> {
        let (a, b) = (
            self.clone().without_stretched(&other)?,
            other.without_stretched(&self)?,
        );
        let a = a.sum_unless(|axis| wanted(axis) || b.has(axis))?;
        let b = b.sum_unless(|axis| wanted(axis) || a.has(axis))?;
        // A sum of integers is `I64`, so the other factor must be too.
        let (a, b) = match a.x.dtype() == b.x.dtype() {
            true => (a, b),
            false => (a.into_i64()?, b.into_i64()?),
        };
        let pick = |axes: &[Axis], f: &dyn Fn(Axis) -> bool| -> Vec<Axis> {
            axes.iter().copied().filter(|&axis| f(axis)).collect()
        };
        let batch = pick(&a.axes, &|axis| b.has(axis) && wanted(axis));
        let inner = pick(&a.axes, &|axis| b.has(axis) && !wanted(axis));
        let rows = pick(&a.axes, &|axis| !b.has(axis));
        let columns = pick(&b.axes, &|axis| !a.has(axis));
        let axes = [&batch[..], &rows, &columns].concat();
        let sizes = || {
            axes.iter()
                .filter_map(|&axis| a.size(axis).or_else(|| b.size(axis)))
        };
        let x = if inner.is_empty() {
            // Without a sum, elements are multiplied, with sizes of 1 for the axes of the other operand.
            let stretch = |labeled: &Self, own: &[Axis], empty: [usize; 2]| {
                let shape = labeled.permute_by(own)?;
                let sizes = shape.shape().to_vec();
                let (start, rest) = sizes.split_at(batch.len());
                let ones = |count: usize| vec![1; count];
                let full = [start, &ones(empty[0]), rest, &ones(empty[1])].concat();
                shape.reshape_to(&full.into())
            };
            let left = stretch(&a, &[&batch[..], &rows].concat(), [0, columns.len()])?;
            let right = stretch(&b, &[&batch[..], &columns].concat(), [rows.len(), 0])?;
            left.mul(&right)?
        } else if batch.is_empty() {
            let product = a
                .group_axes(&[&rows, &inner])?
                .matmul(&b.group_axes(&[&inner, &columns])?)?;
            product.reshape_to(&sizes().collect())?
        } else {
            let left = a.group_axes(&[&batch, &rows, &inner])?;
            let right = b.group_axes(&[&batch, &inner, &columns])?;
            left.matmul(&right)?.reshape_to(&sizes().collect())?
        };
        Ok(Self { x, axes })
    }
}

impl Tensor {
    /// The sum of products described by an equation, like PyTorch's `torch.einsum`.
    ///
    /// Each operand has a term of letters, one for each dimension; the letters of the output follow `->`. Letters that the
    /// output lacks are summed over, and a letter that occurs twice in a term takes the diagonal. `...` stands for any
    /// dimensions, which broadcast, as do sizes of 1. Without `->`, the output has the ellipsis followed by the letters
    /// that occur once, in alphabetical order, capitals first.
    ///
    /// | equation | result |
    /// |---|---|
    /// | `ij,jk->ik` | matrix product |
    /// | `bhqd,bhkd->bhqk` | attention scores |
    /// | `ii->i`, `ii` | diagonal, trace |
    /// | `...ij->...ji` | transposes |
    /// | `i,j->ij` | outer product |
    ///
    /// Operands are multiplied from left to right, each product being one (batched) matrix product.
    ///
    /// # Errors
    ///
    /// A malformed equation, or one with another number of operands or dimensions, different sizes of the same letter, an
    /// output letter that no operand has or that occurs twice, different dtypes or devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let q = Tensor::randn([2, 4, 5, 8], DType::F32)?;
    /// let k = Tensor::randn([2, 4, 7, 8], DType::F32)?;
    /// let scores = Tensor::einsum("bhqd,bhkd->bhqk", &[&q, &k])?;
    /// assert_eq!(scores.shape().to_string(), "[2, 4, 5, 7]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn einsum(equation: &str, operands: &[&Self]) -> Result<Self> {
        let fail = |problem: String| {
            let quoted = format_args!("\"{equation}\"");
            Error::argument("einsum", "equation", quoted, problem)
        };
        if let Some((first, rest)) = operands.split_first() {
            rest.iter()
                .try_for_each(|x| first.check_same("einsum", x))?;
        }
        let (operands, output) = parse_equation(equation, operands).map_err(fail)?;
        let mut operands = operands
            .into_iter()
            .map(Labeled::without_repeats)
            .collect::<Result<Vec<_>>>()?
            .into_iter();
        let Some(mut out) = operands.next() else {
            return Err(fail("needs an operand".to_owned()));
        };
        while let Some(next) = operands.next() {
            let later = operands.as_slice();
            let wanted = |axis| output.contains(&axis) || later.iter().any(|x| x.has(axis));
            out = out.times(next, wanted)?;
        }
        out.sum_unless(|axis| output.contains(&axis))?
            .permute_by(&output)
    }
}

/// The operands with their axes, whose sizes match, and the axes of the output.
fn parse_equation(
    equation: &str,
    operands: &[&Tensor],
) -> Result<(Vec<Labeled>, Vec<Axis>), String> {
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(Term::parse(output)?)),
        None => (equation, None),
    };
    let terms = inputs
        .split(',')
        .map(Term::parse)
        .collect::<Result<Vec<_>, _>>()?;
    if terms.len() != operands.len() {
        let (named, got) = (terms.len(), operands.len());
        return Err(format!("is for {named} operand(s), got {got}"));
    }
    let mut parts: Vec<Labeled> = Vec::new();
    let mut sizes: Vec<(Axis, usize)> = Vec::new();
    let mut most = 0;
    for (i, (term, x)) in terms.iter().zip(operands).enumerate() {
        let hidden = x.rank().checked_sub(term.letters.len());
        let hidden = hidden.filter(|&count| count == 0 || term.ellipsis.is_some());
        let Some(hidden) = hidden else {
            let (count, shape) = (term.letters.len(), x.shape());
            return Err(format!(
                "has {count} letter(s) for operand {i} of shape {shape}"
            ));
        };
        most = most.max(hidden);
        let axes = term.axes(hidden);
        let mut own: Vec<(Axis, usize)> = Vec::new();
        for (&axis, &size) in axes.iter().zip(x.shape().iter()) {
            // A diagonal of a dimension and another of size 1 would not be a diagonal.
            if own.iter().any(|&(a, s)| a == axis && s != size) {
                return Err(format!(
                    "repeats {axis} for different sizes of operand {i} of shape {}",
                    x.shape()
                ));
            }
            own.push((axis, size));
            match sizes.iter_mut().find(|(a, _)| *a == axis) {
                None => sizes.push((axis, size)),
                Some((_, known)) if *known == 1 => *known = size,
                Some((_, known)) if size != 1 && *known != size => {
                    return Err(format!("gives {axis} the sizes {known} and {size}"));
                }
                Some(_) => {}
            }
        }
        parts.push(Labeled {
            x: (*x).clone(),
            axes,
        });
    }
    let mut all: Vec<char> = Vec::new();
    for term in &terms {
        all.extend_from_slice(&term.letters);
    }
    let count = |letter: &char| all.iter().filter(|other| *other == letter).count();
    let output = match output {
        Some(term) => term,
        None => {
            let mut letters: Vec<char> = all.iter().copied().filter(|c| count(c) == 1).collect();
            letters.sort_unstable();
            let ellipsis = Some(0);
            Term { letters, ellipsis }
        }
    };
    for (i, letter) in output.letters.iter().enumerate() {
        if output.letters[..i].contains(letter) {
            return Err(format!("has `{letter}` twice in the output"));
        }
        if count(letter) == 0 {
            return Err(format!("has `{letter}` in the output only"));
        }
    }
    let hidden = if output.ellipsis.is_some() { most } else { 0 };
    Ok((parts, output.axes(hidden)))
}

impl std::fmt::Display for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ellipsis(dim) => write!(f, "dimension -{} of the ellipses", dim + 1),
            Self::Letter(letter) => write!(f, "`{letter}`"),
        }
    }
}
