//! Scaled dot-product attention: products, between which the share of each key in the result of a query is computed from its score.

use module_tensor::backend::{
    AttentionGeometry, AttentionInputs, AttentionKernels, Operand, Saved, SoftmaxKernels,
    SoftmaxOp, Storage,
};
use module_tensor::{DType, Error, Layout, Result, Shape};

use super::matmul::{Finish, MatrixProduct};
use super::softmax::LineFunction;
use crate::dims::Dims;
use crate::elem::Elem;
use crate::elementwise::Code;
use crate::gpu::{Gpu, word};

const NAME: &str = "scaled_dot_product_attention";

/// The largest distance of keys that kernels count with.
const FAR: usize = u32::MAX as usize / 2;

/// The sizes of an attention.
#[derive(Clone, Copy)]
struct Sizes {
    /// The matrices of keys and values.
    matrices: usize,
    /// The matrices of queries for each of these.
    repeats: usize,
    length: usize,
    keys: usize,
}

impl Sizes {
    fn new(inputs: &AttentionInputs, geometry: &AttentionGeometry) -> Self {
        let [query, key] = [&inputs.query, &inputs.key].map(|x| x.layout.shape());
        Self {
            matrices: key[0],
            repeats: geometry.repeats.max(1),
            length: query[1],
            keys: key[1],
        }
    }

    /// A matrix for each matrix of queries, with a row of `width` numbers for each query.
    fn of_queries(self, x: &Operand, width: usize) -> Result<Operand> {
        self.view(
            x,
            [self.repeats, self.length, width],
            [self.length * width, width, 1],
        )
    }

    /// The same, as one matrix of the rows of all queries that have the same keys. With `is_transposed`, of columns.
    fn of_all_queries(self, x: &Operand, width: usize, is_transposed: bool) -> Result<Operand> {
        let rows = self.repeats * self.length;
        match is_transposed {
            true => self.view(x, [1, width, rows], [0, 1, width]),
            false => self.view(x, [1, rows, width], [0, width, 1]),
        }
    }

    /// The matrix of keys or values of each matrix of queries, with a row of `width` numbers for each key. With `is_transposed`, a
    /// column.
    fn of_keys(self, x: &Operand, width: usize, is_transposed: bool) -> Result<Operand> {
        match is_transposed {
            true => self.view(x, [self.repeats, width, self.keys], [0, 1, width]),
            false => self.view(x, [self.repeats, self.keys, width], [0, width, 1]),
        }
    }

    /// Contiguous elements, seen as so many matrices for each matrix of keys.
    fn view(self, x: &Operand, shape: [usize; 3], strides: [usize; 3]) -> Result<Operand> {
        let numel = x.layout.shape().numel();
        let shape = [[self.matrices].as_slice(), &shape].concat();
        let strides = [[numel / self.matrices.max(1)].as_slice(), &strides].concat();
        let layout = Layout::within(Shape::from(shape), &strides, 0, numel);
        let layout =
            layout.ok_or_else(|| Error::argument(NAME, "numel", numel, "sizes that agree"))?;
        Ok(Operand {
            storage: x.storage.clone(),
            layout,
        })
    }
}

impl Gpu {
    /// The products of queries and keys with the mask, `[…, queries, keys]` in `F32`.
    fn scores(
        &self,
        inputs: &AttentionInputs,
        elem: Elem,
        sizes: Sizes,
        geometry: &AttentionGeometry,
    ) -> Result<Storage> {
        let width = inputs.query.layout.shape()[2];
        let causal = geometry.causal;
        // The window is the number of keys before a query's own one that it may attend to, and itself.
        let window = causal.and_then(|causal| causal.window);
        let past = causal.map_or(0, |causal| causal.past);
        let mut parameters = vec![
            (geometry.scale as f32).to_bits(),
            word(NAME, past.min(FAR))?,
            word(NAME, window.unwrap_or(0).min(FAR))?,
        ];
        let mut key = format!("scores {} {}", causal.is_some(), window.is_some());
        let mut reads = None;
        let mut of_batch = None;
        if let Some(mask) = &inputs.mask {
            let (shape, strides) = (mask.layout.shape(), mask.layout.strides());
            let leading = shape.len() - 2;
            for stride in &strides[leading..] {
                parameters.push(word(NAME, *stride)?);
            }
            let dims = Dims::of(
                NAME,
                &shape[..leading],
                &[&strides[..leading]],
                &[mask.layout.offset()],
            )?;
            dims.push(&mut parameters);
            key.push_str(&format!(" mask {}", dims.key()));
            reads = Some((self.data(NAME, mask)?, self.float_elem(mask)?));
            of_batch = Some(dims);
        }
        let code = |first: usize| {
            let mut statements = format!("    var y = x * $f{first};\n");
            let (past, width) = (first + 1, first + 2);
            if causal.is_some() {
                statements.push_str(&format!("    if n > ${past} + m {{ return -inf(); }}\n"));
            }
            if window.is_some() {
                statements.push_str(&format!(
                    "    if n + ${width} <= ${past} + m {{ return -inf(); }}\n"
                ));
            }
            let mut functions = String::new();
            if let Some(dims) = &of_batch {
                let [row, column, dims_at] = [first + 3, first + 4, first + 5];
                functions = dims.code(dims_at, &["of_mask"]);
                statements.push_str(&format!(
                    "    y += c(of_mask(matrix) + m * ${row} + n * ${column});\n"
                ));
            }
            statements.push_str("    return y;\n");
            Code {
                functions,
                statements,
            }
        };
        self.matrix_product(MatrixProduct {
            op: NAME,
            factors: [
                &sizes.of_queries(&inputs.query, width)?,
                &sizes.of_keys(&inputs.key, width, true)?,
            ],
            elem,
            out: (Elem::F32, DType::F32),
            finish: Finish {
                key,
                reads,
                parameters,
                code: &code,
            },
        })
    }

