use std::fmt;

use module_core::module::{Number, Repr};
use module_core::{
    DType, Error, Forward, Generator, Init, Integers, Module, Parameter, Result, Shape, Tensor,
    no_grad,
};

use super::parts::{part, sizes, tie};
use crate::config::{Build, check_positive, config};
use crate::functional::by_frequency;
use crate::init::Normal;
use crate::lora::{Adaptable, Adapters};

/// A table of learned vectors, looked up by integer index.
///
/// The row `padding_idx` is read like any other, but gets no gradient. With `max_norm`, every row that is looked up is
/// first scaled down to that norm, in the parameter itself, as in PyTorch.
///
/// # Shapes
///
/// Indices `[…]`, `I64` or `I32`, to `[…, embedding_dim]`.
///
/// # State dict
///
/// `weight` `[num_embeddings, embedding_dim]`.
///
/// # Initialization
///
/// Normal with mean 0 and standard deviation 1 for all rows, and then 0 for the padding row: PyTorch's, bit for bit.
///
/// # Errors
///
/// Indices that are not integers, or out of range.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let table = EmbeddingConfig::new(10, 3).padding_idx(0).build()?;
/// let x = table.call(Tensor::from([[1_i64, 0]]))?;
/// assert_eq!(x.shape().to_string(), "[1, 2, 3]");
/// assert_eq!(x.to_vec::<f32>()?[3..], [0.0; 3]);
///
/// // A second table with the same rows.
/// let mut twin = Embedding::new(10, 3)?;
/// twin.tie_weight(table.weight())?;
/// assert!(twin.weight().tensor().equal(&table.weight().tensor())?);
///
/// // Rows that exist already.
/// let table = Embedding::from_parts(Parameter::new(Tensor::from([[1.0_f32, 2.0]]))?)?;
/// assert_eq!(table.call(Tensor::from([0_i64]))?.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Embedding {
    #[module(skip)]
    config: EmbeddingConfig,
    #[module(skip)]
    padding_idx: Option<usize>,
    weight: Parameter,
    #[module(flatten)]
    adapters: Adapters,
}

config! {
    /// The arguments of [`Embedding`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let table = EmbeddingConfig::new(1, 2).max_norm(1.0).build()?;
    /// table.weight().set(Tensor::from([[3.0_f32, 4.0]]))?;
    /// let x = table.call(Tensor::from(0_i64))?;
    /// assert!((x.norm(2.0, ..)?.item::<f32>()? - 1.0).abs() < 1e-6);
    ///
    /// // The gradient of a row that is looked up twice is divided by 2.
    /// let config = EmbeddingConfig::new(2, 1).scale_grad_by_freq(true).max_norm(5.0).norm_type(1.0);
    /// let table = config.from_pretrained_trainable(Tensor::from([[1.0_f32], [2.0]]))?;
    /// table.call(Tensor::from([0_i64, 1, 1]))?.sum(..)?.backward()?;
    /// assert_eq!(table.weight().grad().unwrap().to_vec::<f32>()?, [1.0, 1.0]);
    /// // A frozen table; PyTorch's sparse gradients do not exist here.
    /// let table = EmbeddingConfig::new(2, 1).from_pretrained(Tensor::from([[1.0_f32], [2.0]]))?;
    /// assert_eq!(table.num_trainable(), 0);
    /// let error = EmbeddingConfig::new(2, 1).sparse(true).build().unwrap_err();
    /// assert!(error.to_string().contains("sparse"));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct EmbeddingConfig => Embedding {
        required {
            /// The number of rows.
            num_embeddings: usize,
            /// The size of each row.
            embedding_dim: usize,
        }
        optional {
            /// A row without a gradient; a negative one counts from the end.
            padding_idx: Option<isize> = None,
            /// The maximum norm of a row that is looked up.
            max_norm: Option<Number> = None,
            /// The `p` of that norm.
            norm_type: Number = 2.0,
            /// Whether the gradient of a row is divided by the number of its look-ups in the call.
            scale_grad_by_freq: bool = false,
            /// Always false: gradients are dense here.
            sparse: bool = false,
        }
    }
}

