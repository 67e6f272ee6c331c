use std::fmt;
use std::sync::Arc;

use module_core::__private::fmt_tree;
use module_core::module::{Visitor, VisitorMut};
use module_core::{
    DType, Describe, ErrorKind, FieldInfo, Generator, Init, Module, Parameter, Result, Shape,
    ShapeError, Tensor, deferred, with_default_dtype,
};

use super::{Parametrization, Parametrized, WithWeight, parametrize};

/// A direction and a length instead of a weight: `w = g · v / ‖v‖`, with the length over all dimensions except one, or over
/// all.
///
/// Source: Salimans and Kingma, *Weight Normalization: A Simple Reparameterization to Accelerate
/// Training of Deep Neural Networks* (2016).
///
/// # State dict
///
/// `original0` is `g`, of size 1 in all dimensions except the excluded one, or without dimensions; `original1` is `v`, in
/// the shape of the weight.
///
/// # Initialization
///
/// `v` is the layer's weight and `g` its length, so that the weight is unchanged.
///
/// # Example
///
/// ```
/// use module_nn::parametrize::{Parametrized, WeightNorm, weight_norm};
/// use module_nn::prelude::*;
///
/// let linear = Linear::new(2, 1)?;
/// linear.weight().set(Tensor::from([[3.0_f32, 4.0]]))?;
/// let layer: Parametrized<Linear, WeightNorm> = weight_norm(linear, None)?;
/// let originals: Vec<Tensor> = layer.originals().map(|original| original.detach()).collect();
/// assert_eq!(originals[0].item::<f32>()?, 5.0);
/// assert_eq!(originals[1].to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// Checkpoints of PyTorch's older `nn.utils.weight_norm` name the same tensors `weight_g` and `weight_v`. A load renames
/// them, unless one of the two is missing or the checkpoint has both forms:
///
/// ```
/// use module_nn::parametrize::weight_norm;
/// use module_nn::prelude::*;
///
/// let layer = Sequential::new().push(weight_norm(Linear::new(2, 1)?, Some(0))?);
/// let mut old = StateDict::new();
/// old.insert("0.bias", Tensor::from([0.5_f32]));
/// old.insert("0.weight_g", Tensor::from([[5.0_f32]]));
/// old.insert("0.weight_v", Tensor::from([[3.0_f32, 4.0]]));
///
/// assert!(layer.load_state_dict(&old)?.not_loaded.is_empty());
/// assert_eq!(layer.call(Tensor::from([[1.0_f32, 1.0]]))?.item::<f32>()?, 7.5);
/// # Ok::<(), Error>(())
/// ```
pub struct WeightNorm {
    /// The dimension whose slices have separate lengths.
    dim: Option<usize>,
}

/// The layer with a [`WeightNorm`] of each slice along `dim` (PyTorch's default is `Some(0)`), or of the whole weight.
///
/// # Errors
///
/// A dimension that the weight does not have.
///
/// # Example
///
/// ```
/// use module_nn::parametrize::weight_norm;
/// use module_nn::prelude::*;
///
/// let layer = weight_norm(Linear::new(3, 2)?, Some(0))?;
/// assert_eq!(layer.get_parameter("parametrizations.weight.original0")?.shape().to_string(), "[2, 1]");
/// # Ok::<(), Error>(())
/// ```
pub fn weight_norm<I, L: WithWeight<I>>(
    layer: L,
    dim: Option<usize>,
) -> Result<Parametrized<L, WeightNorm>> {
    let shape = layer.own_weight().shape();
    if let Some(dim) = dim.filter(|&dim| dim >= shape.rank()) {
        let dim = isize::try_from(dim).unwrap_or(isize::MAX);
        let op = "weight_norm";
        return Err(ShapeError::Dimension { op, dim, shape }.into());
    }
    parametrize(layer, WeightNorm { dim })
}

/// The length over all dimensions except `dim`, kept with size 1; over all if there is none.
fn length(v: &Tensor, dim: Option<usize>) -> Result<Tensor> {
    match dim {
        None => v.norm(2.0, ..),
        Some(dim) => {
            let others: Vec<usize> = (0..v.rank()).filter(|&d| d != dim).collect();
            match others.is_empty() {
                true => v.abs(),
                false => v.norm_keepdim(2.0, others.as_slice()),
            }
        }
    }
}

impl Parametrization for WeightNorm {
    fn former_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("weight_g", "parametrizations.weight.original0"),
            ("weight_v", "parametrizations.weight.original1"),
        ]
    }

    fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
        let [g, v] = originals else {
            let problem = "a length and a direction are needed";
            return Err(module_core::Error::argument(
                "weight_norm",
                "originals",
                originals.len(),
                problem,
            ));
        };
        v.mul(&g.div(&length(v, self.dim)?)?)
    }

    fn originals(&self, weight: &Parameter) -> Result<Vec<Parameter>> {
        let value = match weight.has_values() {
            true => Some(length(&weight.detach(), self.dim)?),
            false => None,
        };
        let g = match (weight.initializer(), value) {
            (None, Some(value)) => Parameter::new(value)?,
            (None, None) => {
                return Err(ErrorKind::NoValues {
                    what: "a weight".into(),
                }
                .into());
            }
            (Some(next), value) => {
                let (shape, dim) = (weight.shape(), self.dim);
                let lengths = lengths(&shape, dim);
                let init = LengthOfNext { next, shape, dim };
                let draw = || deferred(|| Parameter::with_init(lengths, init));
                let g = with_default_dtype(weight.dtype(), draw)?;
                value.map_or(Ok(()), |value| g.set(value))?;
                g.draw_before(weight)
            }
        };
        Ok(vec![g, weight.share()])
    }
}

/// The shape of the result of [`length`].
fn lengths(shape: &Shape, dim: Option<usize>) -> Shape {
    let Some(kept) = dim else {
        return Shape::from([]);
    };
    let sizes = shape.iter().enumerate();
    sizes
        .map(|(d, &size)| if d == kept { size } else { 1 })
        .collect()
}

/// The length of the values that the direction, drawn next, will get: both are redrawn together.
struct LengthOfNext {
    next: Arc<dyn Init>,
    /// Of the direction.
    shape: Shape,
    dim: Option<usize>,
}

impl Init for LengthOfNext {
    fn init(&self, _: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let next = self
            .next
            .init(&self.shape, dtype, &generator.clone_state()?)?;
        length(&next, self.dim)
    }

    fn skip(&self, _: &Shape, _: DType, _: &Generator) -> Result<()> {
        Ok(())
    }
}

/// Written by hand, because PyTorch prints another name, and no arguments.
impl Module for WeightNorm {
    fn kind(&self) -> &'static str {
        "_WeightNorm"
    }

    fn visit<'a>(&'a self, _: &mut dyn Visitor<'a>) {}

    fn visit_mut<'a>(&'a mut self, _: &mut dyn VisitorMut<'a>) {}
}

impl fmt::Debug for WeightNorm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}

impl Describe for WeightNorm {
    const FIELDS: &'static [FieldInfo] = &[];
}
