//! The places at which an index names each row, in ascending order.

use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Layout, Result, Scalar};

use crate::elem::Elem;
use crate::gpu::{Gpu, Launch, word};
use crate::map::Map;
use crate::spread::Spread;

/// The loop over the places that name a row: `j` is each of them, in an order that differs from run to run.
const EACH_PLACE: &str = "for (var j = b(row); j < $2; j = c(j))";

impl Gpu {
    /// For each of `size` rows the first place in an index that names it, and for each place the next one that names the same
    /// row; the number of places where there is none.
    pub(super) fn links(
        &self,
        op: &'static str,
        index: &Operand,
        size: usize,
    ) -> Result<[(Storage, usize); 2]> {
        let count = index.layout.shape().numel();
        let [heads, chain] = self.chains(op, index, size)?;
        let reads = [
            (self.data(op, index)?, Elem::Bits8),
            (self.data(op, &heads)?, Elem::Bits4),
            (self.data(op, &chain)?, Elem::Bits4),
        ];
        let first = self.map(Map {
            op,
            key: "first link".to_owned(),
            reads: &reads,
            out: Elem::Bits4,
            dtype: DType::U32,
            numel: size,
            parameters: vec![word(op, count)?],
            index_size: None,
            code: &|| {
                format!(
                    "fn element(row: u32) -> u32 {{
    var first = $2;
    {EACH_PLACE} {{ first = min(first, j); }}
    return first;
}}
"
                )
            },
        })?;
        let next = self.map(Map {
            op,
            key: "next link".to_owned(),
            reads: &reads,
            out: Elem::Bits4,
            dtype: DType::U32,
            numel: count,
            parameters: vec![word(op, count)?, word(op, size)?],
            index_size: Some(size),
            code: &|| {
                format!(
                    "fn element(i: u32) -> u32 {{
    let row = checked(a(i), $3);
    var next = $2;
    {EACH_PLACE} {{ if j > i {{ next = min(next, j); }} }}
    return next;
}}
"
                )
            },
        })?;
        Ok([(first, size), (next, count)])
    }

    /// For each row one of the places that name it, and for each place another one that names the same row, until all of them
    /// are named; the number of places at the end.
    fn chains(&self, op: &'static str, index: &Operand, size: usize) -> Result<[Operand; 2]> {
        let count = index.layout.shape().numel();
        let operand = |storage, numel: usize| {
            let layout = Layout::contiguous(numel.into());
            Operand { storage, layout }
        };
        let heads = self.fill(size, DType::U32, Scalar::Int(count as i64))?;
        let chain = self.allocate(count, DType::U32)?;
        if count > 0 {
            let spread = Spread::new(count);
            let to = self.data(op, &operand(heads.clone(), size))?.memory.clone();
            self.launch(Launch {
                op,
                key: format!("chains{}", spread.key()),
                reads: &[&self.data(op, index)?.memory],
                writes: &[&chain.memory, &to],
                parameters: &[word(op, count)?, word(op, size)?],
                groups: spread.groups(count),
                source: &|| SOURCE.to_owned() + &spread.entry(),
            })?;
        }
        Ok([operand(heads, size), operand(Storage::new(chain), count)])
    }
}

/// Each place becomes the head of its row's chain.
const SOURCE: &str = "
@group(0) @binding(1) var<storage, read> index: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> chain: array<u32>;
@group(0) @binding(3) var<storage, read_write> heads: array<atomic<u32>>;

fn visit(i: u32) {
    if i >= $0 { return; }
    let row = index[i];
    var before = $0;
    if row.y == 0u && row.x < $1 { before = atomicExchange(&heads[row.x], i); }
    chain[i] = before;
}
";
