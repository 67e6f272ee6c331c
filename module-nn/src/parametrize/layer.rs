use std::fmt;

use module_core::__private::fmt_tree;
use module_core::module::{Visitor, VisitorMut};
use module_core::{
    Describe, Error, FieldInfo, Forward, IndexMap, Module, Parameter, Result, ShapeError, Tensor,
    no_grad,
};

use super::without_weight::{WEIGHT, WithoutWeight, WithoutWeightMut};

/// A layer that can run with a weight other than its own.
///
/// # Example
///
/// ```
/// use module_nn::parametrize::WithWeight;
/// use module_nn::prelude::*;
///
/// let layer = LinearConfig::new(2, 1).bias(false).build()?;
/// let weight = Tensor::from([[1.0_f32, 10.0]]);
/// let y = layer.forward_with(Tensor::from([3.0_f32, 4.0]), &weight)?;
/// assert_eq!(y.to_vec::<f32>()?, [43.0]);
/// assert_eq!(layer.own_weight().shape().to_string(), "[1, 2]");
/// # Ok::<(), Error>(())
/// ```
pub trait WithWeight<Input = Tensor>: Forward<Input> {
    /// The printed name of the layer with a computed weight: `ParametrizedLinear`.
    const PARAMETRIZED: &'static str;

    /// The layer's own weight, its member `weight`.
    fn own_weight(&self) -> &Parameter;

    /// The forward pass with this weight.
    ///
    /// # Errors
    ///
    /// Those of the forward pass.
    fn forward_with(&self, input: Input, weight: &Tensor) -> Result<Self::Output>;
}

/// Computes a weight from one or more parameters, called its originals as in PyTorch.
///
/// # Example
///
/// A weight that stays symmetric, whatever the optimizer does:
///
/// ```
/// use module_nn::parametrize::{Parametrization, parametrize};
/// use module_nn::prelude::*;
///
/// #[derive(Module)]
/// struct Symmetric {
///     marker: Marker,
/// }
///
/// impl Parametrization for Symmetric {
///     fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
///         let upper = originals[0].triu(0)?;
///         upper.add(&originals[0].triu(1)?.t()?)
///     }
/// }
///
/// let layer = parametrize(Linear::new(3, 3)?, Symmetric { marker: Marker::new() })?;
/// let weight = layer.weight()?;
/// assert!(weight.equal(&weight.t()?)?);
/// assert_eq!(layer.state_dict()?.keys().collect::<Vec<_>>(), ["bias", "parametrizations.weight.original"]);
/// # Ok::<(), Error>(())
/// ```
pub trait Parametrization: Module {
    /// The weight, from the originals in order.
    ///
    /// # Errors
    ///
    /// Originals that the computation refuses.
    fn compute(&self, originals: &[Tensor]) -> Result<Tensor>;

    /// The originals that give a layer's weight; one of them may be the weight's own parameter, which by default is the
    /// only one.
    ///
    /// # Errors
    ///
    /// A weight that the computation cannot produce.
    fn originals(&self, weight: &Parameter) -> Result<Vec<Parameter>> {
        Ok(vec![weight.share()])
    }

