//! The dimensions of operands that kernels visit together.

use module_tensor::{Layout, Result};

use crate::gpu::word;
use crate::map::take_index;

/// The shape of several operands, with as few dimensions as their strides allow, and where each has its elements.
pub(crate) struct Dims {
    shape: Vec<u32>,
    operands: Vec<Strides>,
}

/// The first element of an operand, and the distance of neighbors in each dimension.
struct Strides {
    offset: u32,
    steps: Vec<u32>,
}

impl Dims {
    /// The dimensions of operands of the same shape.
    pub(crate) fn new(op: &'static str, layouts: &[&Layout]) -> Result<Self> {
        let shape: &[usize] = layouts.first().map_or(&[], |layout| layout.shape());
        let strides: Vec<&[usize]> = layouts.iter().map(|layout| layout.strides()).collect();
        let offsets: Vec<usize> = layouts.iter().map(|layout| layout.offset()).collect();
        Self::of(op, shape, &strides, &offsets)
    }

    /// The dimensions of operands with these strides.
    pub(crate) fn of(
        op: &'static str,
        shape: &[usize],
        strides: &[&[usize]],
        offsets: &[usize],
    ) -> Result<Self> {
        // Each merged dimension: its size, and the stride of each operand.
        let mut merged: Vec<(usize, Vec<usize>)> = Vec::new();
        for (dim, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
            let steps: Vec<usize> = strides.iter().map(|strides| strides[dim]).collect();
            if let Some((outer, above)) = merged.last_mut() {
                let joins = |(above, step): (&usize, &usize)| *above == step.wrapping_mul(size);
                if above.iter().zip(&steps).all(joins) {
                    *outer *= size;
                    *above = steps;
                    continue;
                }
            }
            merged.push((size, steps));
        }
        let count = shape.iter().product::<usize>();
        word(op, count)?;
        let sizes = merged.iter().map(|(size, _)| word(op, *size));
        let shape = sizes.collect::<Result<Vec<u32>>>()?;
        let operand = |(i, &offset): (usize, &usize)| {
            let last: usize = merged
                .iter()
                .map(|(size, steps)| size.saturating_sub(1) * steps[i])
                .sum();
            word(op, offset + last)?;
            // Strides of dimensions without elements may be anything.
            let step = |(_, steps): &(usize, Vec<usize>)| steps[i] as u32;
            Ok(Strides {
                offset: offset as u32,
                steps: merged.iter().map(step).collect(),
            })
        };
        let operands = offsets.iter().enumerate().map(operand);
        let operands = operands.collect::<Result<Vec<_>>>()?;
        Ok(Self { shape, operands })
    }

    /// Whether an operand has its elements one after another.
    pub(crate) fn is_contiguous(&self, operand: usize) -> bool {
        match self.operands[operand].steps.as_slice() {
            [] => true,
            [step] => *step == 1,
            _ => false,
        }
    }

    /// The part of a pipeline's key on which [`code`](Self::code) depends.
    pub(crate) fn key(&self) -> String {
        let mut key = self.shape.len().to_string();
        let all = 0..self.operands.len();
        key.extend(all.map(|i| if self.is_contiguous(i) { 'c' } else { 's' }));
        key
    }

    /// Appends the parameters that [`code`](Self::code) reads.
    pub(crate) fn push(&self, parameters: &mut Vec<u32>) {
        parameters.extend(&self.shape);
        for operand in &self.operands {
            parameters.push(operand.offset);
            parameters.extend(&operand.steps);
        }
    }

    /// For each operand a function, by the names given, from the number of an element in row-major order to its place in
    /// memory; `first` is the number of the first parameter.
    pub(crate) fn code(&self, first: usize, names: &[&str]) -> String {
        let rank = self.shape.len();
        let mut code = String::new();
        for (i, name) in names.iter().enumerate() {
            let offset = first + rank + i * (rank + 1);
            code.push_str(&format!("fn {name}(i: u32) -> u32 {{\n"));
            if self.is_contiguous(i) {
                code.push_str(&format!("    return ${offset} + i;\n}}\n"));
                continue;
            }
            code.push_str(&format!("    var rest = i;\n    var at = ${offset};\n"));
            for dim in (0..rank).rev() {
                let (size, step) = (first + dim, offset + 1 + dim);
                if dim == 0 {
                    code.push_str(&format!("    at += rest * ${step};\n"));
                } else {
                    code.push_str(&take_index("rest", &format!("i{dim}"), &format!("${size}")));
                    code.push_str(&format!("    at += i{dim} * ${step};\n"));
                }
            }
            code.push_str("    return at;\n}\n");
        }
        code
    }
}
