use std::any::TypeId;
use std::collections::HashSet;

use super::entries::{Entry, StateTensor};
use crate::error::suggest;
use crate::module::Module;
use crate::{ModuleError, Result, Select};

/// Which weights a state dict holds transposed.
///
/// A [`Select`] of keys, or anything that converts into one, is accepted too. A module type is safer: a square weight that
/// a selection misses would fit either way.
///
/// # Example
///
/// ```
/// use module_core::{LoadOptions, Module, ModuleExt, Parameter, StateDict, Tensor, Transpose};
///
/// #[derive(Module)]
/// struct Projection {
///     weight: Parameter,
/// }
///
/// let zeros = || Parameter::new(Tensor::from([[0.0_f32; 2]; 2]));
/// let model = vec![Projection { weight: zeros()? }, Projection { weight: zeros()? }];
/// let stored = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
/// let state = StateDict::from_iter(["0.weight", "1.weight"].map(|key| (key, stored.clone())));
/// let options = LoadOptions::new().transpose(Transpose::of_kind("Projection").exclude("1"));
/// let report = model.load_state_dict_with(&state, options.clone())?;
/// assert!(report.not_loaded.is_empty());
/// assert_eq!(model[0].weight.tensor().to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
/// assert_eq!(model[1].weight.tensor().to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// // And back, as they were.
/// assert!(model.state_dict_as(&options)?.equal(&state)?);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transpose {
    rules: Vec<TransposeRule>,
    except: Vec<Select>,
}

#[derive(Clone, Debug)]
enum TransposeRule {
    Kind(String),
    Type(TypeId, &'static str),
    Keys(Select),
}

impl Transpose {
    /// The weights (two-dimensional parameters) of every module of this kind, by the name that the module tree prints:
    /// `Linear`.
    pub fn of_kind(kind: impl Into<String>) -> Self {
        TransposeRule::Kind(kind.into()).into()
    }

    /// The weights of every module of type `M`.
    pub fn of<M: Module>() -> Self {
        TransposeRule::Type(TypeId::of::<M>(), M::type_kind()).into()
    }

    /// Covers every weight that this or `other` covers; exclusions of either apply.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{LoadOptions, Module, ModuleExt, Parameter, StateDict, Tensor, Transpose};
    ///
    /// #[derive(Module)]
    /// struct Query {
    ///     weight: Parameter,
    /// }
    ///
    /// #[derive(Module)]
    /// struct Net {
    ///     query: Query,
    ///     table: Parameter,
    /// }
    ///
    /// // The weights of a type, and one more key.
    /// let zeros = || Parameter::new(Tensor::from([[0.0_f32; 2]; 2]));
    /// let net = Net { query: Query { weight: zeros()? }, table: zeros()? };
    /// let stored = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// let state = StateDict::from_iter(["query.weight", "table"].map(|key| (key, stored.clone())));
    /// let options = LoadOptions::new().transpose(Transpose::of::<Query>().or("table"));
    /// let _ = net.load_state_dict_with(&state, options)?;
    /// for weight in [&net.query.weight, &net.table] {
    ///     assert_eq!(weight.detach().to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// }
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn or(mut self, other: impl Into<Self>) -> Self {
        let other = other.into();
        self.rules.extend(other.rules);
        self.except.extend(other.except);
        self
    }

    /// Covers the same weights without these keys of the module: exclusion wins.
    #[must_use]
    pub fn exclude(mut self, select: impl Into<Select>) -> Self {
        self.except.push(select.into());
        self
    }

    /// The keys that are covered.
    ///
    /// # Errors
    ///
    /// An invalid pattern, a rule that covers nothing.
    pub(super) fn resolve<'e>(&self, entries: &'e [Entry<'_>]) -> Result<HashSet<&'e str>> {
        self.except.iter().try_for_each(Select::check)?;
        let mut covered = HashSet::new();
        for rule in &self.rules {
            covered.extend(rule.resolve(entries)?);
        }
        covered.retain(|key| !self.except.iter().any(|select| select.covers(key)));
        Ok(covered)
    }

    /// Whether a key is excluded on purpose.
    pub(super) fn excludes(&self, key: &str) -> bool {
        let by_rule =
            |rule: &TransposeRule| matches!(rule, TransposeRule::Keys(keys) if keys.excludes(key));
        let mut except = self.except.iter();
        except.any(|select| select.covers(key)) || self.rules.iter().any(by_rule)
    }
}

impl TransposeRule {
    fn resolve<'e>(&self, entries: &'e [Entry<'_>]) -> Result<Vec<&'e str>> {
        let is_of = |entry: &Entry<'_>| match self {
            Self::Kind(kind) => entry.owner.kind() == kind,
            Self::Type(id, _) => entry.owner.id().parts().0 == *id,
            Self::Keys(_) => false,
        };
        let name = match self {
            Self::Keys(select) => return select.resolve(entries.iter().map(|e| e.key.as_str())),
            Self::Kind(kind) => kind.as_str(),
            Self::Type(_, name) => name,
        };
        let weights = || entries.iter().filter(|entry| entry.is_weight());
        let found: Vec<_> = weights().filter(|entry| is_of(entry)).collect();
        if found.is_empty() {
            return Err(ModuleError::NothingSelected {
                selection: format!("weights of {name}"),
                suggestion: suggest(name, weights().map(|entry| entry.owner.kind())),
                names: Vec::new(),
            }
            .into());
        }
        Ok(found.into_iter().map(|entry| entry.key.as_str()).collect())
    }
}

impl Entry<'_> {
    /// Whether it is a parameter of two dimensions.
    pub(super) fn is_weight(&self) -> bool {
        matches!(self.tensor, StateTensor::Parameter(parameter) if parameter.shape().len() == 2)
    }
}

impl From<TransposeRule> for Transpose {
    fn from(rule: TransposeRule) -> Self {
        Self {
            rules: vec![rule],
            except: Vec::new(),
        }
    }
}

/// Keys of the module.
impl<T: Into<Select>> From<T> for Transpose {
    fn from(select: T) -> Self {
        Self {
            rules: vec![TransposeRule::Keys(select.into())],
            except: Vec::new(),
        }
    }
}
