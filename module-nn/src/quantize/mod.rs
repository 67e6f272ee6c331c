//! Quantization: storing weights in fewer bits. Only the storage of a weight changes.
//!
//! [`quantize`](quantize()) packs the weights of the selected [`Linear`](crate::Linear) layers, and [`dequantize`] unpacks
//! them. A packed weight keeps its path. It is not trained, gradients pass through it to the input, and operations that
//! cannot compute with it return an error ([`DTypeError::Packed`](crate::DTypeError::Packed)). Saving writes codes and
//! scales as plain tensors ([`StateDict::split_packed`](crate::StateDict::split_packed)), and loading joins them, into a
//! quantized model or a plain one.
//!
//! Products with a packed weight read fewer bytes; those of `Int8Dynamic` also compute with integers.
//!
//! # Example
//!
//! ```
//! use module_nn::prelude::*;
//! use module_nn::Tolerance;
//! use module_nn::quantize::{Scheme, dequantize, quantize};
//!
//! let net = Sequential::new().push(Linear::new(64, 32)?).push(ReLU::new()).push(Linear::new(32, 8)?);
//! let x = Tensor::randn([5, 64], DType::F32)?;
//! let before = net.call(x.clone())?;
//! let report = quantize(&net, Select::all(), Scheme::Int8)?;
//! assert_eq!(report.quantized, ["0.weight", "2.weight"]);
//! assert!(report.bytes_after < report.bytes_before / 3);
//! assert!(net.call(x.clone())?.allclose(&before, Tolerance::new().atol(0.02))?);
//! assert_eq!(dequantize(&net, Select::all())?, ["0.weight", "2.weight"]);
//! # Ok::<(), Error>(())
//! ```

mod report;
mod scheme;

use std::collections::HashMap;

use module_core::{Error, ModuleError, ModuleExt, Parameter, Result, Select, TensorId, Walk};

pub use report::QuantizeReport;
pub use scheme::Scheme;

/// Packs the weights of the [`Linear`](crate::Linear) layers among the selected parameters; the others are unchanged and
/// listed in the report. Attention's output projection is such a layer too.
///
/// # Errors
///
/// A selection that matches nothing, or no weight of such a layer: the error names the kinds that it matches. A weight that
/// is tied to a layer of another kind, such as `Embedding`; one that the scheme cannot pack, or that is already packed.
/// Then nothing is changed.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
/// use module_nn::quantize::{Scheme, quantize};
///
/// let net = Sequential::new().push(Linear::new(64, 32)?).push(ReLU::new());
/// let report = quantize(&net, "0", Scheme::Int4 { group_size: 32 })?;
/// assert_eq!(report.quantized, ["0.weight"]);
/// # Ok::<(), Error>(())
/// ```
pub fn quantize<M: ModuleExt + ?Sized>(
    model: &M,
    select: impl Into<Select>,
    scheme: Scheme,
) -> Result<QuantizeReport> {
    of_owners(&Owner::all(model), &select.into(), scheme)
}

/// Unpacks the packed weights among the selected parameters, and returns their paths. They get the values that the codes
/// represent.
///
/// # Errors
///
/// A selection that matches nothing packed; not enough memory.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
/// use module_nn::quantize::{Scheme, dequantize, quantize};
///
/// let layer = Linear::new(64, 32)?;
/// let _report = quantize(&layer, Select::all(), Scheme::Int8)?;
/// assert_eq!(dequantize(&layer, Select::all())?, ["weight"]);
/// assert!(!layer.weight().tensor().is_packed());
/// # Ok::<(), Error>(())
/// ```
pub fn dequantize<M: ModuleExt + ?Sized>(
    model: &M,
    select: impl Into<Select>,
) -> Result<Vec<String>> {
    unpack(&Owner::all(model), &select.into())
}

/// A parameter under one of its paths.
struct Owner<'a> {
    path: String,
    /// The type of its module.
    kind: &'static str,
    /// Whether it is the weight of a layer that can compute with packed weights.
    takes_packed: bool,
    parameter: &'a Parameter,
}

