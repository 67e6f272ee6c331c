//! Normalization by the mean and the variance of each row or group.

use module_tensor::backend::{
    NormGeometry, NormGradients, NormInputs, NormKernels, NormOver, Normalized, Operand, Saved,
    Storage,
};
use module_tensor::{DType, Layout, Result};

use super::binary::whole;
use super::normalize_code::{NAME, SUM, parameters, places};
use crate::elem::Elem;
use crate::fold::{FOLD_FIRST, Fold};
use crate::gpu::Gpu;
use crate::map::{FIRST, Map};
use crate::storage::GpuStorage;

/// The elements of a channel from which on invocations side by side read these.
const WIDE: usize = 16;

/// The mean less the first element that it is the mean of, and the variance, as `F32`: elements far from zero keep the digits of
/// what differs between them. Means that are given are themselves.
struct Moments {
    mean: Operand,
    var: Operand,
}

/// The expression for element `i` less its mean; `b` are the means of [`Moments`].
fn centered(geometry: &NormGeometry) -> &'static str {
    match (geometry.over, geometry.centered) {
        (NormOver::Given, _) => "(a(i) - b(o))",
        (_, false) => "a(i)",
        (_, true) => "((a(i) - a(place(o, 0u))) - b(o))",
    }
}

/// The number of elements with one mean.
fn count(geometry: &NormGeometry) -> usize {
    geometry.shape().numel() / geometry.statistics_count().max(1)
}

impl Gpu {
    /// A sum for each mean, of values that the code computes.
    fn norm_sums(
        &self,
        key: &str,
        reads: &[(&GpuStorage, Elem)],
        geometry: &NormGeometry,
        code: &str,
    ) -> Result<Operand> {
        let numel = geometry.statistics_count();
        let over = geometry.over;
        let storage = self.fold(Fold {
            op: NAME,
            key: format!("{NAME} {key} {over:?}"),
            reads,
            out: Elem::F32,
            dtype: DType::F32,
            numel,
            count: count(geometry),
            adjacent_values: over == NormOver::Row || geometry.inner >= WIDE,
            parameters: parameters(geometry)?,
            value: "f32",
            kept: DType::F32,
            code: &|| places(over, FOLD_FIRST) + SUM + code,
        })?;
        let layout = Layout::contiguous(numel.into());
        Ok(Operand { storage, layout })
    }

    fn moments(&self, x: &Operand, elem: Elem, geometry: &NormGeometry) -> Result<Moments> {
        let data = (self.data(NAME, x)?, elem);
        let layout = Layout::contiguous(geometry.statistics_count().into());
        if !geometry.centered {
            let storage = self.fill(geometry.statistics_count(), DType::F32, 0.0.into())?;
            let mean = Operand { storage, layout };
            let code = "
fn value(o: u32, j: u32) -> f32 { let x = a(place(o, j)); return x * x; }
fn finish(o: u32, x: f32) -> f32 { return x / f32($3); }
";
            let var = self.norm_sums("mean square", &[data], geometry, code)?;
            return Ok(Moments { mean, var });
        }
        let code = "
fn value(o: u32, j: u32) -> f32 { return a(place(o, j)) - a(place(o, 0u)); }
fn finish(o: u32, x: f32) -> f32 { return x / f32($3); }
";
        let mean = self.norm_sums("mean", &[data], geometry, code)?;
        let code = "
fn value(o: u32, j: u32) -> f32 {
    let x = (a(place(o, j)) - a(place(o, 0u))) - b(o);
    return x * x;
}
fn finish(o: u32, x: f32) -> f32 { return x / f32($3); }
";
        let reads = [data, (self.data(NAME, &mean)?, Elem::F32)];
        let var = self.norm_sums("variance", &reads, geometry, code)?;
        Ok(Moments { mean, var })
    }

    /// The means themselves.
    fn means(
        &self,
        x: &Operand,
        elem: Elem,
        mean: &Operand,
        geometry: &NormGeometry,
    ) -> Result<Storage> {
        if geometry.over == NormOver::Given || !geometry.centered {
            return Ok(mean.storage.clone());
        }
        let over = geometry.over;
        self.map(Map {
            op: NAME,
            key: format!("{NAME} means {over:?}"),
            reads: &[
                (self.data(NAME, x)?, elem),
                (self.data(NAME, mean)?, Elem::F32),
            ],
            out: Elem::F32,
            dtype: DType::F32,
            numel: geometry.statistics_count(),
            parameters: parameters(geometry)?,
            index_size: None,
            code: &|| {
                let places = places(over, FIRST);
                format!("{places}fn element(o: u32) -> f32 {{ return a(place(o, 0u)) + b(o); }}\n")
            },
        })
    }