impl Build for EmbeddingConfig {
    type Output = Embedding;

    /// A table with newly initialized rows.
    ///
    /// # Errors
    ///
    /// A size of 0, a padding row that is out of range, `sparse`, sizes that exceed memory.
    fn build(&self) -> Result<Embedding> {
        let padding_idx = self.check()?;
        let shape = [self.num_embeddings, self.embedding_dim];
        let weight = Parameter::with_init(shape, TableInit { padding_idx })?;
        Ok(self.with_weight(padding_idx, weight))
    }
}

impl EmbeddingConfig {
    /// A table that uses this parameter: nothing is drawn.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), and a table of another shape.
    pub fn from_parts(&self, weight: Parameter) -> Result<Embedding> {
        let padding_idx = self.check()?;
        let shape = [self.num_embeddings, self.embedding_dim];
        let weight = part("Embedding", "weight", weight, shape)?;
        Ok(self.with_weight(padding_idx, weight))
    }

    /// A table with these rows, which is frozen: PyTorch's `Embedding.from_pretrained`.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), and a table of another shape or a dtype that is not floating-point.
    pub fn from_pretrained(&self, embeddings: Tensor) -> Result<Embedding> {
        self.with_table(embeddings, true)
    }

    /// A table that starts with these rows and is trained: `Embedding.from_pretrained(…, freeze=False)`.
    ///
    /// # Errors
    ///
    /// Those of [`from_pretrained`](Self::from_pretrained).
    pub fn from_pretrained_trainable(&self, embeddings: Tensor) -> Result<Embedding> {
        self.with_table(embeddings, false)
    }

    fn with_table(&self, embeddings: Tensor, freeze: bool) -> Result<Embedding> {
        let padding_idx = self.check()?;
        let weight = pretrained(
            [self.num_embeddings, self.embedding_dim],
            embeddings,
            freeze,
        )?;
        Ok(self.with_weight(padding_idx, weight))
    }

    fn with_weight(&self, padding_idx: Option<usize>, weight: Parameter) -> Embedding {
        Embedding {
            config: self.clone(),
            padding_idx,
            weight,
            adapters: Adapters::new(match self.max_norm {
                None => Adaptable::Embedding,
                Some(_) => Adaptable::Copied,
            }),
        }
    }

    /// The padding row, counted from the start.
    fn check(&self) -> Result<Option<usize>> {
        check_table(
            "Embedding",
            [self.num_embeddings, self.embedding_dim],
            self.padding_idx,
            self.sparse,
        )
    }
}

/// Checks the arguments that tables share; returns the padding row, counted from the start.
pub(super) fn check_table(
    layer: &'static str,
    [count, width]: [usize; 2],
    padding_idx: Option<isize>,
    sparse: bool,
) -> Result<Option<usize>> {
    check_positive(layer, "num_embeddings", count)?;
    check_positive(layer, "embedding_dim", width)?;
    if sparse {
        let problem = "gradients are dense here; leave it false";
        return Err(Error::argument(layer, "sparse", sparse, problem));
    }
    let Some(given) = padding_idx else {
        return Ok(None);
    };
    let row = match usize::try_from(given) {
        Ok(row) => Some(row),
        Err(_) => count.checked_sub(given.unsigned_abs()),
    };
    match row.filter(|&row| row < count) {
        Some(row) => Ok(Some(row)),
        None => {
            let problem = format!("must be within num_embeddings = {count}");
            Err(Error::argument(layer, "padding_idx", given, problem))
        }
    }
}

/// A parameter with the given rows.
pub(super) fn pretrained(shape: [usize; 2], embeddings: Tensor, freeze: bool) -> Result<Parameter> {
    crate::functional::check_shape("from_pretrained", &embeddings, &shape.into())?;
    let weight = Parameter::new(embeddings)?;
    if freeze {
        weight.freeze();
    }
    Ok(weight)
}

