//! Processors of the scores of the next token, `[rows, vocabulary]`: logits, or log-probabilities.

use module_core::{DType, Result, Tensor};

/// Scores divided by a temperature: below 1, likely tokens become more likely.
///
/// # Errors
///
/// Scores that are not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::generate::temperature;
/// use module_nn::prelude::*;
///
/// let scores = Tensor::from([[1.0_f32, 2.0]]);
/// assert_eq!(temperature(&scores, 0.5)?.to_vec::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn temperature(scores: &Tensor, temperature: f64) -> Result<Tensor> {
    scores.div(temperature)
}

/// Divides the scores of tokens that occur in `ids` `[rows, length]` by a penalty, or multiplies them by it if they are
/// negative; once for each token.
///
/// Source: Keskar et al., *CTRL: A Conditional Transformer Language Model for Controllable Generation* (2019).
///
/// # Errors
///
/// Other shapes, ids beyond the vocabulary.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let scores = Tensor::from([[2.0_f32, -2.0, 1.0]]);
/// let scores = module_nn::generate::repetition_penalty(&scores, &Tensor::from([[0_i64, 1, 1]]), 2.0)?;
/// assert_eq!(scores.to_vec::<f32>()?, [1.0, -4.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn repetition_penalty(scores: &Tensor, ids: &Tensor, penalty: f64) -> Result<Tensor> {
    let of_ids = scores.gather(1, ids)?;
    let less = of_ids
        .lt(0.0)?
        .where_(&of_ids.mul(penalty)?, &of_ids.div(penalty)?)?;
    scores.scatter(1, ids, &less)
}

/// Sets the scores of these tokens in each row to minus infinity.
///
/// # Errors
///
/// Tokens beyond the vocabulary.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let scores = module_nn::generate::suppress_tokens(&Tensor::from([[2.0_f32, 3.0, 1.0]]), &[1])?;
/// assert_eq!(scores.to_vec::<f32>()?, [2.0, f32::NEG_INFINITY, 1.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn suppress_tokens(scores: &Tensor, tokens: &[i64]) -> Result<Tensor> {
    let tokens = Tensor::from_vec(tokens.to_vec(), tokens.len())?;
    scores.index_fill(-1, &tokens.to_device(&scores.device())?, f64::NEG_INFINITY)
}

/// Sets all but the `k` greatest scores of each row, and scores equal to the last of them, to minus infinity.
///
/// # Errors
///
/// Shapes other than `[rows, vocabulary]`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let scores = module_nn::generate::top_k(&Tensor::from([[2.0_f32, 3.0, 1.0]]), 2)?;
/// assert_eq!(scores.to_vec::<f32>()?, [2.0, 3.0, f32::NEG_INFINITY]);
/// # Ok::<(), Error>(())
/// ```
pub fn top_k(scores: &Tensor, k: usize) -> Result<Tensor> {
    let k = k.clamp(1, scores.size(-1)?.max(1));
    let (greatest, _) = scores.topk(k, -1)?;
    let least = greatest.narrow(-1, k - 1..k)?;
    scores.masked_fill(&scores.lt(&least)?, f64::NEG_INFINITY)
}

/// Keeps the smallest set of most likely tokens in each row whose probabilities add up to `p`, and sets the others to minus
/// infinity; at least `kept` tokens stay.
///
/// Source: Holtzman et al., *The Curious Case of Neural Text Degeneration* (2019).
///
/// # Errors
///
/// Shapes other than `[rows, vocabulary]`.
///
/// # Example
///
/// ```
/// use module_nn::generate::top_p;
/// use module_nn::prelude::*;
///
/// let scores = Tensor::from([[0.7_f32, 0.2, 0.1]]).log()?;
/// let kept = top_p(&scores, 0.8, 1)?.isfinite()?;
/// assert_eq!(kept.to_vec::<bool>()?, [true, true, false]);
/// # Ok::<(), Error>(())
/// ```
pub fn top_p(scores: &Tensor, p: f64, kept: usize) -> Result<Tensor> {
    let vocabulary = scores.size(-1)?;
    let (sorted, order) = scores.sort(-1)?;
    let unlikely = sorted.softmax(-1)?.cumsum(-1)?.le(1.0 - p)?;
    let places = Tensor::arange(0, i64::try_from(vocabulary).unwrap_or(i64::MAX), ())?;
    let others = i64::try_from(vocabulary.saturating_sub(kept)).unwrap_or(i64::MAX);
    let places = places.to_device(&scores.device())?.lt(others)?;
    let unlikely = unlikely.logical_and(&places)?;
    let unlikely = unlikely.scatter(1, &order, &unlikely)?;
    scores.masked_fill(&unlikely, f64::NEG_INFINITY)
}

/// Sets the tokens of each row whose probability is below `p` times that of the most likely one to minus infinity; at least
/// `kept` stay.
///
/// Source: Nguyen et al., *Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs* (2024).
///
/// # Errors
///
/// Shapes other than `[rows, vocabulary]`.
///
/// # Example
///
/// ```
/// use module_nn::generate::min_p;
/// use module_nn::prelude::*;
///
/// let scores = Tensor::from([[0.7_f32, 0.2, 0.1]]).log()?;
/// let kept = min_p(&scores, 0.5, 1)?.isfinite()?;
/// assert_eq!(kept.to_vec::<bool>()?, [true, false, false]);
/// # Ok::<(), Error>(())
/// ```
pub fn min_p(scores: &Tensor, p: f64, kept: usize) -> Result<Tensor> {
    let probabilities = scores.softmax(-1)?;
    let (_, likely) = probabilities.topk(kept.clamp(1, scores.size(-1)?.max(1)), -1)?;
    let least = probabilities.amax_keepdim(-1)?.mul(p)?;
    let stay = Tensor::zeros(likely.shape(), (DType::Bool, &likely.device()))?;
    let unlikely = probabilities.lt(&least)?.scatter(1, &likely, &stay)?;
    scores.masked_fill(&unlikely, f64::NEG_INFINITY)
}
