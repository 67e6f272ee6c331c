//! Pooling and its gradients.

use module_tensor::backend::{LinearOp, Operand, PoolDivisor, PoolGeometry, PoolWindows, Storage};
use module_tensor::{DType, Result, Shape};

use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};

/// The parameters of each spatial dimension: the sizes of input and output, then window, stride, padding and dilation.
const PER_DIM: usize = 6;

fn parameters(op: &'static str, geometry: &PoolGeometry) -> Result<Vec<u32>> {
    let mut all = Vec::new();
    for dim in 0..geometry.input.rank() - 2 {
        all.push(word(op, geometry.input[dim + 2])?);
        all.push(word(op, geometry.output[dim + 2])?);
        let window = match &geometry.windows {
            PoolWindows::Sliding(windows) => {
                let window = windows[dim];
                [
                    window.kernel_size,
                    window.stride,
                    window.padding,
                    window.dilation,
                ]
            }
            PoolWindows::Adaptive => [1; 4],
        };
        for number in window {
            all.push(word(op, number)?);
        }
    }
    Ok(all)
}

fn is_adaptive(geometry: &PoolGeometry) -> bool {
    geometry.windows == PoolWindows::Adaptive
}

/// Whether the products of adaptive windows fit 32 bits.
fn fits(geometry: &PoolGeometry) -> bool {
    let sizes = geometry.input.iter().zip(geometry.output.iter()).skip(2);
    let mut products = sizes.map(|(&input, &output)| (input as u64 + 1) * (output as u64 + 1));
    products.all(|product| product < 1 << 31)
}

/// The part of a key that says which code is made.
fn key(geometry: &PoolGeometry) -> String {
    format!("{} {}", geometry.input.rank(), is_adaptive(geometry))
}

/// Functions of each spatial dimension `d`: `begin_d(o)` and `end_d(o)`, the first place of the window of output `o` and the one
/// after the last, both inside the input; `first_d(p)` and `last_d(p)`, between which lie the outputs whose windows have place
/// `p`; `has_d(o, p)`, whether one does; `step_d()`, the distance of neighbors in a window.
fn windows(geometry: &PoolGeometry) -> String {
    let mut code = String::new();
    for dim in 0..geometry.input.rank() - 2 {
        let [input, output, window, stride, padding, dilation] =
            std::array::from_fn(|i| format!("${}", FIRST + PER_DIM * dim + i));
        if is_adaptive(geometry) {
            code.push_str(&format!(
                "
fn step_{dim}() -> u32 {{ return 1u; }}
fn begin_{dim}(o: u32) -> u32 {{ return o * {input} / {output}; }}
fn end_{dim}(o: u32) -> u32 {{ return ((o + 1u) * {input} + {output} - 1u) / {output}; }}
fn first_{dim}(p: u32) -> u32 {{ return p * {output} / {input}; }}
fn last_{dim}(p: u32) -> u32 {{ return min(((p + 1u) * {output} + {input} - 1u) / {input}, {output}); }}
"
            ));
        } else {
            code.push_str(&format!(
                "
fn step_{dim}() -> u32 {{ return {dilation}; }}
fn begin_{dim}(o: u32) -> u32 {{
    let start = o * {stride};
    if start >= {padding} {{ return start - {padding}; }}
    let outside = ({padding} - start + {dilation} - 1u) / {dilation} * {dilation};
    return start + outside - {padding};
}}
fn end_{dim}(o: u32) -> u32 {{
    let end = o * {stride} + {dilation} * ({window} - 1u) + 1u;
    return min(select(end - {padding}, 0u, end < {padding}), {input});
}}
fn first_{dim}(p: u32) -> u32 {{
    let far = p + {padding};
    let reach = {dilation} * ({window} - 1u);
    if far < reach {{ return 0u; }}
    return (far - reach + {stride} - 1u) / {stride};
}}
fn last_{dim}(p: u32) -> u32 {{ return min((p + {padding}) / {stride} + 1u, {output}); }}
"
            ));
        }
        code.push_str(&format!(
            "
fn has_{dim}(o: u32, p: u32) -> bool {{
    let begin = begin_{dim}(o);
    return p >= begin && p < end_{dim}(o) && (p - begin) % step_{dim}() == 0u;
}}
"
        ));
    }
    code
}

/// Statements that take the number `i` apart to the plane and indices `{name}0`, … of the spatial dimensions.
fn apart(name: &str, rank: usize, part: usize) -> String {
    let mut code = "    var plane = i;\n".to_owned();
    for dim in (0..rank).rev() {
        let size = FIRST + PER_DIM * dim + part;
        code.push_str(&format!(
            "    let {name}{dim} = plane % ${size};\n    plane = plane / ${size};\n"
        ));
    }
    code
}

/// The number of the place with indices `{name}0`, … after `before`.
fn together(before: &str, name: &str, rank: usize, part: usize) -> String {
    (0..rank).fold(before.to_owned(), |all, dim| {
        format!("({all}) * ${} + {name}{dim}", FIRST + PER_DIM * dim + part)
    })
}

const INPUT: usize = 0;
const OUTPUT: usize = 1;

/// Nested loops over the places `p0`, … of the window of output `o0`, ….
fn over_window(rank: usize, body: &str) -> String {
    let open = |dim: usize| {
        format!(
            "    for (var p{dim} = begin_{dim}(o{dim}); p{dim} < end_{dim}(o{dim}); p{dim} += step_{dim}()) {{\n"
        )
    };
    (0..rank).map(open).collect::<String>() + body + &"    }\n".repeat(rank)
}

/// Nested loops over the outputs `o0`, … that may have place `p0`, … in their windows.
fn over_outputs(rank: usize, body: &str) -> String {
    let open = |dim: usize| {
        format!(
            "    for (var o{dim} = first_{dim}(p{dim}); o{dim} < last_{dim}(p{dim}); o{dim}++) {{\n    if has_{dim}(o{dim}, p{dim}) {{\n"
        )
    };
    (0..rank).map(open).collect::<String>() + body + &"    }\n".repeat(2 * rank)
}

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

    pub(crate) fn greatest(&self, x: Operand, geometry: &PoolGeometry) -> Result<Storage> {
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

    pub(crate) fn greatest_with_places(
        &self,
        x: Operand,
        geometry: &PoolGeometry,
    ) -> Result<(Storage, Storage)> {
        let op = "max_pool";
        let Some(elem) = self.pools(&x, geometry) else {
            let (values, places) =
                self.from_host(op, [x], |cpu, [x]| cpu.max_pool_with_indices(x, geometry))?;
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
        Ok((self.greatest(x, geometry)?, places))
    }

    pub(crate) fn greatest_backward(
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

    pub(crate) fn averaged(
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
