use module_tensor::backend::{
    CrossEntropyGeometry, CrossEntropyInputs, CrossEntropyKernels, Operand, Saved, Storage,
};
use module_tensor::{DType, Layout, Result};

use super::binary::whole;
use crate::elem::Elem;
use crate::fold::Fold;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};

const NAME: &str = "cross_entropy";

/// The parameters: the classes, what is after them, the ignored class in two words, the share that each class gets by
/// smoothing, and the share of the class itself.
fn parameters(geometry: &CrossEntropyGeometry) -> Result<Vec<u32>> {
    let spread = geometry.label_smoothing / geometry.classes as f64;
    Ok(vec![
        word(NAME, geometry.classes)?,
        word(NAME, geometry.inner)?,
        geometry.ignore_index as u32,
        (geometry.ignore_index >> 32) as u32,
        (spread as f32).to_bits(),
        ((1.0 - geometry.label_smoothing) as f32).to_bits(),
    ])
}

/// Functions of places; the class of element `o` is `class_of(o)`, its logits start at `start_of(o)`.
const PLACES: &str = "
fn is_ignored(o: u32) -> bool {
    let wanted = b(o);
    return wanted.x == $4 && wanted.y == $5;
}
fn class_of(o: u32) -> u32 { return checked(b(o), $2); }
fn start_of(o: u32) -> u32 { return o / $3 * $2 * $3 + o % $3; }
";

const _: () = assert!(FIRST == 2);

