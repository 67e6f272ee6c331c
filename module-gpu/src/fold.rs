//! The template of kernels that combine many values to each element of the result, always in the same order.

use module_tensor::backend::Storage;
use module_tensor::{DType, Layout, Result};

use crate::elem::Elem;
use crate::gpu::{Gpu, Launch, word};
use crate::map::{FIRST, GROUP, Map, declarations, is_small, typed_key};
use crate::pool::Memory;
use crate::recorder::MAX_GROUPS;
use crate::storage::GpuStorage;

/// Up to this many values, one invocation combines all of an element; beyond, a workgroup does, or several invocations do.
const FEW: usize = 32;

/// From this many elements on, an invocation for each reads values side by side with its neighbors, if those of an element do
/// not lie side by side. There are up to [`COLUMN_PARTS`] invocations for an element, until there are [`INVOCATIONS`], and each
/// combines at least [`COLUMN_PART`] values.
const COLUMNS: usize = 64;
const COLUMN_PARTS: usize = 64;
const COLUMN_PART: usize = 16;
const INVOCATIONS: usize = 1 << 17;

/// Beyond this many values of an element, they are combined in parts of at least [`PART`] values first, if there are fewer
/// workgroups than [`GROUPS`] otherwise.
const MOST: usize = 8192;
const PART: usize = 1024;
const GROUPS: usize = 4096;

/// A kernel that combines `count` values to each element of the result.
pub(crate) struct Fold<'a> {
    pub(crate) op: &'static str,
    pub(crate) key: String,
    pub(crate) reads: &'a [(&'a GpuStorage, Elem)],
    pub(crate) out: Elem,
    pub(crate) dtype: DType,
    pub(crate) numel: usize,
    pub(crate) count: usize,
    /// Whether the values of an element lie side by side in memory, and not those of neighboring elements. It decides which
    /// invocations combine them, and so the order in which sums are rounded.
    pub(crate) adjacent_values: bool,
    /// Parameters from number [`FOLD_FIRST`] on.
    pub(crate) parameters: Vec<u32>,
    /// The type of the values, and the dtype in which intermediate ones are kept.
    pub(crate) value: &'static str,
    pub(crate) kept: DType,
    /// Functions: `value(o, j)`, value `j` of element `o`; `join(x, y)`; `start()`, which changes nothing when joined; and
    /// `finish(o, x)`, the element from what was joined. The number of values is parameter 3.
    pub(crate) code: &'a dyn Fn() -> String,
}

/// The number of the first parameter that a kernel may choose.
pub(crate) const FOLD_FIRST: usize = FIRST + 2;

impl Gpu {
    /// The result of a kernel.
    pub(crate) fn fold(&self, fold: Fold<'_>) -> Result<Storage> {
        let count = fold.count;
        if count <= FEW || fold.numel == 0 {
            return self.fold_alone(fold, count);
        }
        if !fold.adjacent_values && fold.numel >= COLUMNS {
            let parts = (INVOCATIONS / fold.numel).min(count / COLUMN_PART);
            return match parts.min(COLUMN_PARTS) {
                0 | 1 => self.fold_alone(fold, count),
                parts => self.fold_in_parts(fold, parts),
            };
        }
        let parts = (GROUPS / fold.numel).min(count / PART);
        if count > MOST && parts >= 4 {
            return self.fold_in_parts(fold, parts);
        }
        self.fold_together(fold, count)
    }

    /// One invocation for each element; `all` is the number of values of which those of the fold are combined.
    fn fold_alone(&self, fold: Fold<'_>, all: usize) -> Result<Storage> {
        let mut parameters = vec![word(fold.op, fold.count)?, word(fold.op, all)?];
        parameters.extend(fold.parameters);
        let value = fold.value;
        let code = || {
            format!(
                "{}
fn element(o: u32) -> {} {{
    var sum: {value} = start();
    // In blocks, which round less than one after another.
    for (var first = 0u; first < $2; first += 32u) {{
        var block: {value} = start();
        for (var j = first; j < min(first + 32u, $2); j++) {{ block = join(block, value(o, j)); }}
        sum = join(sum, block);
    }}
    return finish(o, sum);
}}
",
                (fold.code)(),
                fold.out.computed()
            )
        };
        self.map(Map {
            op: fold.op,
            key: format!("alone {}", fold.key),
            reads: fold.reads,
            out: fold.out,
            dtype: fold.dtype,
            numel: fold.numel,
            parameters,
            index_size: None,
            code: &code,
        })
    }

    /// A workgroup for each word of the result.
    fn fold_together(&self, fold: Fold<'_>, all: usize) -> Result<Storage> {
        let to = self.allocate(fold.numel, fold.dtype)?;
        let mut parameters = vec![
            word(fold.op, fold.numel)?,
            0,
            word(fold.op, fold.count)?,
            word(fold.op, all)?,
        ];
        parameters.extend(&fold.parameters);
        let memory: Vec<&Memory> = fold.reads.iter().map(|(data, _)| &data.memory).collect();
        let is_small = is_small(fold.reads, fold.numel);
        let key = typed_key(
            format!("together {}", fold.key),
            fold.out,
            fold.reads,
            is_small,
        );
        let reads: Vec<Elem> = fold.reads.iter().map(|&(_, elem)| elem).collect();
        let source = || {
            declarations(&reads, fold.out, false, is_small)
                + &(fold.code)()
                + &together(fold.out, fold.value)
        };
        self.launch(Launch {
            op: fold.op,
            key,
            reads: &memory,
            writes: &[&to.memory],
            parameters: &parameters,
            groups: fold.numel.div_ceil(fold.out.per_word()) as u64,
            source: &source,
        })?;
        Ok(Storage::new(to))
    }

