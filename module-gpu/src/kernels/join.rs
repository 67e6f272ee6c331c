use module_tensor::backend::{Operand, Storage};
use module_tensor::{Layout, Result, Shape};

use super::binary::whole;
use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};
use crate::storage::GpuStorage;

/// Parts that one kernel joins.
const PARTS: usize = 6;

impl Gpu {
    /// The parts one after another along `dim`.
    pub(crate) fn concatenate(&self, parts: Vec<Operand>, dim: usize) -> Result<Storage> {
        let op = "cat";
        let mut parts = parts;
        while parts.len() > PARTS {
            let mut joined = Vec::new();
            for group in parts.chunks(PARTS) {
                let storage = self.join(op, group, dim)?;
                let layout = Layout::contiguous(shape(group, dim));
                joined.push(whole(storage, &layout));
            }
            parts = joined;
        }
        self.join(op, &parts, dim)
    }

    fn join(&self, op: &'static str, parts: &[Operand], dim: usize) -> Result<Storage> {
        let Some(first) = parts.first() else {
            return Err(self.device().unavailable(op));
        };
        let dtype = first.storage.dtype();
        let (bits, shape) = (Elem::bits(dtype), shape(parts, dim));
        let inner: usize = shape[dim + 1..].iter().product();
        let sizes: Vec<usize> = parts.iter().map(|x| x.layout.shape()[dim]).collect();
        // The size along the dimension and that within, then where each part ends, then its dimensions.
        let mut parameters = vec![word(op, shape[dim] * inner)?, word(op, inner)?];
        let mut end = 0;
        for size in &sizes {
            end += size * inner;
            parameters.push(word(op, end)?);
        }
        let mut dims = Vec::new();
        for x in parts {
            let of = Dims::new(op, &[&x.layout])?;
            let start = FIRST + parameters.len();
            of.push(&mut parameters);
            dims.push((start, of));
        }
        let data = parts.iter().map(|x| Ok((self.data(op, x)?, bits)));
        let reads: Vec<(&GpuStorage, Elem)> = data.collect::<Result<_>>()?;
        let keys = dims.iter().map(|(_, of)| of.key());
        let key = keys.fold(op.to_owned(), |all, key| all + " " + &key);
        let of = bits.computed();
        self.map(Map {
            op,
            key,
            reads: &reads,
            out: bits,
            dtype,
            numel: shape.numel(),
            parameters,
            index_size: None,
            code: &|| {
                let mut code = String::new();
                let mut branches = String::new();
                let names = crate::map::NAMES;
                for (part, ((start, of), name)) in dims.iter().zip(names).enumerate() {
                    code.push_str(&of.code(*start, &[&format!("at_{name}")]));
                    let end = FIRST + 2 + part;
                    let before = match part {
                        0 => "0u".to_owned(),
                        _ => format!("${}", end - 1),
                    };
                    let last = part + 1 == dims.len();
                    let condition = if last {
                        String::new()
                    } else {
                        format!("if rest < ${end} ")
                    };
                    branches.push_str(&format!(
                        "    {condition}{{
        let place = outer * (${end} - {before}) + rest - {before};
        return {name}(at_{name}(place));
    }}\n"
                    ));
                }
                format!(
                    "{code}fn element(i: u32) -> {of} {{
    let outer = i / $2;
    let rest = i % $2;
{branches}}}
"
                )
            },
        })
    }
}

/// The shape of the joined parts.
fn shape(parts: &[Operand], dim: usize) -> Shape {
    let sizes = parts.iter().map(|x| x.layout.shape()[dim]);
    let total: usize = sizes.sum();
    let first = parts.first().map(|x| x.layout.shape().to_vec());
    let mut sizes = first.unwrap_or_default();
    if let Some(size) = sizes.get_mut(dim) {
        *size = total;
    }
    sizes.into()
}
