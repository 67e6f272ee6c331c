//! One text for each prompt, one token at a time.

use module_core::{DType, Result, Tensor};

use super::config::NAME;
use super::{GenerationConfig, LanguageModel};

/// Texts, all of equal length.
pub(super) type Texts = Vec<Vec<i64>>;

/// The texts of a tensor `[rows, length]`.
pub(super) fn texts(ids: &Tensor) -> Result<Texts> {
    let flat = ids.to_dtype(DType::I64)?.to_vec::<i64>()?;
    let length = ids.size(1)?.max(1);
    Ok(flat.chunks(length).map(<[i64]>::to_vec).collect())
}

/// Texts of one length as a tensor on the device of the prompt.
pub(super) fn tensor(texts: &[Vec<i64>], prompt: &Tensor) -> Result<Tensor> {
    let length = texts.first().map_or(0, Vec::len);
    let ids = Tensor::from_vec(texts.concat(), [texts.len(), length])?;
    ids.to_device(&prompt.device())
}

/// The logits of the next token, `[rows, vocabulary]` in `F32`, after the new `ids`.
pub(super) fn next_logits<M: LanguageModel + ?Sized>(model: &mut M, ids: Tensor) -> Result<Tensor> {
    let rows = ids.size(0)?;
    let logits = model.next_logits(ids)?;
    let logits = match logits.rank() {
        3 if logits.size(1)? > 0 => logits.select(1, -1)?,
        _ => logits,
    };
    if logits.rank() != 2 || logits.size(0)? != rows || logits.size(1)? == 0 {
        let expected = format!("logits [{rows}, vocabulary] or [{rows}, new, vocabulary]");
        return Err(logits.shape().error(NAME, expected));
    }
    logits.to_dtype(DType::F32)
}

/// The most likely tokens, or sampled ones.
pub(super) fn generate<M: LanguageModel + ?Sized>(
    model: &mut M,
    prompt: &Tensor,
    config: &GenerationConfig,
) -> Result<Tensor> {
    let mut texts = texts(prompt)?;
    let mut ended = vec![false; texts.len()];
    let mut new = tensor(&texts, prompt)?;
    for generated in 0..config.max_new_tokens {
        let logits = next_logits(model, new)?;
        let scores = config.process(|| tensor(&texts, prompt), generated, logits)?;
        let next = match config.do_sample {
            true => scores.softmax(-1)?.multinomial(1)?.reshape(texts.len())?,
            false => scores.argmax(-1)?,
        };
        let mut next = next.to_vec::<i64>()?;
        for ((text, ended), token) in texts.iter_mut().zip(&mut ended).zip(&mut next) {
            if let Some(padding) = config.padding().filter(|_| *ended) {
                *token = padding;
            }
            text.push(*token);
            *ended |= config.eos_token_id.contains(token);
        }
        if ended.iter().all(|ended| *ended) {
            break;
        }
        let rows: Vec<Vec<i64>> = next.iter().map(|token| vec![*token]).collect();
        new = tensor(&rows, prompt)?;
    }
    tensor(&texts, prompt)
}
