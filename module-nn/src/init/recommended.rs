//! Initializers that usually suit a layer.

use std::any::Any;

use module_core::{DType, Generator, Init, Module, ModuleExt, Result, Shape, Tensor, Walk};

use crate::layers::{Embedding, EmbeddingBag};

use super::{
    Blocks, FanMode, KaimingNormal, KaimingUniform, Nonlinearity, Normal, Orthogonal,
    XavierUniform, apply, ones, zeros,
};

/// Gives every parameter of a tree, except loaded ones, the initializer that usually suits its layer and the nonlinearity
/// of the network.
///
/// | layer | weights | biases |
/// |---|---|---|
/// | convolution, before ReLU and similar functions | Kaiming, normal, by the outputs | 0 |
/// | linear or bilinear, before the same | Kaiming, uniform, by the inputs | 0 |
/// | both, before tanh, sigmoid or nothing | Xavier, uniform, with the gain | 0 |
/// | both, before SELU | normal with standard deviation `1/√fan_in` | 0 |
/// | attention | Xavier, uniform, for each projection | 0 |
/// | LSTM, GRU, RNN | Xavier for the input, orthogonal for the hidden state, separately for each gate | 0; for the forget gate of an LSTM [`forget_bias`](Self::forget_bias) |
/// | embedding | N(0, 1), the padding row 0 | |
/// | normalization | 1 | 0 |
/// | last layer of a residual branch, see [`residual`](Self::residual) | as above, times a small gain | 0 |
///
/// Layers are recognized by PyTorch's names. Parameters of other modules keep their initializer and are listed in the
/// report.
///
/// # Example
///
/// ```
/// use module_nn::init::{Nonlinearity, Recommended};
/// use module_nn::prelude::*;
///
/// let net = Sequential::new().push(Conv2d::new(3, 8, 3)?).push(BatchNorm2d::new(8)?).push(ReLU::new());
/// let report = Recommended::new(Nonlinearity::Relu).apply(&net)?;
/// assert_eq!(report.set, ["0.weight", "0.bias", "1.weight", "1.bias"]);
///
/// // Memory that is open at the start, and a residual branch that starts small.
/// #[derive(Module)]
/// struct Net {
///     memory: LSTM,
///     head: Linear,
/// }
///
/// let model = Net { memory: LSTM::new(2, 1)?, head: Linear::new(1, 1)? };
/// let recommended = Recommended::new(Nonlinearity::Tanh).forget_bias(1.0).residual(["head"], 0.0);
/// let _report = recommended.apply(&model)?;
/// assert_eq!(model.get_parameter("memory.bias_ih_l0")?.tensor().to_vec::<f32>()?, [0.0, 1.0, 0.0, 0.0]);
/// assert_eq!(model.head.weight().tensor().to_vec::<f32>()?, [0.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recommended {
    nonlinearity: Nonlinearity,
    forget_bias: f64,
    residual: Vec<String>,
    residual_gain: f64,
    overwrite_loaded: bool,
}

/// The changes that [`Recommended::apply`] made, by the paths of the parameters.
///
/// # Example
///
/// ```
/// use module_nn::init::{InitReport, Nonlinearity, Recommended};
/// use module_nn::prelude::*;
///
/// let model = [Linear::new(2, 2)?, Linear::new(2, 1)?];
/// let loaded: StateDict = Linear::new(2, 2)?.state_dict()?;
/// model[0].load_state_dict(&loaded)?;
/// let recommended = Recommended::new(Nonlinearity::Relu);
/// let report: InitReport = recommended.apply(&model)?;
/// assert_eq!(report.set, ["1.weight", "1.bias"]);
/// assert_eq!(report.loaded, ["0.weight", "0.bias"]);
/// // Once more, with what was loaded.
/// let report = recommended.overwrite_loaded(true).apply(&model)?;
/// assert!(report.loaded.is_empty() && report.unknown.is_empty());
/// # Ok::<(), Error>(())
/// ```
#[must_use = "the report tells which parameters keep their values"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitReport {
    /// Redrawn, by an initializer that they now own.
    pub set: Vec<String>,
    /// Kept because they were loaded.
    pub loaded: Vec<String>,
    /// Kept because their module is unknown.
    pub unknown: Vec<String>,
}

impl Recommended {
    /// For a network whose layers precede this nonlinearity.
    pub fn new(nonlinearity: Nonlinearity) -> Self {
        Self {
            nonlinearity,
            forget_bias: 0.0,
            residual: Vec::new(),
            residual_gain: 0.1,
            overwrite_loaded: false,
        }
    }

    /// The sum of the two forget-gate biases of an LSTM; 1 keeps the memory open at the start.
    #[must_use]
    pub fn forget_bias(self, forget_bias: f64) -> Self {
        Self {
            forget_bias,
            ..self
        }
    }

    /// The modules, by the ends of their paths (`conv3`, `mlp.out`), that are the last of a residual branch, and the factor
    /// for their weights, so that the network starts close to the identity.
    #[must_use]
    pub fn residual<S: Into<String>>(self, ends: impl IntoIterator<Item = S>, gain: f64) -> Self {
        Self {
            residual: ends.into_iter().map(Into::into).collect(),
            residual_gain: gain,
            ..self
        }
    }

    /// Whether loaded parameters are redrawn too, which loses what they have learned.
    #[must_use]
    pub fn overwrite_loaded(self, overwrite_loaded: bool) -> Self {
        Self {
            overwrite_loaded,
            ..self
        }
    }

