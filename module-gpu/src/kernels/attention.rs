//! Scaled dot-product attention: the products with the scores' mask and softmax where elements are read or written.

use module_tensor::backend::{
    AttentionGeometry, AttentionInputs, AttentionKernels, Operand, Saved, Storage,
};
use module_tensor::{DType, Layout, Result};

use super::attention_code::{KEYS, LENGTH, REPEATS, Sizes, VALUES, WIDTH, share, slope};
use super::reduce::Split;
use crate::dims::Dims;
use crate::elem::Elem;
use crate::fold::Fold;
use crate::gpu::{Gpu, word};
use crate::product::{Factors, PRODUCT_FIRST, Product};
use crate::storage::GpuStorage;

pub(crate) const NAME: &str = "scaled_dot_product_attention";

/// A product of an attention.
struct Step<'a> {
    key: &'a str,
    reads: &'a [(&'a GpuStorage, Elem)],
    out: (Elem, DType),
    sizes: [usize; 4],
    adjacent_terms: [bool; 2],
    /// As in [`Product`].
    of_elements: bool,
    parameters: Vec<u32>,
}

impl Gpu {
    fn attention_step(&self, step: Step<'_>, code: &str) -> Result<Operand> {
        let [batch, rows, columns, terms] = step.sizes;
        let finish = "fn finish(matrix: u32, m: u32, n: u32, x: f32) -> f32 { return x; }\n";
        let storage = self.product(Product {
            op: NAME,
            key: format!("attention {}", step.key),
            reads: step.reads,
            out: step.out.0,
            dtype: step.out.1,
            batch,
            rows,
            columns,
            terms,
            adjacent_terms: step.adjacent_terms,
            of_elements: step.of_elements,
            parameters: step.parameters,
            value: "f32",
            kept: DType::F32,
            code: &|| match code.contains("fn finish(") {
                true => code.to_owned(),
                false => format!("{code}{finish}"),
            },
        })?;
        let layout = Layout::contiguous([batch, rows, columns].into());
        Ok(Operand { storage, layout })
    }

    /// The products of queries and keys with the mask, `[batch, queries, keys]` in `F32`.
    fn scores(
        &self,
        inputs: &AttentionInputs,
        [of_query, of_key, of_mask]: [Elem; 3],
        sizes: &Sizes,
        geometry: &AttentionGeometry,
    ) -> Result<Operand> {
        let mut parameters = sizes.parameters()?;
        parameters.push((geometry.scale as f32).to_bits());
        let causal = geometry.causal;
        // The window is the number of keys before a query's own one that it may attend to, and itself.
        let window = causal.and_then(|causal| causal.window);
        let past = causal.map_or(0, |causal| causal.past);
        parameters.extend([
            word(NAME, past.min(u32::MAX as usize / 2))?,
            word(NAME, window.unwrap_or(0).min(u32::MAX as usize / 2))?,
        ]);
        let (past, window_at) = (VALUES + 2, VALUES + 3);
        let mut finish = format!("    var y = x * $f{};\n", VALUES + 1);
        if causal.is_some() {
            finish.push_str(&format!("    if n > ${past} + m {{ return -inf(); }}\n"));
        }
        if window.is_some() {
            finish.push_str(&format!(
                "    if n + ${window_at} <= ${past} + m {{ return -inf(); }}\n"
            ));
        }
        let mut reads = vec![
            (self.data(NAME, &inputs.query)?, of_query),
            (self.data(NAME, &inputs.key)?, of_key),
        ];
        let mut functions = String::new();
        let mut key = format!("scores {} {}", causal.is_some(), window.is_some());
        if let Some(mask) = &inputs.mask {
            let (shape, strides) = (mask.layout.shape(), mask.layout.strides());
            let leading = shape.len() - 2;
            let of_batch = Dims::of(
                NAME,
                &shape[..leading],
                &[&strides[..leading]],
                &[mask.layout.offset()],
            )?;
            let first = PRODUCT_FIRST + parameters.len();
            parameters.extend([
                word(NAME, strides[leading])?,
                word(NAME, strides[leading + 1])?,
            ]);
            of_batch.push(&mut parameters);
            functions = of_batch.code(first + 2, &["of_mask"]);
            finish.push_str(&format!(
                "    y += c(of_mask(matrix) + m * ${first} + n * ${});\n",
                first + 1
            ));
            key.push_str(&format!(" mask {}", of_batch.key()));
            reads.push((self.data(NAME, mask)?, of_mask));
        }
        let step = Step {
            key: &key,
            reads: &reads,
            out: (Elem::F32, DType::F32),
            sizes: [sizes.batch, sizes.length, sizes.keys, sizes.width],
            adjacent_terms: [true, true],
            of_elements: true,
            parameters,
        };
        let code = format!(
            "{functions}{}fn finish(matrix: u32, m: u32, n: u32, x: f32) -> f32 {{
{finish}    return y;
}}
",
            Factors {
                row: &format!("(matrix * ${LENGTH} + m) * ${WIDTH}"),
                column: &format!("(matrix / ${REPEATS} * ${KEYS} + n) * ${WIDTH}"),
                ..Factors::default()
            }
            .code("f32")
        );
        self.attention_step(step, &code)
    }

    /// The inputs in order, and their elements, if the device computes with them.
    fn attention_inputs(&self, inputs: AttentionInputs) -> Result<(AttentionInputs, [Elem; 4])> {
        let of = |x: &Operand| {
            let needs = "a floating-point tensor of 32 or 16 bits on this device";
            self.computes_in_f32(x)
                .ok_or_else(|| x.storage.dtype().error(NAME, needs))
        };
        let mask = inputs.mask.as_ref().map_or(Ok(Elem::F32), of)?;
        let elems = [
            of(&inputs.query)?,
            of(&inputs.key)?,
            mask,
            of(&inputs.value)?,
        ];
        let inputs = AttentionInputs {
            query: self.in_order(NAME, inputs.query)?,
            key: self.in_order(NAME, inputs.key)?,
            value: self.in_order(NAME, inputs.value)?,
            mask: inputs.mask,
        };
        Ok((inputs, elems))
    }
}

