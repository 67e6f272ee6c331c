//! The template of kernels that compute each element of the result on its own.

use module_tensor::backend::Storage;
use module_tensor::{DType, Result};

use crate::elem::Elem;
use crate::gpu::{Gpu, Launch, word};
use crate::index_checks::CHECKED;
use crate::pool::Memory;
use crate::spread::Spread;
use crate::storage::GpuStorage;

/// Invocations of a workgroup.
pub(crate) const GROUP: u64 = 64;

/// The names by which the code of a kernel reads its operands: `a(i)` is element `i` of the memory of the first.
pub(crate) const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// A kernel that computes each element of the result on its own.
pub(crate) struct Map<'a> {
    pub(crate) op: &'static str,
    /// Says all that the code depends on, apart from the types of the elements.
    pub(crate) key: String,
    /// The memory that it reads, and what its elements are taken for.
    pub(crate) reads: &'a [(&'a GpuStorage, Elem)],
    pub(crate) out: Elem,
    pub(crate) dtype: DType,
    pub(crate) numel: usize,
    /// Parameters from number 2 on: 0 is the number of elements, 1 the number of the check of indices.
    pub(crate) parameters: Vec<u32>,
    /// The size below which indices must be, if the kernel reads indices.
    pub(crate) index_size: Option<usize>,
    /// Functions, one of which is `element(i: u32)`, which returns element `i` of the result.
    pub(crate) code: &'a dyn Fn() -> String,
}

/// The number of the first parameter that a kernel may choose.
pub(crate) const FIRST: usize = 2;

impl Gpu {
    /// The result of a kernel.
    pub(crate) fn map(&self, map: Map<'_>) -> Result<Storage> {
        let to = self.allocate(map.numel, map.dtype)?;
        if map.numel == 0 {
            return Ok(Storage::new(to));
        }
        let (number, is_checked) = match map.index_size {
            Some(size) => (self.index_checks.number(map.op, size), true),
            None => (0, false),
        };
        let mut parameters = vec![word(map.op, map.numel)?, number];
        parameters.extend(map.parameters);
        let memory: Vec<&Memory> = map.reads.iter().map(|(data, _)| &data.memory).collect();
        let mut writes = vec![&to.memory];
        writes.extend(is_checked.then_some(&self.index_checks.memory));
        let is_small = is_small(map.reads, map.numel);
        let mut key = typed_key(map.key, map.out, map.reads, is_small);
        let words = map.numel.div_ceil(map.out.per_word());
        let spread = Spread::new(words);
        key.push_str(spread.key());
        let source = || {
            let reads: Vec<Elem> = map.reads.iter().map(|&(_, elem)| elem).collect();
            let mut source = declarations(&reads, map.out, is_checked, is_small);
            source.push_str(&(map.code)());
            source.push_str(&visit(map.out));
            source.push_str(&spread.entry());
            source
        };
        self.launch(Launch {
            op: map.op,
            key,
            reads: &memory,
            writes: &writes,
            parameters: &parameters,
            groups: spread.groups(words),
            source: &source,
        })?;
        if is_checked {
            self.index_checks.was_recorded();
        }
        Ok(Storage::new(to))
    }
}

/// Numbers up to this are divided as `f32`, which is faster and exact.
pub(crate) const SMALL: usize = 1 << 21;

/// Whether kernels may divide numbers of elements as `f32`.
pub(crate) fn is_small(reads: &[(&GpuStorage, Elem)], numel: usize) -> bool {
    numel <= SMALL && reads.iter().all(|(data, _)| data.numel <= SMALL)
}

/// The key of a pipeline whose source depends also on what elements are taken for.
pub(crate) fn typed_key(
    mut key: String,
    out: Elem,
    reads: &[(&GpuStorage, Elem)],
    is_small: bool,
) -> String {
    for elem in std::iter::once(&out).chain(reads.iter().map(|(_, elem)| elem)) {
        key.push(' ');
        key.push_str(elem.name());
    }
    if is_small {
        key.push_str(" small");
    }
    key
}

/// The function that divides numbers of elements.
fn quotient(is_small: bool) -> &'static str {
    match is_small {
        // The division may be off by a few units in the last place, which is less than 1 here.
        true => {
            "
fn quotient(x: u32, y: u32) -> u32 {
    let q = i32(f32(bitcast<i32>(x)) / f32(bitcast<i32>(y)));
    let rest = bitcast<i32>(x) - q * bitcast<i32>(y);
    let up = select(q, q + 1, rest >= bitcast<i32>(y));
    return bitcast<u32>(select(up, q - 1, rest < 0));
}
"
        }
        false => "\nfn quotient(x: u32, y: u32) -> u32 { return x / y; }\n",
    }
}

/// Statements that take an index of a dimension off the number `rest` of an element.
pub(crate) fn take_index(rest: &str, index: &str, size: &str) -> String {
    format!(
        "    let {index}_above = quotient({rest}, {size});
    let {index} = {rest} - {index}_above * {size};
    {rest} = {index}_above;\n"
    )
}

/// The bindings of a kernel, the functions that read its operands, and the library.
pub(crate) fn declarations(reads: &[Elem], out: Elem, is_checked: bool, is_small: bool) -> String {
    let mut code = quotient(is_small).to_owned();
    for (i, (elem, name)) in reads.iter().zip(NAMES).enumerate() {
        let (binding, memory) = (i + 1, elem.memory());
        code.push_str(&format!(
            "@group(0) @binding({binding}) var<storage, read> {name}_memory: array<{memory}>;\n"
        ));
        code.push_str(&elem.reader(name, &format!("{name}_memory")));
    }
    let binding = reads.len() + 1;
    let memory = out.memory();
    code.push_str(&format!(
        "@group(0) @binding({binding}) var<storage, read_write> out_memory: array<{memory}>;\n"
    ));
    if is_checked {
        let binding = binding + 1;
        code.push_str(&format!(
            "@group(0) @binding({binding}) var<storage, read_write> reported: array<atomic<u32>, 4>;\n{CHECKED}"
        ));
    }
    code.push_str(library());
    code
}

/// The functions that all kernels may call.
pub(crate) fn library() -> &'static str {
    concat!(
        include_str!("wgsl/half.wgsl"),
        include_str!("wgsl/math.wgsl"),
        include_str!("wgsl/angles.wgsl")
    )
}

/// The function that computes and writes the word `place` of the result.
fn visit(out: Elem) -> String {
    let per_word = out.per_word();
    if per_word == 1 {
        let value = out.encoded("element(place)");
        return format!(
            "fn visit(place: u32) {{ if place < $0 {{ out_memory[place] = {value}; }} }}\n"
        );
    }
    let width = 32 / per_word;
    let value = out.encoded("element(i)");
    format!(
        "fn visit(place: u32) {{
    if place * {per_word}u >= $0 {{ return; }}
    var bits = 0u;
    for (var part = 0u; part < {per_word}u; part++) {{
        let i = place * {per_word}u + part;
        if i < $0 {{ bits |= {value} << (part * {width}u); }}
    }}
    out_memory[place] = bits;
}}
"
    )
}
