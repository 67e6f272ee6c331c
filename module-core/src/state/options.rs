use super::{Remap, Transpose};
use crate::Select;

/// How a state dict is loaded.
///
/// # Example
///
/// ```
/// use module_core::{LoadOptions, Remap};
///
/// // A backbone without its head, from a checkpoint of `DataParallel`.
/// let options = LoadOptions::new().remap(Remap::new().prefix("module", "")).select("backbone");
/// // Whatever fits.
/// let lenient = LoadOptions::new().strict(false).allow_mismatch(true);
/// ```
#[derive(Clone, Debug)]
pub struct LoadOptions {
    pub(super) strict: bool,
    pub(super) allow_mismatch: bool,
    pub(super) assign_dtype: bool,
    pub(super) select: Option<Select>,
    pub(super) unpack: Option<Select>,
    pub(super) transpose: Option<Transpose>,
    pub(super) ignore: Option<Select>,
    pub(super) ignore_if_present: Option<Select>,
    pub(super) remap: Option<Remap>,
    #[cfg_attr(not(feature = "fs"), allow(dead_code))]
    pub(crate) entry: Option<String>,
}

impl LoadOptions {
    /// Strict: every key of the module and of the state dict must be in the other.
    pub fn new() -> Self {
        Self {
            strict: true,
            allow_mismatch: false,
            assign_dtype: false,
            select: None,
            unpack: None,
            transpose: None,
            ignore: None,
            ignore_if_present: None,
            remap: None,
            entry: None,
        }
    }

    /// Whether missing and unexpected keys are errors rather than part of the report.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Whether keys with a different shape are skipped rather than errors.
    #[must_use]
    pub fn allow_mismatch(self, allow_mismatch: bool) -> Self {
        Self {
            allow_mismatch,
            ..self
        }
    }

    /// Whether parameters and buffers take the dtype of the state dict instead of casting to their own.
    ///
    /// A parameter accepts only a floating-point dtype, and loses its gradient with the old one; a
    /// [`keep_dtype`](crate::Buffer::keep_dtype) buffer keeps its dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{DType, LoadOptions, ModuleExt, Parameter, StateDict, Tensor};
    ///
    /// let model = vec![Parameter::new(Tensor::from([1.0_f32]))?];
    /// let state = StateDict::from_iter([("0", Tensor::from([2.0_f64]))]);
    /// let _ = model.load_state_dict(&state)?;
    /// assert_eq!(model[0].dtype(), DType::F32);
    /// let _ = model.load_state_dict_with(&state, LoadOptions::new().assign_dtype(true))?;
    /// assert_eq!(model[0].dtype(), DType::F64);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn assign_dtype(self, assign_dtype: bool) -> Self {
        Self {
            assign_dtype,
            ..self
        }
    }

    /// Which of the module's keys are loaded, by their names in the module. The others keep their
    /// values, and their keys in the state dict are not unexpected; the report lists both.
    #[must_use]
    pub fn select(self, select: impl Into<Select>) -> Self {
        Self {
            select: Some(select.into()),
            ..self
        }
    }

    /// Which of the module's keys get unpacked elements where the state dict has packed ones, as in GGUF files and
    /// quantized models; by default those stay packed, and are not trained. Only linear layers and matrix products compute
    /// with packed weights: unpack those of other layers, such as embeddings.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{BlockFormat, LoadOptions, ModuleExt, Parameter, StateDict, Tensor};
    ///
    /// let model = vec![Parameter::new(Tensor::zeros([1, 32], ())?)?];
    /// let packed = BlockFormat::Q8_0.quantize(&Tensor::ones([1, 32], ())?)?;
    /// let state = StateDict::from_iter([("0", packed)]);
    /// let _ = model.load_state_dict(&state)?;
    /// assert!(model[0].detach().is_packed());
    /// let _ = model.load_state_dict_with(&state, LoadOptions::new().unpack("**"))?;
    /// assert!(!model[0].detach().is_packed());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn unpack(self, select: impl Into<Select>) -> Self {
        Self {
            unpack: Some(select.into()),
            ..self
        }
    }

    /// Which weights the state dict holds transposed, `(in, out)`, as GPT-2's `Conv1D` does: those of a module type
    /// ([`Transpose::of_kind`]), or keys of the module. Tensors that are not two-dimensional are loaded as they are.
    ///
    /// A selection of keys that misses square weights, whose shapes cannot tell, while it covers all others of their module
    /// type, is an error of the load.
    #[must_use]
    pub fn transpose(self, weights: impl Into<Transpose>) -> Self {
        Self {
            transpose: Some(weights.into()),
            ..self
        }
    }

    /// Which keys of the state dict, after [`remap`](Self::remap), are ignored because the module does not have them; the
    /// report lists them. A pattern that covers no such key is an error, with the nearest one.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{LoadOptions, ModuleExt, Parameter, StateDict, Tensor};
    ///
    /// let model = vec![Parameter::new(Tensor::from(1.0_f32))?];
    /// let keys = ["0", "attn.masked_bias"];
    /// let state = StateDict::from_iter(keys.map(|key| (key, Tensor::from(2.0_f32))));
    /// let options = LoadOptions::new().ignore("**.masked_bias");
    /// let report = model.load_state_dict_with(&state, options)?;
    /// assert_eq!(report.to_string(), "1 of 1 keys loaded\n\tignored: \"attn.masked_bias\"");
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn ignore(self, select: impl Into<Select>) -> Self {
        Self {
            ignore: Some(select.into()),
            ..self
        }
    }

    /// [`ignore`](Self::ignore) for keys that only some of the files have, such as buffers that older versions saved: a
    /// pattern that covers nothing is not an error. One that covers a key of the module, and none to ignore, is.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{LoadOptions, ModuleExt, Parameter, StateDict, Tensor};
    ///
    /// let model = vec![Parameter::new(Tensor::from(1.0_f32))?];
    /// let older = StateDict::from_iter(["0", "position_ids"].map(|key| (key, Tensor::from(2.0_f32))));
    /// for state in [model.state_dict()?, older] {
    ///     let options = LoadOptions::new().ignore_if_present("position_ids");
    ///     let report = model.load_state_dict_with(&state, options)?;
    ///     assert_eq!(report.loaded, ["0"]);
    /// }
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn ignore_if_present(self, select: impl Into<Select>) -> Self {
        Self {
            ignore_if_present: Some(select.into()),
            ..self
        }
    }

    /// Translates the keys of the state dict to the module's; everything else, including errors and the report, uses the
    /// translated keys.
    #[must_use]
    pub fn remap(self, remap: Remap) -> Self {
        Self {
            remap: Some(remap),
            ..self
        }
    }

    /// The entry, as keys joined by dots, of the state dict in a file that nests tensors: `model` in
    /// `{"model": …, "epoch": …}`.
    #[must_use]
    pub fn entry(self, entry: impl Into<String>) -> Self {
        Self {
            entry: Some(entry.into()),
            ..self
        }
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self::new()
    }
}