/// The layers whose weight can be packed.
const KINDS: [&str; 2] = ["Linear", "NonDynamicallyQuantizableLinear"];

impl<'a> Owner<'a> {
    /// Every parameter under every path.
    fn all<M: ModuleExt + ?Sized>(model: &'a M) -> Vec<Self> {
        let every_path = || Walk::new().remove_duplicate(false);
        let modules = model.named_modules_with(every_path());
        let kinds: HashMap<String, &'static str> = modules
            .map(|(path, module)| (path, module.kind()))
            .collect();
        let parameters = model.named_parameters_with(every_path());
        let owner = |(path, parameter): (String, &'a Parameter)| {
            let (module, name) = path.rsplit_once('.').unwrap_or(("", &path));
            let kind = kinds.get(module).copied().unwrap_or("module");
            Self {
                kind,
                takes_packed: KINDS.contains(&kind) && name == "weight",
                path,
                parameter,
            }
        };
        parameters.map(owner).collect()
    }
}

const NAME: &str = "quantize";

/// All weights are packed before the first is set.
fn of_owners(owners: &[Owner<'_>], select: &Select, scheme: Scheme) -> Result<QuantizeReport> {
    select.resolve(owners.iter().map(|owner| owner.path.as_str()))?;
    let (mut report, mut packed) = (QuantizeReport::default(), Vec::new());
    let mut seen: Vec<TensorId> = Vec::new();
    for owner in owners.iter().filter(|owner| select.covers(&owner.path)) {
        if !owner.takes_packed {
            report.skipped.push((owner.path.clone(), owner.kind));
            continue;
        }
        let id = owner.parameter.id();
        let other = |other: &&Owner<'_>| other.parameter.id() == id && !other.takes_packed;
        if let Some(other) = owners.iter().find(other) {
            let (path, kind) = (&other.path, other.kind);
            let problem = format!(
                "is tied to `{path}` of a {kind}, which cannot compute with packed elements: leave it out of the \
                 selection, or untie the two"
            );
            return Err(Error::argument(NAME, "parameter", &owner.path, problem));
        }
        report.quantized.push(owner.path.clone());
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let value = owner.parameter.detach();
        let after = scheme.pack(&value).map_err(|error| {
            let problem = error.to_string();
            Error::argument(NAME, "parameter", &owner.path, problem)
        })?;
        report.bytes_before += value.nbytes();
        report.bytes_after += after.nbytes();
        packed.push((owner.parameter, after));
    }
    if packed.is_empty() {
        return Err(nothing(select, &report.skipped));
    }
    for (parameter, value) in packed {
        // The value has the shape, dtype and device of the one that it was packed from.
        parameter.set_packed(value)?;
    }
    Ok(report)
}

fn unpack(owners: &[Owner<'_>], select: &Select) -> Result<Vec<String>> {
    select.resolve(owners.iter().map(|owner| owner.path.as_str()))?;
    let is_packed =
        |owner: &&Owner<'_>| select.covers(&owner.path) && owner.parameter.detach().is_packed();
    let chosen: Vec<&Owner<'_>> = owners.iter().filter(is_packed).collect();
    if chosen.is_empty() {
        return Err(nothing_selected(select, Some("none of them is packed")));
    }
    for owner in &chosen {
        owner.parameter.unpack()?;
    }
    Ok(chosen.iter().map(|owner| owner.path.clone()).collect())
}

/// The error for a selection without anything to pack.
fn nothing(select: &Select, skipped: &[(String, &'static str)]) -> Error {
    let Some((path, kind)) = skipped.first() else {
        return nothing_selected(select, None);
    };
    let problem = format!(
        "has no weight of a Linear layer; it matches {} other parameter(s), the first is `{path}` of a {kind}, \
         which cannot compute with packed elements",
        skipped.len()
    );
    Error::argument(NAME, "select", select, problem)
}

fn nothing_selected(select: &Select, suggestion: Option<&str>) -> Error {
    let (selection, suggestion) = (select.to_string(), suggestion.map(str::to_owned));
    ModuleError::NothingSelected {
        selection,
        suggestion,
        names: Vec::new(),
    }
    .into()
}
