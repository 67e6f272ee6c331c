//! Pooling and its gradients.

use module_tensor::backend::{LinearOp, Operand, PoolDivisor, PoolGeometry, Storage};
use module_tensor::{DType, Result, Shape};

use super::pool_windows::{
    INPUT, OUTPUT, PER_DIM, apart, fits, is_adaptive, key, over_outputs, over_window, parameters,
    together, windows,
};
use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};

/// A kernel of pooling: what it reads and makes.
struct Pooling<'a> {
    op: &'static str,
    key: &'static str,
    operands: &'a [(&'a Operand, Elem)],
    out: (Elem, DType),
    shape: &'a Shape,
}

impl Gpu {
    fn pooled(
        &self,
        pooling: &Pooling<'_>,
        geometry: &PoolGeometry,
        more: &[u32],
        code: &dyn Fn(usize) -> String,
    ) -> Result<Storage> {
        let op = pooling.op;
        let reads = pooling.operands.iter();
        let reads = reads.map(|&(x, elem)| Ok((self.data(op, x)?, elem)));
        let reads = reads.collect::<Result<Vec<_>>>()?;
        let mut parameters = parameters(op, geometry)?;
        parameters.extend(more);
        let rank = geometry.input.rank() - 2;
        self.map(Map {
            op,
            key: format!("{} {}", pooling.key, key(geometry)),
            reads: &reads,
            out: pooling.out.0,
            dtype: pooling.out.1,
            numel: pooling.shape.numel(),
            parameters,
            index_size: None,
            code: &|| windows(geometry) + &code(rank),
        })
    }

    /// The elements, if the device computes their maxima.
    fn pools(&self, x: &Operand, geometry: &PoolGeometry) -> Option<Elem> {
        let elem = self.computes(x)?;
        let is_known = elem != Elem::F64 && elem != Elem::Bool;
        (is_known && (fits(geometry) || !is_adaptive(geometry))).then_some(elem)
    }

    pub(crate) fn find_greatest(&self, x: Operand, geometry: &PoolGeometry) -> Result<Storage> {
        let op = "max_pool";
        let Some(elem) = self.pools(&x, geometry) else {
            let numel = geometry.output.numel();
            return self.through_host(op, [x], numel, |cpu, [x]| cpu.max_pool(x, geometry));
        };
        let x = self.in_order(op, x)?;
        let pooling = Pooling {
            op,
            key: op,
            operands: &[(&x, elem)],
            out: (elem, x.storage.dtype()),
            shape: &geometry.output,
        };
        self.pooled(&pooling, geometry, &[], &|rank| search(rank, elem, "best"))
    }

    pub(crate) fn find_greatest_with_places(
        &self,
        x: Operand,
        geometry: &PoolGeometry,
    ) -> Result<(Storage, Storage)> {
        let op = "max_pool";
        let Some(elem) = self.pools(&x, geometry) else {
            let (values, places) =
                self.compute_on_host(op, [x], |cpu, [x]| cpu.max_pool_with_indices(x, geometry))?;
            let numel = geometry.output.numel();
            return Ok((
                self.device_copy(values, numel)?,
                self.device_copy(places, numel)?,
            ));
        };
        let x = self.in_order(op, x)?;
        let places = self.pooled(
            &Pooling {
                op,
                key: "max_pool places",
                operands: &[(&x, elem)],
                out: (Elem::Bits8, DType::I64),
                shape: &geometry.output,
            },
            geometry,
            &[],
            &|rank| search(rank, elem, "vec2<u32>(place, 0u)"),
        )?;
        Ok((self.find_greatest(x, geometry)?, places))
    }

