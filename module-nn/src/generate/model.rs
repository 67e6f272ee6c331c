use module_core::{Error, Result, Tensor};

use crate::KeyValueCache;

/// A language model as [`generate`](super::generate()) calls it. It remembers the texts so far.
///
/// # Example
///
/// ```
/// use module_nn::generate::{GenerationConfig, LanguageModel, generate};
/// use module_nn::prelude::*;
///
/// /// Every token is followed by the next number.
/// struct Counter(i64);
///
/// impl LanguageModel for Counter {
///     fn next_logits(&mut self, ids: Tensor) -> Result<Tensor> {
///         let last = ids.select(1, -1)?;
///         last.add(1)?.remainder(self.0)?.one_hot(self.0 as usize)?.to_dtype(DType::F32)
///     }
///
///     fn select(&mut self, _rows: &Tensor) -> Result<()> {
///         Ok(()) // It remembers nothing.
///     }
/// }
///
/// let prompt = Tensor::from([[3_i64]]);
/// let ids = generate(&mut Counter(10), &prompt, &GenerationConfig::new(3))?;
/// assert_eq!(ids.to_vec::<i64>()?, [3, 4, 5, 6]);
/// let logits = Counter(10).next_logits(prompt)?;
/// assert_eq!(logits.argmax(-1)?.to_vec::<i64>()?, [4]);
/// # Ok::<(), Error>(())
/// ```
pub trait LanguageModel {
    /// The logits of the next token of each text, `[rows, vocabulary]`, or of each of the new tokens,
    /// `[rows, new, vocabulary]`, of which the last is used. `ids` `[rows, new]` are the tokens since the last call: first
    /// the prompts, and then one for each text.
    ///
    /// # Errors
    ///
    /// Any error of the model.
    fn next_logits(&mut self, ids: Tensor) -> Result<Tensor>;

    /// Continues with these of its texts, `I64` `[rows]`, in this order; a text can be repeated.
    ///
    /// # Errors
    ///
    /// Rows out of range.
    fn select(&mut self, rows: &Tensor) -> Result<()>;
}

/// The memory of a model for several texts.
///
/// # Example
///
/// ```
/// use module_nn::generate::Rows;
/// use module_nn::prelude::*;
///
/// let memory = (Tensor::from([[1_i64, 2], [3, 4]]), vec![Tensor::from([5_i64, 6])]);
/// let (first, rest) = memory.select_rows(&Tensor::from([1_i64, 1]))?;
/// assert_eq!(first.to_vec::<i64>()?, [3, 4, 3, 4]);
/// assert_eq!(rest[0].to_vec::<i64>()?, [6, 6]);
/// # Ok::<(), Error>(())
/// ```
pub trait Rows: Sized {
    /// The memory of these texts, `I64` `[rows]`, in this order.
    ///
    /// # Errors
    ///
    /// Rows out of range.
    fn select_rows(&self, rows: &Tensor) -> Result<Self>;
}

impl Rows for KeyValueCache {
    fn select_rows(&self, rows: &Tensor) -> Result<Self> {
        self.select(rows)
    }
}

/// The first dimension is the texts.
impl Rows for Tensor {
    fn select_rows(&self, rows: &Tensor) -> Result<Self> {
        self.index_select(0, rows)
    }
}

impl<R: Rows> Rows for Vec<R> {
    fn select_rows(&self, rows: &Tensor) -> Result<Self> {
        self.iter().map(|own| own.select_rows(rows)).collect()
    }
}

/// An absent value stays absent.
impl<R: Rows> Rows for Option<R> {
    fn select_rows(&self, rows: &Tensor) -> Result<Self> {
        self.as_ref().map(|own| own.select_rows(rows)).transpose()
    }
}

impl<A: Rows, B: Rows> Rows for (A, B) {
    fn select_rows(&self, rows: &Tensor) -> Result<Self> {
        Ok((self.0.select_rows(rows)?, self.1.select_rows(rows)?))
    }
}

/// A [`LanguageModel`] that gets new tokens and its memory; made by [`with_cache`].
///
/// # Example
///
/// ```
/// use module_nn::generate::{CachedModel, GenerationConfig, generate, with_cache};
/// use module_nn::prelude::*;
///
/// // The next number, and a memory of how many tokens there were.
/// let pass = |ids: Tensor, seen: Tensor| {
///     let seen = seen.add(ids.size(1)? as i64)?;
///     Ok((ids.add(1)?.remainder(10)?.one_hot(10)?.to_dtype(DType::F32)?, seen))
/// };
/// let mut model: CachedModel<Tensor, _> = with_cache(Tensor::from([0_i64]), pass);
/// let ids = generate(&mut model, &Tensor::from([[3_i64]]), &GenerationConfig::new(3))?;
/// assert_eq!(ids.to_vec::<i64>()?, [3, 4, 5, 6]);
/// assert_eq!(model.cache().unwrap().item::<i64>()?, 3); // The last one is not given back.
/// # Ok::<(), Error>(())
/// ```
pub struct CachedModel<C, F> {
    /// Absent after a failed pass.
    cache: Option<C>,
    forward: F,
}