/// Normal draws for all rows, and then zeros for one.
pub(super) struct TableInit {
    pub(super) padding_idx: Option<usize>,
}

impl Init for TableInit {
    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        let (mean, std) = (0.0, 1.0);
        Normal { mean, std }.skip(shape, dtype, generator)
    }

    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let (mean, std) = (0.0, 1.0);
        let drawn = Normal { mean, std }.init(shape, dtype, generator)?;
        match (self.padding_idx, &**shape) {
            (Some(row), &[count, _]) => {
                let rows = Tensor::arange(0, count as i64, ())?.unsqueeze(1)?;
                drawn.masked_fill(&rows.eq(row as i64)?, 0.0)
            }
            _ => Ok(drawn),
        }
    }
}

/// Scales the indexed rows down to a norm, in the parameter.
pub(super) fn renormalize(
    weight: &Parameter,
    indices: &Tensor,
    max_norm: Option<Number>,
    norm_type: Number,
) -> Result<()> {
    let Some(max_norm) = max_norm.filter(|_| indices.numel() > 0) else {
        return Ok(());
    };
    no_grad(|| {
        let (table, list) = (weight.detach(), indices.reshape(indices.numel())?);
        let rows = table.index_select(0, &list)?;
        let norms = rows.norm_keepdim(*norm_type, 1)?;
        let over = norms.gt(*max_norm)?;
        if !over.any(..)?.item::<bool>()? {
            return Ok(());
        }
        let scaled = rows.mul(&norms.add(1e-7)?.reciprocal()?.mul(*max_norm)?)?;
        let rows = over.where_(&scaled, &rows)?;
        // A row that is named twice is written twice, with the same numbers.
        let places = list.unsqueeze(1)?.expand(rows.shape())?;
        weight.set(table.scatter(0, &places, &rows)?)
    })
}

/// The printed arguments of tables, besides their sizes.
pub(super) fn norm_repr(
    f: &mut fmt::Formatter<'_>,
    max_norm: Option<Number>,
    norm_type: Number,
    scale_grad_by_freq: bool,
) -> fmt::Result {
    if let Some(max_norm) = max_norm {
        write!(f, ", max_norm={}", Repr(&max_norm))?;
    }
    if *norm_type != 2.0 {
        write!(f, ", norm_type={}", Repr(&norm_type))?;
    }
    if scale_grad_by_freq {
        f.write_str(", scale_grad_by_freq=True")?;
    }
    Ok(())
}

impl Embedding {
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
        let [count, width] = sizes("Embedding", &weight)?;
        EmbeddingConfig::new(count, width).from_parts(weight)
    }

    /// Ties its table to another one, as a language model ties it to its last layer.
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
        if let Some(row) = self.padding_idx {
            write!(f, ", padding_idx={row}")?;
        }
        let scaled = config.scale_grad_by_freq;
        norm_repr(f, config.max_norm, config.norm_type, scaled)
    }

    /// The rows of a table with as many rows as this one.
    fn look_up(&self, table: &Tensor, input: &Tensor) -> Result<Tensor> {
        let rows = table.embedding(input, self.padding_idx)?;
        if !self.config.scale_grad_by_freq {
            return Ok(rows);
        }
        let (count, width) = (input.numel(), table.size(1)?);
        let (shape, list) = (rows.shape().clone(), input.reshape(count)?);
        let rows = rows.reshape([count, width])?;
        by_frequency(rows, &list, self.config.num_embeddings)?.reshape(&shape)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> EmbeddingConfig {
        self.config.clone()
    }
}

impl Forward for Embedding {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let config = &self.config;
        let input = input.to_integers("embedding", Integers::Indices)?;
        renormalize(&self.weight, &input, config.max_norm, config.norm_type)?;
        let table = self.weight.tensor();
        if self.adapters.is_empty() {
            return self.look_up(&table, &input);
        }
        self.adapters
            .look_up(&table, &|table| self.look_up(table, &input))
    }
}