    /// A statistic in `F32`.
    fn statistic(&self, x: &Operand) -> Result<Operand> {
        let storage = self.convert(x.clone(), DType::F32)?;
        Ok(whole(storage, &x.layout))
    }

    /// The elements of everything, if the device computes with them.
    fn norm_elems(&self, inputs: &NormInputs) -> Option<[Elem; 3]> {
        let x = self.computes_in_f32(&inputs.x)?;
        let of = |x: &Option<Operand>| match x {
            Some(x) => self.computes_in_f32(x),
            None => Some(Elem::F32),
        };
        Some([x, of(&inputs.weight)?, of(&inputs.bias)?])
    }

    /// A sum for each channel.
    fn channel_sums(
        &self,
        key: &str,
        reads: &[(&GpuStorage, Elem)],
        like: &Operand,
        geometry: &NormGeometry,
        code: &str,
    ) -> Result<Storage> {
        let over = geometry.over;
        let Some(elem) = self.computes_in_f32(like) else {
            return Err(self.device().unavailable(NAME));
        };
        self.fold(Fold {
            op: NAME,
            key: format!("{NAME} {key} {over:?}"),
            reads,
            out: elem,
            dtype: like.storage.dtype(),
            numel: geometry.groups * geometry.channels,
            count: geometry.batch * geometry.inner,
            adjacent_values: geometry.inner >= WIDE,
            parameters: parameters(geometry)?,
            value: "f32",
            kept: DType::F32,
            code: &|| places(over, FOLD_FIRST) + SUM + code,
        })
    }

    /// The gradient of the elements from these, the means, the variances, the gradient of the result and the weights. `normal`
    /// are functions of these, and `has` is their key.
    fn gradient_of_elements(
        &self,
        reads: &[(&GpuStorage, Elem); 5],
        normal: &str,
        has: &str,
        dtype: DType,
        geometry: &NormGeometry,
    ) -> Result<Storage> {
        let in_fold = normal.replace("{EPS}", &(FOLD_FIRST + 3).to_string());
        let in_map = normal.replace("{EPS}", &(FIRST + 3).to_string());
        let mut all = reads.to_vec();
        let mut value = "pull(i) * scale(o)".to_owned();
        let (even, along);
        if geometry.over != NormOver::Given {
            let code = format!(
                "{in_fold}
fn value(o: u32, j: u32) -> f32 {{ let i = place(o, j); return pull(i) * normal(i); }}
fn finish(o: u32, x: f32) -> f32 {{ return x / f32($3); }}
"
            );
            along = self.norm_sums(&format!("along {has}"), reads, geometry, &code)?;
            let code = format!(
                "{in_fold}
fn value(o: u32, j: u32) -> f32 {{ return pull(place(o, j)); }}
fn finish(o: u32, x: f32) -> f32 {{ return x / f32($3); }}
"
            );
            all.push((self.data(NAME, &along)?, Elem::F32));
            value = "(pull(i) - normal(i) * f(o)) * scale(o)".to_owned();
            if geometry.centered {
                even = self.norm_sums(&format!("even {has}"), reads, geometry, &code)?;
                all.push((self.data(NAME, &even)?, Elem::F32));
                value = "(pull(i) - g(o) - normal(i) * f(o)) * scale(o)".to_owned();
            }
        }
        let over = geometry.over;
        self.map(Map {
            op: NAME,
            key: format!("{NAME} gradient {has} {over:?}"),
            reads: &all,
            out: reads[0].1,
            dtype,
            numel: geometry.shape().numel(),
            parameters: parameters(geometry)?,
            index_size: None,
            code: &|| {
                format!(
                    "{}{in_map}fn element(i: u32) -> f32 {{
    let o = of_statistics(i);
    return {value};
}}
",
                    places(over, FIRST)
                )
            },
        })
    }
}