impl AttentionKernels for Gpu {
    fn forward(
        &self,
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<(Storage, Saved)> {
        if inputs.query.storage.dtype() == DType::F64 {
            return self.attention_on_host(&inputs, geometry);
        }
        let (inputs, [of_query, of_key, of_mask, of_value]) = self.attention_inputs(inputs)?;
        let sizes = Sizes::new(&inputs, geometry);
        let scores = self.scores(&inputs, [of_query, of_key, of_mask], &sizes, geometry)?;
        let sums = self.exponential_sums(NAME, &scores, Elem::F32, 2)?;
        let reads = [
            (self.data(NAME, &scores)?, Elem::F32),
            (self.data(NAME, &sums.most)?, Elem::F32),
            (self.data(NAME, &sums.total)?, Elem::F32),
            (self.data(NAME, &inputs.value)?, of_value),
        ];
        let step = Step {
            key: "values",
            reads: &reads,
            out: (of_query, inputs.query.storage.dtype()),
            sizes: [sizes.batch, sizes.length, sizes.value_width, sizes.keys],
            adjacent_terms: [true, false],
            of_elements: false,
            parameters: sizes.parameters()?,
        };
        let code = share()
            + &Factors {
                row: &format!("matrix * ${LENGTH} + m"),
                left: "share(row.x, term.x)",
                right_term: &format!("(matrix / ${REPEATS} * ${KEYS} + k) * ${VALUES}"),
                right: "d(column.x + term.x)",
                ..Factors::default()
            }
            .code("f32");
        let out = self.attention_step(step, &code)?;
        let saved = [scores.storage, sums.most.storage, sums.total.storage];
        Ok((out.storage, Saved::new(saved)))
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: AttentionInputs,
        saved: &Saved,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]> {
        if inputs.query.storage.dtype() == DType::F64 {
            return self.attention_backward_on_host(grad, &inputs, saved, geometry);
        }
        let (inputs, [of_query, of_key, _, of_value]) = self.attention_inputs(inputs)?;
        let sizes = Sizes::new(&inputs, geometry);
        let &Sizes {
            batch,
            repeats,
            length,
            keys,
            width,
            value_width,
        } = &sizes;
        let Some(of_grad) = self.computes_in_f32(&grad) else {
            return Err(grad.storage.dtype().error(NAME, "the dtype of the query"));
        };
        let grad = self.in_order(NAME, grad)?;
        let saved = saved.storages::<3>(NAME)?;
        let [scores, most, total] = [
            (saved[0], batch * length * keys),
            (saved[1], batch * length),
            (saved[2], batch * length),
        ]
        .map(|(storage, numel)| Operand {
            storage: storage.clone(),
            layout: Layout::contiguous(numel.into()),
        });
        let shares = [
            (self.data(NAME, &scores)?, Elem::F32),
            (self.data(NAME, &most)?, Elem::F32),
            (self.data(NAME, &total)?, Elem::F32),
        ];
        let of_grad = (self.data(NAME, &grad)?, of_grad);
        let query = (self.data(NAME, &inputs.query)?, of_query);
        let key = (self.data(NAME, &inputs.key)?, of_key);
        let value = (self.data(NAME, &inputs.value)?, of_value);
        let mut parameters = sizes.parameters()?;
        parameters.push((geometry.scale as f32).to_bits());
        // The products of the gradient and the values, and their sums with the shares.
        let step = Step {
            key: "gradient and values",
            reads: &[of_grad, value],
            out: (Elem::F32, DType::F32),
            sizes: [batch, length, keys, value_width],
            adjacent_terms: [true, true],
            of_elements: true,
            parameters: parameters.clone(),
        };
        let code = Factors {
            row: &format!("(matrix * ${LENGTH} + m) * ${VALUES}"),
            column: &format!("(matrix / ${REPEATS} * ${KEYS} + n) * ${VALUES}"),
            ..Factors::default()
        }
        .code("f32");
        let pulls = self.attention_step(step, &code)?;
        let pulls_data = (self.data(NAME, &pulls)?, Elem::F32);
        let sums = self.pulls_summed(&shares, &pulls, &sizes)?;
        let slopes = [
            shares[0],
            shares[1],
            shares[2],
            pulls_data,
            (self.data(NAME, &sums)?, Elem::F32),
        ];
        let with = |more| {
            let mut all = slopes.to_vec();
            all.push(more);
            all
        };
        let of_query = self.attention_step(
            Step {
                key: "gradient of query",
                reads: &with(key),
                out: (of_query, inputs.query.storage.dtype()),
                sizes: [batch, length, width, keys],
                adjacent_terms: [true, false],
                of_elements: false,
                parameters: parameters.clone(),
            },
            &(slope()
                + &Factors {
                    row: &format!("matrix * ${LENGTH} + m"),
                    left: "slope(row.x, term.x)",
                    right_term: &format!("(matrix / ${REPEATS} * ${KEYS} + k) * ${WIDTH}"),
                    right: "f(column.x + term.x)",
                    ..Factors::default()
                }
                .code("f32")),
        )?;
        // Keys and values are shared by several elements of the batch, whose gradients are summed.
        let row = format!("((matrix * ${REPEATS} + k / ${LENGTH}) * ${LENGTH} + k % ${LENGTH})");
        let of_key = self.attention_step(
            Step {
                key: "gradient of key",
                reads: &with(query),
                out: (of_key, inputs.key.storage.dtype()),
                sizes: [batch / repeats, keys, width, repeats * length],
                adjacent_terms: [false, false],
                of_elements: false,
                parameters: parameters.clone(),
            },
            &(slope()
                + &Factors {
                    left_term: &row,
                    left: "slope(term.x, row.x)",
                    right_term: &format!("{row} * ${WIDTH}"),
                    right: "f(column.x + term.x)",
                    ..Factors::default()
                }
                .code("f32")),
        )?;
        let of_value = self.attention_step(
            Step {
                key: "gradient of value",
                reads: &[shares[0], shares[1], shares[2], of_grad],
                out: (of_value, inputs.value.storage.dtype()),
                sizes: [batch / repeats, keys, value_width, repeats * length],
                adjacent_terms: [false, false],
                of_elements: false,
                parameters,
            },
            &(share()
                + &Factors {
                    left_term: &row,
                    left: "share(term.x, row.x)",
                    right_term: &format!("{row} * ${VALUES}"),
                    right: "d(column.x + term.x)",
                    ..Factors::default()
                }
                .code("f32")),
        )?;
        Ok([of_query.storage, of_key.storage, of_value.storage])
    }
}

impl Gpu {
    /// For each query the sum of the shares of its keys times what the gradient pulls them by.
    fn pulls_summed(
        &self,
        shares: &[(&GpuStorage, Elem); 3],
        pulls: &Operand,
        sizes: &Sizes,
    ) -> Result<Operand> {
        let split = Split::new(NAME, &pulls.layout, &[2])?;
        let numel = sizes.batch * sizes.length;
        let mut parameters = Vec::new();
        let firsts = split.push(&mut parameters);
        let storage = self.fold(Fold {
            op: NAME,
            key: format!("attention sums {}", split.key()),
            reads: &[
                shares[0],
                shares[1],
                shares[2],
                (self.data(NAME, pulls)?, Elem::F32),
            ],
            out: Elem::F32,
            dtype: DType::F32,
            numel,
            count: sizes.keys,
            adjacent_values: true,
            parameters,
            value: "f32",
            kept: DType::F32,
            code: &|| {
                format!(
                    "{}fn value(o: u32, j: u32) -> f32 {{
    let total = c(o);
    if total == 0.0 {{ return 0.0; }}
    return exp_(a(at_d(o, j)) - b(o)) / total * d(at_d(o, j));
}}
fn start() -> f32 {{ return 0.0; }}
fn join(x: f32, y: f32) -> f32 {{ return x + y; }}
fn finish(o: u32, x: f32) -> f32 {{ return x; }}
",
                    split.code("d", firsts)
                )
            },
        })?;
        let layout = Layout::contiguous(numel.into());
        Ok(Operand { storage, layout })
    }
}