    /// Parts of the values first, then what they were combined to. What lies side by side in the operands does so in between.
    fn fold_in_parts(&self, fold: Fold<'_>, parts: usize) -> Result<Storage> {
        let adjacent_values = fold.adjacent_values;
        let combine = |part: Fold<'_>, all| match adjacent_values {
            true => self.fold_together(part, all),
            false => self.fold_alone(part, all),
        };
        let each = fold.count.div_ceil(parts);
        let Some(kept) = Elem::of(fold.kept) else {
            let count = fold.count;
            return combine(fold, count);
        };
        let mut parameters = fold.parameters.clone();
        let first = FOLD_FIRST + parameters.len();
        parameters.extend([
            word(fold.op, parts)?,
            word(fold.op, each)?,
            word(fold.op, fold.count)?,
            word(fold.op, fold.numel)?,
        ]);
        let [of_parts, numel] = [format!("${first}"), format!("${}", first + 3)];
        // The part and the element that `o` stands for, and where element `o` of part `j` is.
        let (part, element, place) = match adjacent_values {
            true => (
                format!("o % {of_parts}"),
                format!("o / {of_parts}"),
                format!("o * {of_parts} + j"),
            ),
            false => (
                format!("o / {numel}"),
                format!("o % {numel}"),
                format!("j * {numel} + o"),
            ),
        };
        let value = fold.value;
        let code = || {
            let whole = (fold.code)()
                .replace("fn value(", "fn whole_value(")
                .replace("fn finish(", "fn whole_finish(");
            format!(
                "{whole}
fn value(o: u32, j: u32) -> {value} {{
    let at = ({part}) * ${each} + j;
    if at >= ${count} {{ return start(); }}
    return whole_value({element}, at);
}}
fn finish(o: u32, x: {value}) -> {value} {{ return x; }}
",
                each = first + 1,
                count = first + 2,
            )
        };
        let partial = Fold {
            op: fold.op,
            key: format!("parts {first} {adjacent_values} {}", fold.key),
            reads: fold.reads,
            out: kept,
            dtype: fold.kept,
            numel: fold.numel * parts,
            count: each,
            adjacent_values,
            parameters: parameters.clone(),
            value,
            kept: fold.kept,
            code: &code,
        };
        let partial = combine(partial, fold.count)?;
        let layout = Layout::contiguous((fold.numel * parts).into());
        let partial = module_tensor::backend::Operand {
            storage: partial,
            layout,
        };
        let data = self.data(fold.op, &partial)?;
        let mut reads = vec![(data, kept)];
        reads.extend(fold.reads);
        let code = || {
            // The code reads its operands by name; the partial results come after them.
            let whole = (fold.code)().replace("fn value(", "fn whole_value(");
            let name = crate::map::NAMES[fold.reads.len()];
            format!(
                "{whole}
fn value(o: u32, j: u32) -> {value} {{ return {name}({place}); }}
"
            )
        };
        reads.rotate_left(1);
        let joined = Fold {
            op: fold.op,
            key: format!("joined {first} {adjacent_values} {}", fold.key),
            reads: &reads,
            out: fold.out,
            dtype: fold.dtype,
            numel: fold.numel,
            count: parts,
            adjacent_values,
            parameters,
            value,
            kept: fold.kept,
            code: &code,
        };
        combine(joined, fold.count)
    }
}

/// The entry point: each invocation combines every 64th value, and one of them the results of all of them.
fn together(out: Elem, value: &str) -> String {
    let (per_word, width) = (out.per_word(), 32 / out.per_word());
    let encoded = out.encoded("finish(o, sum)");
    let write = match per_word {
        1 => format!("out_memory[place] = {encoded};"),
        _ => format!("bits |= {encoded} << (part * {width}u);"),
    };
    let finish = match per_word {
        1 => "",
        _ => "if local == 0u && place * PER_WORD < $0 { out_memory[place] = bits; }",
    };
    format!(
        "
var<workgroup> partial: array<{value}, {GROUP}>;

@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {{
    let place = group.y * {MAX_GROUPS}u + group.x;
    var bits = 0u;
    for (var part = 0u; part < {per_word}u; part++) {{
        let o = place * {per_word}u + part;
        let is_inside = o < $0;
        var sum: {value} = start();
        if is_inside {{
            for (var j = local; j < $2; j += {GROUP}u) {{ sum = join(sum, value(o, j)); }}
        }}
        partial[local] = sum;
        workgroupBarrier();
        // In pairs, which rounds less than one after another.
        for (var width = {GROUP}u / 2u; width > 0u; width = width / 2u) {{
            if local < width {{ partial[local] = join(partial[local], partial[local + width]); }}
            workgroupBarrier();
        }}
        if local == 0u && is_inside {{
            sum = partial[0];
            {write}
        }}
        workgroupBarrier();
    }}
    {finish}
}}
const PER_WORD = {per_word}u;
"
    )
}