    pub(crate) fn add_to_greatest(
        &self,
        grad: Operand,
        indices: Operand,
        geometry: &PoolGeometry,
    ) -> Result<Storage> {
        let op = "max_pool_backward";
        let Some(elem) = self.pools(&grad, geometry) else {
            let numel = geometry.input.numel();
            return self.through_host(op, [grad, indices], numel, |cpu, [grad, indices]| {
                cpu.max_pool_backward(grad, indices, geometry)
            });
        };
        let (grad, indices) = (self.in_order(op, grad)?, self.in_order(op, indices)?);
        let pooling = Pooling {
            op,
            key: op,
            operands: &[(&grad, elem), (&indices, Elem::Bits8)],
            out: (elem, grad.storage.dtype()),
            shape: &geometry.input,
        };
        self.pooled(&pooling, geometry, &[], &|rank| {
            let of = elem.computed();
            let body = format!(
                "        let o = {};
        if b(o).x == own {{ sum = sum + a(o); }}\n",
                together("plane", "o", rank, OUTPUT)
            );
            format!(
                "fn element(i: u32) -> {of} {{
    var sum = {of}(0);
{}    let own = {};
{}    return sum;
}}
",
                apart("p", rank, INPUT),
                together("0u", "p", rank, INPUT),
                over_outputs(rank, &body)
            )
        })
    }

    pub(crate) fn average_windows(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &PoolGeometry,
        divisor: PoolDivisor,
    ) -> Result<Storage> {
        let name = "avg_pool";
        let shape = match op {
            LinearOp::Forward => &geometry.output,
            LinearOp::Backward => &geometry.input,
        };
        let elem = self.pools(&x, geometry).filter(|elem| elem.is_float());
        let Some(elem) = elem else {
            return self.through_host(name, [x], shape.numel(), |cpu, [x]| {
                cpu.avg_pool(op, x, geometry, divisor)
            });
        };
        let x = self.in_order(name, x)?;
        let (kind, more) = match divisor {
            PoolDivisor::Inside => ("inside", 0),
            PoolDivisor::WithPadding => ("with padding", 0),
            PoolDivisor::Override(divisor) => ("override", word(name, divisor)?),
        };
        let key = match (op, kind) {
            (LinearOp::Forward, "inside") => "avg_pool inside",
            (LinearOp::Forward, "with padding") => "avg_pool with padding",
            (LinearOp::Forward, _) => "avg_pool override",
            (LinearOp::Backward, "inside") => "avg_pool backward inside",
            (LinearOp::Backward, "with padding") => "avg_pool backward with padding",
            (LinearOp::Backward, _) => "avg_pool backward override",
        };
        let pooling = Pooling {
            op: name,
            key,
            operands: &[(&x, elem)],
            out: (elem, x.storage.dtype()),
            shape,
        };
        self.pooled(&pooling, geometry, &[more], &|rank| {
            let divisor = divisor_code(rank, divisor, is_adaptive(geometry));
            match op {
                LinearOp::Forward => {
                    let place = together("plane", "p", rank, INPUT);
                    format!(
                        "fn element(i: u32) -> f32 {{
    var sum = 0.0;
{}{}    return sum / f32({divisor});
}}
",
                        apart("o", rank, OUTPUT),
                        over_window(rank, &format!("        sum += a({place});\n"))
                    )
                }
                LinearOp::Backward => {
                    let place = together("plane", "o", rank, OUTPUT);
                    format!(
                        "fn element(i: u32) -> f32 {{
    var sum = 0.0;
{}{}    return sum;
}}
",
                        apart("p", rank, INPUT),
                        over_outputs(
                            rank,
                            &format!("        sum += a({place}) / f32({divisor});\n")
                        )
                    )
                }
            }
        })
    }
}

/// A function that finds the greatest element of a window, and returns `result` of it, `best`, and its `place`.
fn search(rank: usize, elem: Elem, result: &str) -> String {
    let of = elem.computed();
    let out = if result == "best" { of } else { "vec2<u32>" };
    let beats = match of {
        "f32" => "v > best || is_nan(v)",
        _ => "v > best",
    };
    let body = format!(
        "        let here = {};
        let v = a(plane * size + here);
        if is_first || {beats} {{
            best = v;
            place = here;
            is_first = false;
        }}\n",
        together("0u", "p", rank, INPUT)
    );
    let sizes: Vec<String> = (0..rank)
        .map(|dim| format!("${}", FIRST + PER_DIM * dim))
        .collect();
    format!(
        "fn element(i: u32) -> {out} {{
    let size = {};
    var best = {of}(0);
    var place = 0u;
    var is_first = true;
{}{}    return {result};
}}
",
        sizes.join(" * "),
        apart("o", rank, OUTPUT),
        over_window(rank, &body)
    )
}

/// The divisor of the window of output `o0`, ….
fn divisor_code(rank: usize, divisor: PoolDivisor, is_adaptive: bool) -> String {
    let part = |dim: usize| match divisor {
        PoolDivisor::WithPadding if !is_adaptive => {
            let [input, window, stride, padding] =
                [0, 2, 3, 4].map(|i| format!("${}", FIRST + PER_DIM * dim + i));
            format!("min({window}, {input} + 2u * {padding} - o{dim} * {stride})")
        }
        _ => format!(
            "((end_{dim}(o{dim}) - begin_{dim}(o{dim}) + step_{dim}() - 1u) / step_{dim}())"
        ),
    };
    match divisor {
        PoolDivisor::Override(_) => format!("${}", FIRST + PER_DIM * rank),
        _ => (0..rank).map(part).collect::<Vec<_>>().join(" * "),
    }
}
