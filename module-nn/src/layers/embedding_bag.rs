use std::fmt;

use module_core::module::Number;
use module_core::{Forward, Integers, Module, Parameter, Result, Tensor};

use super::embedding::{TableInit, check_table, norm_repr, pretrained, renormalize};
use super::parts::{part, sizes, tie};
use crate::config::{Build, config};
use crate::functional::{self, BagMode, EmbeddingBagOptions};

/// A table of learned vectors, looked up in bags; each bag gives the sum, the mean or the maximum of its rows. An empty bag
/// gives zeros.
///
/// # Shapes
///
/// Called with indices `[bags, length]`, with a pair of a list of indices and the offsets `[bags]` at which bags start, or
/// with a triple of indices, optional offsets, and optional weights of the indices' shape; to `[bags, embedding_dim]`.
///
/// # State dict
///
/// `weight` `[num_embeddings, embedding_dim]`.
///
/// # Initialization
///
/// Those of [`Embedding`](super::Embedding).
///
/// # Errors
///
/// Those of [`embedding_bag`](crate::functional::embedding_bag).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let bags = EmbeddingBag::new(10, 3)?;
/// let x = bags.call((Tensor::from([1_i64, 2, 4, 5]), Tensor::from([0_i64, 3])))?;
/// assert_eq!(x.shape().to_string(), "[2, 3]");
/// let mut twin = EmbeddingBag::new(10, 3)?;
/// twin.tie_weight(bags.weight())?; // The same rows.
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct EmbeddingBag {
    #[module(skip)]
    config: EmbeddingBagConfig,
    #[module(skip)]
    padding_idx: Option<usize>,
    weight: Parameter,
}

config! {
    /// The arguments of [`EmbeddingBag`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let rows = Tensor::from([[1.0_f32, 0.0], [0.0, 2.0], [5.0, 5.0]]);
    /// let config = EmbeddingBagConfig::new(3, 2)
    ///     .mode(BagMode::Sum)
    ///     .padding_idx(2)
    ///     .include_last_offset(true);
    /// let bags = config.from_pretrained_trainable(rows.clone())?;
    /// // Two bags: rows 0, 1 and 1, and row 2, which does not count.
    /// let pair = (Tensor::from([0_i64, 1, 1, 2]), Tensor::from([0_i64, 3, 4]));
    /// assert_eq!(bags.call(pair)?.to_vec::<f32>()?, [1.0, 4.0, 0.0, 0.0]);
    /// let fixed = config.from_pretrained(rows)?;
    /// assert_eq!(fixed.num_trainable(), 0);
    ///
    /// // Rows are at most 1 long, and their gradients are divided by the number of look-ups.
    /// let config = EmbeddingBagConfig::new(1, 2).max_norm(1.0).norm_type(2.0).scale_grad_by_freq(true);
    /// let bags = config.from_parts(Parameter::new(Tensor::from([[3.0_f32, 4.0]]))?)?;
    /// let y = bags.call(Tensor::from([[0_i64, 0]]))?;
    /// assert!((y.norm(2.0, ..)?.item::<f32>()? - 1.0).abs() < 1e-6);
    /// y.sum(..)?.backward()?;
    /// assert_eq!(bags.weight().grad().unwrap().to_vec::<f32>()?, [0.5, 0.5]);
    /// // PyTorch's sparse gradients do not exist here.
    /// assert!(config.sparse(true).build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct EmbeddingBagConfig => EmbeddingBag {
        required {
            /// The number of rows.
            num_embeddings: usize,
            /// The size of each row.
            embedding_dim: usize,
        }
        optional {
            /// The maximum norm of a row that is looked up.
            max_norm: Option<Number> = None,
            /// The `p` of that norm.
            norm_type: Number = 2.0,
            /// Whether the gradient of a row is divided by the number of its look-ups in the call.
            scale_grad_by_freq: bool = false,
            /// How the rows of a bag are reduced.
            mode: BagMode = BagMode::Mean,
            /// Always false: gradients are dense here.
            sparse: bool = false,
            /// Whether the last offset is the end of the last bag.
            include_last_offset: bool = false,
            /// A row that does not count and gets no gradient; a negative index counts from the end.
            padding_idx: Option<isize> = None,
        }
    }
}

impl Build for EmbeddingBagConfig {
    type Output = EmbeddingBag;

    /// A table with newly initialized rows.
    ///
    /// # Errors
    ///
    /// A size of 0, a padding row that is out of range, `sparse`, sizes that exceed memory.
    fn build(&self) -> Result<EmbeddingBag> {
        let padding_idx = self.check()?;
        let shape = [self.num_embeddings, self.embedding_dim];
        let weight = Parameter::with_init(shape, TableInit { padding_idx })?;
        Ok(self.with_weight(padding_idx, weight))
    }
}