    /// Keys of the layer in older checkpoints, each with the key that replaces it.
    ///
    /// A load renames them if the checkpoint has all of them and none of those that replace them.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::parametrize::{Parametrization, parametrize};
    /// use module_nn::prelude::*;
    ///
    /// #[derive(Module)]
    /// struct Positive {
    ///     marker: Marker,
    /// }
    ///
    /// impl Parametrization for Positive {
    ///     fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
    ///         originals[0].exp()
    ///     }
    ///
    ///     fn former_keys(&self) -> &'static [(&'static str, &'static str)] {
    ///         &[("log_weight", "parametrizations.weight.original")]
    ///     }
    /// }
    ///
    /// let layer = LinearConfig::new(2, 1).bias(false).build()?;
    /// let layer = parametrize(layer, Positive { marker: Marker::new() })?;
    /// let old = StateDict::from_iter([("log_weight", Tensor::from([[0.0_f32, 0.0]]))]);
    /// assert!(layer.load_state_dict(&old)?.not_loaded.is_empty());
    /// assert_eq!(layer.weight()?.to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    fn former_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// A layer whose weight is computed at every call.
///
/// # State dict
///
/// That of the layer with `parametrizations.weight.original`, or `original0`, `original1`, …, instead of `weight`, and
/// `parametrizations.weight.0.…` for the state of the computation.
///
/// # Errors
///
/// Those of the computation and of the layer.
///
/// # Example
///
/// ```
/// use module_nn::parametrize::{Parametrized, WeightNorm, weight_norm};
/// use module_nn::prelude::*;
///
/// let layer: Parametrized<Linear, WeightNorm> = weight_norm(Linear::new(3, 2)?, Some(0))?;
/// assert_eq!(layer.originals().count(), 2); // The lengths and the directions.
/// let keys = ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"];
/// assert_eq!(layer.state_dict()?.keys().collect::<Vec<_>>(), keys);
/// let plain: Linear = layer.remove()?;
/// # Ok::<(), Error>(())
/// ```
pub struct Parametrized<L, P> {
    /// Its own weight is one of the originals, or unused.
    layer: L,
    name: &'static str,
    /// A dict with the single key `weight`.
    parametrizations: IndexMap<String, ParametrizationList<P>>,
}

/// The originals of one weight and how it is computed from them.
struct ParametrizationList<P> {
    originals: IndexMap<String, Parameter>,
    parametrization: P,
}

/// The layer with a computed weight.
///
/// # Errors
///
/// Those of the computation, and a weight whose shape differs from the layer's.
///
/// # Example
///
/// ```
/// use module_nn::parametrize::{Parametrization, parametrize};
/// use module_nn::prelude::*;
///
/// /// Weights that are never negative.
/// #[derive(Module)]
/// struct Positive {
///     marker: Marker,
/// }
///
/// impl Parametrization for Positive {
///     fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
///         originals[0].exp()
///     }
/// }
///
/// let layer = parametrize(Linear::new(3, 2)?, Positive { marker: Marker::new() })?;
/// assert!(layer.weight()?.amin(..)?.item::<f32>()? > 0.0);
/// # Ok::<(), Error>(())
/// ```
pub fn parametrize<I, L, P>(layer: L, parametrization: P) -> Result<Parametrized<L, P>>
where
    L: WithWeight<I>,
    P: Parametrization,
{
    let weight = layer.own_weight();
    let originals = parametrization.originals(weight)?;
    let alone = originals.len() == 1;
    let name = |i: usize| match alone {
        true => "original".to_owned(),
        false => format!("original{i}"),
    };
    let named = originals.into_iter().enumerate();
    let list = ParametrizationList {
        originals: named.map(|(i, original)| (name(i), original)).collect(),
        parametrization,
    };
    // A deferred layer has nothing to compute with.
    if list.originals.values().all(Parameter::has_values) {
        let computed = no_grad(|| list.weight())?;
        if *computed.shape() != weight.shape() {
            return Err(ShapeError::Mismatch {
                op: "parametrize",
                lhs: weight.shape(),
                rhs: computed.shape().clone(),
                rule: "the computed weight must have the shape of the layer's".to_owned(),
            }
            .into());
        }
    }
    Ok(Parametrized {
        name: L::PARAMETRIZED,
        layer,
        parametrizations: IndexMap::from([(WEIGHT.to_owned(), list)]),
    })
}

impl<P: Parametrization> ParametrizationList<P> {
    fn weight(&self) -> Result<Tensor> {
        let originals: Vec<Tensor> = self.originals.values().map(Parameter::tensor).collect();
        self.parametrization.compute(&originals)
    }
}

impl<L: Module, P: Parametrization> Parametrized<L, P> {
    /// The computed weight, tracked.
    ///
    /// # Errors
    ///
    /// Those of the computation.
    pub fn weight(&self) -> Result<Tensor> {
        match self.parametrizations.get(WEIGHT) {
            Some(list) => list.weight(),
            None => Err(Error::argument("weight", "name", WEIGHT, "is not computed")),
        }
    }

    /// The parameters that the weight is computed from.
    pub fn originals(&self) -> impl Iterator<Item = &Parameter> {
        self.parametrizations
            .values()
            .flat_map(|list| list.originals.values())
    }

    /// The plain layer, whose weight is the computed one.
    ///
    /// Its parameter is the original of the same shape, if there is one, so that an optimizer keeps its state.
    ///
    /// # Errors
    ///
    /// Those of the computation.
    #[doc(alias = "remove_weight_norm")]
    #[doc(alias = "remove_spectral_norm")]
    pub fn remove<I>(self) -> Result<L>
    where
        L: WithWeight<I>,
    {
        let weight = no_grad(|| self.weight())?;
        self.layer.own_weight().set(weight)?;
        Ok(self.layer)
    }
}

impl<I, L, P> Forward<I> for Parametrized<L, P>
where
    L: WithWeight<I>,
    P: Parametrization,
{
    type Output = L::Output;

    fn forward(&self, input: I) -> Result<L::Output> {
        self.layer.forward_with(input, &self.weight()?)
    }
}

/// Written by hand, because the layer's members, except its weight, are this module's own.
impl<L: Module, P: Parametrization> Module for Parametrized<L, P> {
    fn kind(&self) -> &'static str {
        self.name
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.layer.visit(&mut WithoutWeight(visitor));
        visitor.module("parametrizations", &self.parametrizations);
        for list in self.parametrizations.values() {
            visitor.former_keys(list.parametrization.former_keys());
        }
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        self.layer.visit_mut(&mut WithoutWeightMut(visitor));
        visitor.module("parametrizations", &mut self.parametrizations);
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layer.extra_repr(f)
    }
}

/// Written by hand, because the originals and the computation are named by numbers.
impl<P: Parametrization> Module for ParametrizationList<P> {
    fn kind(&self) -> &'static str {
        "ParametrizationList"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        for (name, original) in &self.originals {
            visitor.parameter(name, original);
        }
        self.parametrization.visit_as("0", visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        for (name, original) in &mut self.originals {
            visitor.parameter(name, original);
        }
        self.parametrization.visit_as_mut("0", visitor);
    }
}

/// The keys are known only at run time.
impl<L: Module, P: Parametrization> Describe for Parametrized<L, P> {
    const FIELDS: &'static [FieldInfo] = &[];
}

/// The keys are known only at run time.
impl<P: Parametrization> Describe for ParametrizationList<P> {
    const FIELDS: &'static [FieldInfo] = &[];
}

impl<L: Module, P: Parametrization> fmt::Debug for Parametrized<L, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}

impl<P: Parametrization> fmt::Debug for ParametrizationList<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}