    /// The elements of a dtype in which the device computes attention.
    fn float_elem(&self, x: &Operand) -> Result<Elem> {
        let needs = "a floating-point tensor of 32 or 16 bits on this device";
        self.computes_in_f32(x)
            .ok_or_else(|| x.storage.dtype().error(NAME, needs))
    }

    /// The inputs in order.
    fn attention_inputs(&self, inputs: AttentionInputs) -> Result<AttentionInputs> {
        Ok(AttentionInputs {
            query: self.in_order(NAME, inputs.query)?,
            key: self.in_order(NAME, inputs.key)?,
            value: self.in_order(NAME, inputs.value)?,
            mask: inputs.mask,
        })
    }

    /// A product whose sums are its elements.
    fn plain_product(&self, elem: Elem, dtype: DType, factors: [&Operand; 2]) -> Result<Storage> {
        self.matrix_product(MatrixProduct {
            op: NAME,
            factors,
            elem,
            out: (elem, dtype),
            finish: Finish::default(),
        })
    }
}

impl AttentionKernels for Gpu {
    fn forward(
        &self,
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<(Storage, Saved)> {
        let dtype = inputs.query.storage.dtype();
        if dtype == DType::F64 {
            return self.attention_on_host(&inputs, geometry);
        }
        let elem = self.float_elem(&inputs.query)?;
        let inputs = self.attention_inputs(inputs)?;
        let sizes = Sizes::new(&inputs, geometry);
        let Sizes { length, keys, .. } = sizes;
        let layout = Layout::contiguous([sizes.matrices * sizes.repeats, length, keys].into());
        let scores = Operand {
            storage: self.scores(&inputs, elem, sizes, geometry)?,
            layout: layout.clone(),
        };
        let function = LineFunction::Shares(NAME);
        let shares = Operand {
            storage: self.function_of_lines(function, &scores, Elem::F32, 2, (elem, dtype))?,
            layout,
        };
        let width = inputs.value.layout.shape()[2];
        let factors = [
            &sizes.of_queries(&shares, keys)?,
            &sizes.of_keys(&inputs.value, width, false)?,
        ];
        let out = self.plain_product(elem, dtype, factors)?;
        Ok((out, Saved::new([shares.storage])))
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: AttentionInputs,
        saved: &Saved,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]> {
        let dtype = inputs.query.storage.dtype();
        if dtype == DType::F64 {
            return self.attention_backward_on_host(grad, &inputs, saved, geometry);
        }
        let elem = self.float_elem(&inputs.query)?;
        let inputs = self.attention_inputs(inputs)?;
        let grad = self.in_order(NAME, grad)?;
        let sizes = Sizes::new(&inputs, geometry);
        let Sizes { length, keys, .. } = sizes;
        let [query, value] = [&inputs.query, &inputs.value];
        let [width, value_width] = [query, value].map(|x| x.layout.shape()[2]);
        let [shares] = saved.storages(NAME)?;
        let layout = Layout::contiguous([sizes.matrices * sizes.repeats, length, keys].into());
        let shares = Operand {
            storage: shares.clone(),
            layout: layout.clone(),
        };
        // The gradient of each share, scaled as the scores are.
        let of_shares = self.matrix_product(MatrixProduct {
            op: NAME,
            factors: [
                &sizes.of_queries(&grad, value_width)?,
                &sizes.of_keys(value, value_width, true)?,
            ],
            elem,
            out: (Elem::F32, DType::F32),
            finish: Finish {
                key: "scaled".to_owned(),
                reads: None,
                parameters: vec![(geometry.scale as f32).to_bits()],
                code: &|first| Code::value(&format!("x * $f{first}")),
            },
        })?;
        let of_shares = Operand {
            storage: of_shares,
            layout: layout.clone(),
        };
        let of_scores = self.softmax_backward(SoftmaxOp::Softmax, of_shares, shares.clone(), 2)?;
        let of_scores = Operand {
            storage: of_scores,
            layout,
        };
        let product = |a: Operand, b: Operand| self.plain_product(elem, dtype, [&a, &b]);
        let of_query = product(
            sizes.of_queries(&of_scores, keys)?,
            sizes.of_keys(&inputs.key, width, false)?,
        )?;
        // Keys and values are shared by several matrices of queries, whose gradients are summed.
        let of_key = product(
            sizes.of_all_queries(&of_scores, keys, true)?,
            sizes.of_all_queries(query, width, false)?,
        )?;
        let of_value = product(
            sizes.of_all_queries(&shares, keys, true)?,
            sizes.of_all_queries(&grad, value_width, false)?,
        )?;
        Ok([of_query, of_key, of_value])
    }
}