/// Makes a model from a function that maps new token ids `[rows, new]` and its memory to logits and the new memory: a
/// [`KeyValueCache`], a `Vec` with one for each layer, an encoder's output for the sources, or any other type with
/// [`Rows`].
///
/// A pass takes the memory and returns it. If it fails, the memory is lost, and every later pass is an error.
///
/// # Example
///
/// ```
/// use module_nn::generate::{GenerationConfig, generate, with_cache};
/// use module_nn::prelude::*;
///
/// // A recurrent network: its memory is the state after the last token.
/// let (words, cell, head) = (Embedding::new(10, 8)?, GRUCell::new(8, 8)?, Linear::new(8, 10)?);
/// let pass = |ids: Tensor, mut state: Tensor| {
///     for token in ids.unbind(1)? {
///         state = cell.call((words.call(token)?, state))?;
///     }
///     Ok((head.call(state.clone())?, state))
/// };
/// let mut model = with_cache(Tensor::zeros([1, 8], DType::F32)?, pass);
/// let ids = generate(&mut model, &Tensor::from([[1_i64, 2]]), &GenerationConfig::new(3))?;
/// assert_eq!(ids.shape().to_string(), "[1, 5]");
/// # Ok::<(), Error>(())
/// ```
pub const fn with_cache<C, F>(cache: C, forward: F) -> CachedModel<C, F>
where
    C: Rows,
    F: FnMut(Tensor, C) -> Result<(Tensor, C)>,
{
    let cache = Some(cache);
    CachedModel { cache, forward }
}

impl<C, F> CachedModel<C, F> {
    /// The model's memory; `None` after a failed pass, which had taken it.
    pub const fn cache(&self) -> Option<&C> {
        self.cache.as_ref()
    }
}

fn lost() -> Error {
    Error::custom(
        "generate: a pass failed, and what the model remembered is lost with it; make a new model by `with_cache`",
    )
}

impl<C, F> LanguageModel for CachedModel<C, F>
where
    C: Rows,
    F: FnMut(Tensor, C) -> Result<(Tensor, C)>,
{
    fn next_logits(&mut self, ids: Tensor) -> Result<Tensor> {
        // It is moved out, so that the memory behind it has one owner.
        let cache = self.cache.take().ok_or_else(lost)?;
        let (logits, cache) = (self.forward)(ids, cache)?;
        self.cache = Some(cache);
        Ok(logits)
    }

    fn select(&mut self, rows: &Tensor) -> Result<()> {
        let cache = self.cache.as_ref().ok_or_else(lost)?;
        self.cache = Some(cache.select_rows(rows)?);
        Ok(())
    }
}

/// A [`LanguageModel`] that gets all tokens each time; made by [`without_cache`].
///
/// # Example
///
/// ```
/// use module_nn::generate::{GenerationConfig, WholeModel, generate, without_cache};
/// use module_nn::prelude::*;
///
/// // The next number, from all tokens so far.
/// let pass = |ids: Tensor| ids.add(1)?.remainder(10)?.one_hot(10)?.to_dtype(DType::F32);
/// let mut model: WholeModel<_> = without_cache(pass);
/// let ids = generate(&mut model, &Tensor::from([[8_i64]]), &GenerationConfig::new(3))?;
/// assert_eq!(ids.to_vec::<i64>()?, [8, 9, 0, 1]);
/// # Ok::<(), Error>(())
/// ```
pub struct WholeModel<F> {
    ids: Vec<Tensor>,
    forward: F,
}

/// Makes a model from a function that maps all token ids `[rows, length]` to logits.
///
/// # Example
///
/// ```
/// use module_nn::generate::{GenerationConfig, generate, without_cache};
/// use module_nn::prelude::*;
///
/// let net = Embedding::new(10, 10)?; // The logits of the next token from the last one alone.
/// let mut model = without_cache(|ids| net.call(ids));
/// let prompt = Tensor::from([[1_i64, 2]]);
/// let ids = generate(&mut model, &prompt, &GenerationConfig::new(3))?;
/// assert_eq!(ids.shape().to_string(), "[1, 5]");
/// # Ok::<(), Error>(())
/// ```
pub const fn without_cache<F>(forward: F) -> WholeModel<F>
where
    F: FnMut(Tensor) -> Result<Tensor>,
{
    let ids = Vec::new();
    WholeModel { ids, forward }
}

impl<F> LanguageModel for WholeModel<F>
where
    F: FnMut(Tensor) -> Result<Tensor>,
{
    fn next_logits(&mut self, ids: Tensor) -> Result<Tensor> {
        self.ids.push(ids);
        let ids = Tensor::cat(&self.ids, 1)?;
        self.ids = vec![ids.clone()];
        (self.forward)(ids)
    }

    fn select(&mut self, rows: &Tensor) -> Result<()> {
        self.ids = self.ids.select_rows(rows)?;
        Ok(())
    }
}