impl NormKernels for Gpu {
    fn forward(&self, inputs: NormInputs, geometry: &NormGeometry) -> Result<Normalized> {
        let Some([elem, of_weight, of_bias]) = self.norm_elems(&inputs) else {
            return self.norm_on_host(&inputs, geometry);
        };
        let (dtype, numel) = (inputs.x.storage.dtype(), geometry.shape().numel());
        let x = self.in_order(NAME, inputs.x)?;
        let weight = inputs.weight.map(|x| self.in_order(NAME, x)).transpose()?;
        let bias = inputs.bias.map(|x| self.in_order(NAME, x)).transpose()?;
        if inputs.statistics.is_none() {
            let affine = [(weight.as_ref(), of_weight), (bias.as_ref(), of_bias)];
            if let Some(normalized) = self.normalize_lines((&x, elem), affine, geometry)? {
                return Ok(normalized);
            }
        }
        let Moments { mean, var } = match &inputs.statistics {
            Some([mean, var]) => Moments {
                mean: self.statistic(mean)?,
                var: self.statistic(var)?,
            },
            None => self.moments(&x, elem, geometry)?,
        };
        let mut reads = vec![
            (self.data(NAME, &x)?, elem),
            (self.data(NAME, &mean)?, Elem::F32),
            (self.data(NAME, &var)?, Elem::F32),
        ];
        let mut value = format!("{} * (1.0 / sqrt_(c(o) + $f5))", centered(geometry));
        let mut key = format!("{NAME} {:?} {}", geometry.over, geometry.centered);
        for (x, of, sign) in [(&weight, of_weight, '*'), (&bias, of_bias, '+')] {
            if let Some(x) = x {
                let name = crate::map::NAMES[reads.len()];
                reads.push((self.data(NAME, x)?, of));
                value.push_str(&format!(" {sign} {name}(channel(i))"));
                key.push(sign);
            }
        }
        let over = geometry.over;
        let output = self.map(Map {
            op: NAME,
            key,
            reads: &reads,
            out: elem,
            dtype,
            numel,
            parameters: parameters(geometry)?,
            index_size: None,
            code: &|| {
                format!(
                    "{}fn element(i: u32) -> f32 {{
    let o = of_statistics(i);
    return {value};
}}
",
                    places(over, FIRST)
                )
            },
        })?;
        let statistics = match geometry.with_statistics {
            true => Some([self.means(&x, elem, &mean, geometry)?, var.storage.clone()]),
            false => None,
        };
        Ok(Normalized {
            output,
            statistics,
            saved: Saved::new([mean.storage, var.storage]),
        })
    }

    fn backward(
        &self,
        grad: Operand,
        inputs: NormInputs,
        saved: &Saved,
        geometry: &NormGeometry,
    ) -> Result<NormGradients> {
        let elems = self.norm_elems(&inputs).zip(self.computes_in_f32(&grad));
        let Some(([elem, of_weight, _], of_grad)) = elems else {
            return self.norm_backward_on_host(grad, &inputs, saved, geometry);
        };
        let [mean, var] = saved.storages(NAME)?;
        let layout = Layout::contiguous(geometry.statistics_count().into());
        let [mean, var] = [mean, var].map(|storage| whole(storage.clone(), &layout));
        let (x, grad) = (self.in_order(NAME, inputs.x)?, self.in_order(NAME, grad)?);
        let given = inputs.weight;
        let weight = given.clone().map(|x| self.in_order(NAME, x)).transpose()?;
        let factor = match given {
            Some(_) => "e(channel(i))",
            None => "1.0",
        };
        let has = format!("{} {}", given.is_some(), geometry.centered);
        let reads = [
            (self.data(NAME, &x)?, elem),
            (self.data(NAME, &mean)?, Elem::F32),
            (self.data(NAME, &var)?, Elem::F32),
            (self.data(NAME, &grad)?, of_grad),
            match &weight {
                Some(weight) => (self.data(NAME, weight)?, of_weight),
                // It is not read.
                None => (self.data(NAME, &mean)?, Elem::F32),
            },
        ];
        let normal = format!(
            "fn scale(o: u32) -> f32 {{ return 1.0 / sqrt_(c(o) + $f{{EPS}}); }}
fn normal(i: u32) -> f32 {{ let o = of_statistics(i); return {} * scale(o); }}
fn pull(i: u32) -> f32 {{ return d(i) * {factor}; }}
",
            centered(geometry)
        );
        let in_fold = normal.replace("{EPS}", &(FOLD_FIRST + 3).to_string());
        let dtype = x.storage.dtype();
        let of_lines = self.normalize_lines_backward(&reads, given.is_some(), dtype, geometry)?;
        let of_x = match of_lines {
            Some(of_x) => of_x,
            None => self.gradient_of_elements(&reads, &normal, &has, dtype, geometry)?,
        };
        let code = format!(
            "{in_fold}
fn value(o: u32, j: u32) -> f32 {{ let i = of_channel(o, j); return d(i) * normal(i); }}
fn finish(o: u32, x: f32) -> f32 {{ return x; }}
"
        );
        let of_weight = given.map(|like| {
            self.channel_sums(&format!("weight {has}"), &reads, &like, geometry, &code)
        });
        let code = "
fn value(o: u32, j: u32) -> f32 { return a(of_channel(o, j)); }
fn finish(o: u32, x: f32) -> f32 { return x; }
";
        let of_bias = inputs
            .bias
            .map(|like| self.channel_sums("bias", &[reads[3]], &like, geometry, code));
        Ok(NormGradients {
            x: of_x,
            weight: of_weight.transpose()?,
            bias: of_bias.transpose()?,
        })
    }
}