    /// Draws the parameters of a tree, from the default generator; children first.
    ///
    /// # Errors
    ///
    /// An initializer that does not support a parameter's shape. The parameters before it have then been redrawn.
    pub fn apply(&self, root: &(impl Module + ?Sized)) -> Result<InitReport> {
        let mut report = InitReport::default();
        apply(root, |path, module| {
            for (name, parameter) in module.named_parameters_with(Walk::new().recurse(false)) {
                let full = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                if parameter.is_loaded() && !self.overwrite_loaded {
                    report.loaded.push(full);
                    continue;
                }
                match self.choose(path, module, &name) {
                    Some(init) => {
                        parameter.initialize(init)?;
                        report.set.push(full);
                    }
                    None => report.unknown.push(full),
                }
            }
            Ok(())
        })?;
        Ok(report)
    }

    /// The initializer of one parameter of a module.
    fn choose(&self, path: &str, module: &dyn Module, name: &str) -> Option<Chosen> {
        let kind = module.kind();
        let gain = match self.is_residual(path) {
            true => self.residual_gain,
            false => 1.0,
        };
        let is_bias = name.contains("bias");
        if kind.contains("Norm") {
            return Some(match is_bias {
                true => Chosen::new(zeros()),
                false => Chosen::new(ones()),
            });
        }
        if let "LSTM" | "LSTMCell" | "GRU" | "GRUCell" | "RNN" | "RNNCell" = kind {
            return Some(self.of_recurrent(kind, name));
        }
        if kind == "MultiheadAttention" {
            return Some(match name {
                "in_proj_weight" => Chosen::new(Blocks::of(3, XavierUniform::default())),
                _ if is_bias => Chosen::new(zeros()),
                _ => Chosen::new(XavierUniform::default()),
            });
        }
        if kind == "NonDynamicallyQuantizableLinear" && !is_bias {
            return Some(Chosen::new(XavierUniform::default()));
        }
        if kind.starts_with("Embedding") {
            let chosen = Chosen::new(Normal {
                mean: 0.0,
                std: 1.0,
            });
            let padding = padding_idx(module);
            return Some(Chosen { padding, ..chosen });
        }
        let convolution = kind.starts_with("Conv");
        if !(convolution
            || matches!(
                kind,
                "Linear" | "Bilinear" | "NonDynamicallyQuantizableLinear"
            ))
        {
            return None;
        }
        if is_bias {
            return Some(Chosen::new(zeros()));
        }
        let chosen = match self.nonlinearity {
            Nonlinearity::Relu | Nonlinearity::LeakyRelu(_) if convolution => {
                Chosen::new(KaimingNormal::of(self.nonlinearity).mode(FanMode::FanOut))
            }
            Nonlinearity::Relu | Nonlinearity::LeakyRelu(_) => {
                Chosen::new(KaimingUniform::of(self.nonlinearity))
            }
            Nonlinearity::Selu => Chosen::new(KaimingNormal::of(Nonlinearity::Linear)),
            _ => Chosen::new(XavierUniform::new(self.nonlinearity.gain())),
        };
        Some(Chosen { gain, ..chosen })
    }

    /// Whether a path ends with one of these names, as whole steps.
    fn is_residual(&self, path: &str) -> bool {
        let ends = |end: &String| {
            path.strip_suffix(end.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.residual.iter().any(ends)
    }

    fn of_recurrent(&self, kind: &str, name: &str) -> Chosen {
        let lstm = kind.starts_with("LSTM");
        let gates = match kind {
            _ if lstm => 4,
            "GRU" | "GRUCell" => 3,
            _ => 1,
        };
        if name.starts_with("weight_hh") {
            return Chosen::new(Blocks::of(gates, Orthogonal::default()));
        }
        if name.starts_with("weight_ih") {
            return Chosen::new(Blocks::of(gates, XavierUniform::default()));
        }
        if name.starts_with("weight") {
            return Chosen::new(XavierUniform::default());
        }
        // Both biases are added; the second gate of i, f, g, o is the forget gate.
        let forget = super::Constant(self.forget_bias);
        match lstm && name.starts_with("bias_ih") {
            true => Chosen::new(Blocks::of(gates, zeros()).with(1, forget)),
            false => Chosen::new(zeros()),
        }
    }
}

/// An initializer and a modification of its draws.
struct Chosen {
    init: Box<dyn Init>,
    gain: f64,
    padding: Option<usize>,
}

impl Chosen {
    fn new(init: impl Init) -> Self {
        Self {
            init: Box::new(init),
            gain: 1.0,
            padding: None,
        }
    }
}

impl Init for Chosen {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let mut drawn = self.init.init(shape, dtype, generator)?;
        if self.gain != 1.0 {
            drawn = drawn.mul(self.gain)?;
        }
        let Some(row) = self.padding else {
            return Ok(drawn);
        };
        let row = Tensor::from(row as i64).expand([1, shape.last().copied().unwrap_or(1)])?;
        drawn.scatter(0, &row, 0.0)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        self.init.skip(shape, dtype, generator)
    }
}

/// The padding row of an embedding, which is 0.
fn padding_idx(module: &dyn Module) -> Option<usize> {
    let module: &dyn Any = module;
    let table = module.downcast_ref().and_then(Embedding::padding_idx);
    table.or_else(|| module.downcast_ref().and_then(EmbeddingBag::padding_idx))
}