impl Gpu {
    /// The operands in order: the logits, the classes, the weights of the classes or a 1 that is not read.
    fn entropy_operands(
        &self,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<([Operand; 3], bool)> {
        let has = inputs.weight.is_some();
        let weight = match inputs.weight {
            Some(weight) => self.in_order(NAME, weight)?,
            None => Operand {
                storage: self.fill(1, DType::F32, 1.0.into())?,
                layout: Layout::contiguous(1.into()),
            },
        };
        let mut x = self.in_order(NAME, inputs.x)?;
        // The dimensions of a vector of logits are not written out.
        let shape = [geometry.outer, geometry.classes, geometry.inner];
        x.layout = Layout::contiguous(shape.into());
        Ok(([x, self.in_order(NAME, inputs.target)?, weight], has))
    }

    fn entropy_elems(&self, inputs: &CrossEntropyInputs) -> Option<[Elem; 2]> {
        let weight = match &inputs.weight {
            Some(weight) => self.computes_in_f32(weight)?,
            None => Elem::F32,
        };
        Some([self.computes_in_f32(&inputs.x)?, weight])
    }
}

impl CrossEntropyKernels for Gpu {
    fn forward(
        &self,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<(Storage, Saved)> {
        let Some([elem, of_weight]) = self.entropy_elems(&inputs) else {
            return self.cross_entropy_on_host(&inputs, geometry);
        };
        let ([x, target, weight], has) = self.entropy_operands(inputs, geometry)?;
        let sums = self.exponential_sums(NAME, &x, elem, 1)?;
        let is_smooth = geometry.label_smoothing > 0.0;
        let of_class = if has { "c(own_class)" } else { "1.0" };
        let of_each = if has { "c(j)" } else { "1.0" };
        let smooth = match is_smooth {
            true => format!(
                "    var all = 0.0;
    for (var j = 0u; j < $2; j++) {{
        all += {of_each} * ((d(o) - a(start_of(o) + j * $3)) + log);
    }}
    loss += $f6 * all;\n"
            ),
            false => String::new(),
        };
        let losses = self.map(Map {
            op: NAME,
            key: format!("{NAME} {has} {is_smooth}"),
            reads: &[
                (self.data(NAME, &x)?, elem),
                (self.data(NAME, &target)?, Elem::Bits8),
                (self.data(NAME, &weight)?, of_weight),
                (self.data(NAME, &sums.most)?, Elem::F32),
                (self.data(NAME, &sums.total)?, Elem::F32),
            ],
            out: Elem::F32,
            dtype: DType::F32,
            numel: geometry.outer * geometry.inner,
            parameters: parameters(geometry)?,
            index_size: Some(geometry.classes),
            code: &|| {
                format!(
                    "{PLACES}
fn element(o: u32) -> f32 {{
    if is_ignored(o) {{ return 0.0; }}
    let own_class = class_of(o);
    let total = e(o);
    // An infinite logit has no probability.
    if is_inf(total) || total == 0.0 {{ return nan(); }}
    let log = log_(total);
    var loss = $f7 * {of_class} * ((d(o) - a(start_of(o) + own_class * $3)) + log);
{smooth}    return loss;
}}
"
                )
            },
        })?;
        let saved = Saved::new([sums.most.storage, sums.total.storage]);
        Ok((losses, saved))
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: CrossEntropyInputs,
        saved: &Saved,
        geometry: &CrossEntropyGeometry,
    ) -> Result<Storage> {
        let elems = self.entropy_elems(&inputs).zip(self.computes_in_f32(&grad));
        let Some(([elem, of_weight], of_grad)) = elems else {
            return self.cross_entropy_backward_on_host(grad, &inputs, saved, geometry);
        };
        let dtype = inputs.x.storage.dtype();
        let ([x, target, weight], has) = self.entropy_operands(inputs, geometry)?;
        let grad = self.in_order(NAME, grad)?;
        let [most, total] = saved.storages(NAME)?;
        let [most, total] = [most, total].map(|storage| whole(storage.clone(), &grad.layout));
        let is_smooth = geometry.label_smoothing > 0.0;
        let mut reads = vec![
            (self.data(NAME, &x)?, elem),
            (self.data(NAME, &target)?, Elem::Bits8),
            (self.data(NAME, &weight)?, of_weight),
            (self.data(NAME, &most)?, Elem::F32),
            (self.data(NAME, &total)?, Elem::F32),
            (self.data(NAME, &grad)?, of_grad),
        ];
        let all_weights;
        let all = match (is_smooth, has) {
            (false, _) => "0.0",
            (true, false) => "f32($2)",
            (true, true) => {
                let storage = self.fold(Fold {
                    op: NAME,
                    key: format!("{NAME} weights"),
                    reads: &[reads[2]],
                    out: Elem::F32,
                    dtype: DType::F32,
                    numel: 1,
                    count: geometry.classes,
                    adjacent_values: true,
                    parameters: Vec::new(),
                    value: "f32",
                    kept: DType::F32,
                    code: &|| {
                        "fn value(o: u32, j: u32) -> f32 { return a(j); }
fn start() -> f32 { return 0.0; }
fn join(x: f32, y: f32) -> f32 { return x + y; }
fn finish(o: u32, x: f32) -> f32 { return x; }
"
                        .to_owned()
                    },
                })?;
                all_weights = Operand {
                    storage,
                    layout: Layout::contiguous(1.into()),
                };
                reads.push((self.data(NAME, &all_weights)?, Elem::F32));
                "g(0u)"
            }
        };
        let of_class = if has { "c(own_class)" } else { "1.0" };
        let of_each = if has { "c(each)" } else { "1.0" };
        self.map(Map {
            op: NAME,
            key: format!("{NAME} gradient {has} {is_smooth}"),
            reads: &reads,
            out: elem,
            dtype,
            numel: x.layout.shape().numel(),
            parameters: parameters(geometry)?,
            index_size: Some(geometry.classes),
            code: &|| {
                format!(
                    "{PLACES}
fn element(i: u32) -> f32 {{
    let each = i / $3 % $2;
    let o = i / ($2 * $3) * $3 + i % $3;
    if is_ignored(o) {{ return 0.0; }}
    let own_class = class_of(o);
    let total = e(o);
    if is_inf(total) || total == 0.0 {{ return nan(); }}
    let own = {of_class} * $f7;
    let share = exp_(a(i) - d(o)) / total;
    var value = share * (own + $f6 * {all}) - {of_each} * $f6;
    if each == own_class {{ value -= own; }}
    return f(o) * value;
}}
"
                )
            },
        })
    }
}