impl EmbeddingBagConfig {
    /// A table that uses this parameter: nothing is drawn.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), and a table of another shape.
    pub fn from_parts(&self, weight: Parameter) -> Result<EmbeddingBag> {
        let padding_idx = self.check()?;
        let shape = [self.num_embeddings, self.embedding_dim];
        let weight = part("EmbeddingBag", "weight", weight, shape)?;
        Ok(self.with_weight(padding_idx, weight))
    }

    /// A table with these rows, which is frozen: PyTorch's `EmbeddingBag.from_pretrained`.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), and a table of another shape or a dtype that is not floating-point.
    pub fn from_pretrained(&self, embeddings: Tensor) -> Result<EmbeddingBag> {
        self.with_table(embeddings, true)
    }

    /// A table that starts with these rows and is trained: `EmbeddingBag.from_pretrained(…, freeze=False)`.
    ///
    /// # Errors
    ///
    /// Those of [`from_pretrained`](Self::from_pretrained).
    pub fn from_pretrained_trainable(&self, embeddings: Tensor) -> Result<EmbeddingBag> {
        self.with_table(embeddings, false)
    }

    fn with_table(&self, embeddings: Tensor, freeze: bool) -> Result<EmbeddingBag> {
        let padding_idx = self.check()?;
        let weight = pretrained(
            [self.num_embeddings, self.embedding_dim],
            embeddings,
            freeze,
        )?;
        Ok(self.with_weight(padding_idx, weight))
    }

    fn with_weight(&self, padding_idx: Option<usize>, weight: Parameter) -> EmbeddingBag {
        EmbeddingBag {
            config: self.clone(),
            padding_idx,
            weight,
        }
    }

    fn check(&self) -> Result<Option<usize>> {
        check_table(
            "EmbeddingBag",
            [self.num_embeddings, self.embedding_dim],
            self.padding_idx,
            self.sparse,
        )
    }
}

impl EmbeddingBag {
    /// The padding row.
    pub(crate) fn padding_idx(&self) -> Option<usize> {
        self.padding_idx
    }

    /// The table, `[num_embeddings, embedding_dim]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// A table that uses this parameter, with its sizes: nothing is drawn.
    ///
    /// # Errors
    ///
    /// A table that is not two-dimensional, or a size of 0.
    pub fn from_parts(weight: Parameter) -> Result<Self> {
        let [count, width] = sizes("EmbeddingBag", &weight)?;
        EmbeddingBagConfig::new(count, width).from_parts(weight)
    }

    /// Ties its table to another one.
    ///
    /// # Errors
    ///
    /// A table of another shape.
    pub fn tie_weight(&mut self, weight: &Parameter) -> Result<()> {
        tie(&mut self.weight, weight)
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        write!(f, "{}, {}", config.num_embeddings, config.embedding_dim)?;
        let scaled = config.scale_grad_by_freq;
        norm_repr(f, config.max_norm, config.norm_type, scaled)?;
        let mode = match config.mode {
            BagMode::Sum => "sum",
            BagMode::Mean => "mean",
            BagMode::Max => "max",
        };
        write!(f, ", mode='{mode}'")?;
        match self.padding_idx {
            Some(row) => write!(f, ", padding_idx={row}"),
            None => Ok(()),
        }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> EmbeddingBagConfig {
        self.config.clone()
    }
}

impl Forward for EmbeddingBag {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.forward((input, None, None))
    }
}

impl Forward<(Tensor, Tensor)> for EmbeddingBag {
    type Output = Tensor;

    fn forward(&self, (input, offsets): (Tensor, Tensor)) -> Result<Tensor> {
        self.forward((input, Some(offsets), None))
    }
}

impl Forward<(Tensor, Option<Tensor>, Option<Tensor>)> for EmbeddingBag {
    type Output = Tensor;

    fn forward(
        &self,
        (input, offsets, weights): (Tensor, Option<Tensor>, Option<Tensor>),
    ) -> Result<Tensor> {
        let config = &self.config;
        let input = input.to_integers("embedding_bag", Integers::Indices)?;
        renormalize(&self.weight, &input, config.max_norm, config.norm_type)?;
        let options = EmbeddingBagOptions::new()
            .offsets(offsets.as_ref())
            .mode(config.mode)
            .per_sample_weights(weights.as_ref())
            .include_last_offset(config.include_last_offset)
            .padding_idx(self.padding_idx)
            .scale_grad_by_freq(config.scale_grad_by_freq);
        functional::embedding_bag(&input, &self.weight.tensor(), options)
    }
}
