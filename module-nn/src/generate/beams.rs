//! Beam search that follows transformers' step by step, in `F32` as there.

use module_core::{Error, Result, Tensor};

use super::config::NAME;
use super::steps::{next_logits, tensor, texts};
use super::{EarlyStopping, GenerationConfig, LanguageModel};
use crate::config::check_bytes_fit;

/// Rules out a score; it is added, and does not replace the score.
const OUT: f32 = -1e9;

/// A text that is being continued.
struct Running {
    ids: Vec<i64>,
    score: f32,
}

/// A finished candidate.
#[derive(Clone)]
struct Finished {
    ids: Vec<i64>,
    score: f32,
    has_ended: bool,
}

/// The best continuation of a running text.
struct Candidate {
    log_probability: f32,
    beam: usize,
    token: i64,
    ends: bool,
}

/// The search for one prompt.
struct Search {
    running: Vec<Running>,
    finished: Vec<Finished>,
    can_improve: bool,
}

pub(super) fn generate<M: LanguageModel + ?Sized>(
    model: &mut M,
    prompt: &Tensor,
    config: &GenerationConfig,
) -> Result<Tensor> {
    let (prompts, beams) = (texts(prompt)?, config.num_beams);
    let length = prompt.size(1)?;
    check_beams_fit(prompts.len(), length, beams)?;
    let mut searches: Vec<Search> = prompts.iter().map(|ids| Search::new(ids, beams)).collect();
    // The prompts are processed once, and their caches are then shared by their beams.
    let logits = next_logits(model, tensor(&prompts, prompt)?)?;
    let mut rows = Vec::with_capacity(prompts.len() * beams);
    for row in 0..prompts.len() {
        rows.resize(rows.len() + beams, row);
    }
    let rows = indices(&rows, prompt)?;
    model.select(&rows)?;
    let mut logits = logits.index_select(0, &rows)?;
    for generated in 1..=config.max_new_tokens {
        let ids = || {
            let all = running(&searches).into_iter();
            let all: Vec<Vec<i64>> = all.map(|text| text.ids.clone()).collect();
            tensor(&all, prompt)
        };
        let scores = config.process(ids, generated - 1, logits.log_softmax(-1)?)?;
        let (kept, of_all) = candidates(&searches, &scores, config, generated)?;
        let mut rows = Vec::new();
        for (row, (search, of_one)) in searches.iter_mut().zip(&of_all).enumerate() {
            search.finish(of_one, config, generated);
            rows.extend(search.go_on(of_one, beams).map(|beam| row * beams + beam));
            search.judge(config, generated);
        }
        let may_improve = searches.iter().any(|search| search.can_improve);
        let all_ended = searches.iter().all(Search::is_full);
        let is_done = config.early_stopping == EarlyStopping::Immediate && all_ended;
        let goes_on = of_all.iter().flatten().any(|candidate| !candidate.ends);
        if !may_improve || is_done || !goes_on || kept == 0 {
            break;
        }
        model.select(&indices(&rows, prompt)?)?;
        let last: Vec<Vec<i64>> = running(&searches)
            .iter()
            .map(|text| {
                text.ids
                    .iter()
                    .copied()
                    .skip(length + generated - 1)
                    .collect()
            })
            .collect();
        logits = next_logits(model, tensor(&last, prompt)?)?;
    }
    // As in transformers, where a padding token of 0 counts as none.
    let padding = match (config.eos_token_id.first(), config.pad_token_id) {
        (None, _) => -1,
        (Some(_), Some(padding)) if padding != 0 => padding,
        (Some(&end), _) => end,
    };
    let mut best: Vec<Vec<i64>> = Vec::new();
    for search in searches {
        best.extend(search.finished.into_iter().next().map(|text| text.ids));
    }
    let longest = best.iter().map(Vec::len).max().unwrap_or(0);
    for text in &mut best {
        text.resize(longest, padding);
    }
    tensor(&best, prompt)
}

/// Refuses more beams than there is memory for their texts: for each prompt, as many running texts as candidates.
fn check_beams_fit(prompts: usize, length: usize, beams: usize) -> Result<()> {
    let text = length
        .saturating_mul(size_of::<i64>())
        .saturating_add(size_of::<Finished>());
    let all = prompts.saturating_mul(text.saturating_mul(2));
    check_bytes_fit(NAME, "num_beams", beams, all.checked_mul(beams))
}

fn running(searches: &[Search]) -> Vec<&Running> {
    let mut all = Vec::new();
    for search in searches {
        all.extend(&search.running);
    }
    all
}

fn indices(rows: &[usize], prompt: &Tensor) -> Result<Tensor> {
    let rows: Vec<i64> = rows
        .iter()
        .map(|&row| i64::try_from(row).unwrap_or(i64::MAX))
        .collect();
    let count = rows.len();
    Tensor::from_vec(rows, count)?.to_device(&prompt.device())
}

/// The best continuations of the running texts of each search, and how many there are of each.
fn candidates(
    searches: &[Search],
    scores: &Tensor,
    config: &GenerationConfig,
    generated: usize,
) -> Result<(usize, Vec<Vec<Candidate>>)> {
    let (beams, vocabulary) = (config.num_beams, scores.size(1)?);
    let kept = beams.saturating_mul((1 + config.eos_token_id.len()).max(2));
    if kept > beams.saturating_mul(vocabulary) {
        let problem = format!("has too few tokens for {kept} continuations");
        return Err(Error::argument(NAME, "vocabulary", vocabulary, problem));
    }
    let so_far: Vec<f32> = running(searches).iter().map(|text| text.score).collect();
    let so_far = Tensor::from_vec(so_far, [searches.len() * beams, 1])?;
    let sums = scores.add(&so_far.to_device(&scores.device())?)?;
    let sums = sums.reshape([searches.len(), beams * vocabulary])?;
    let (best, places) = match config.do_sample {
        true => {
            let places = sums.softmax(-1)?.multinomial(kept)?;
            (sums.gather(1, &places)?, places)
        }
        false => sums.topk(kept, -1)?,
    };
    let (best, places) = (best.to_vec::<f32>()?, places.to_vec::<i64>()?);
    let all: Vec<Candidate> = best
        .into_iter()
        .zip(places)
        .map(|(log_probability, place)| {
            let place = usize::try_from(place).unwrap_or(0);
            let token = i64::try_from(place % vocabulary).unwrap_or(i64::MAX);
            Candidate {
                log_probability,
                beam: place / vocabulary,
                token,
                ends: config.eos_token_id.contains(&token) || generated == config.max_new_tokens,
            }
        })
        .collect();
    let mut of_each = Vec::new();
    let mut rest = all.into_iter();
    for _ in searches {
        of_each.push(rest.by_ref().take(kept).collect());
    }
    Ok((kept, of_each))
}

impl Search {
    fn new(prompt: &[i64], beams: usize) -> Self {
        // The beams are equal at first, so only one of them is continued.
        let running = |beam: usize| Running {
            ids: prompt.to_vec(),
            score: if beam == 0 { 0.0 } else { OUT },
        };
        let finished = Finished {
            ids: prompt.to_vec(),
            score: OUT,
            has_ended: false,
        };
        Self {
            running: (0..beams).map(running).collect(),
            finished: vec![finished; beams],
            can_improve: true,
        }
    }

    fn is_full(&self) -> bool {
        self.finished.iter().all(|text| text.has_ended)
    }

    fn extended(&self, candidate: &Candidate) -> Vec<i64> {
        let old = self.running.get(candidate.beam).map(|text| &text.ids);
        let mut ids = old.cloned().unwrap_or_default();
        ids.push(candidate.token);
        ids
    }

    /// Keeps the best finished texts, by their length-normalized scores.
    fn finish(&mut self, candidates: &[Candidate], config: &GenerationConfig, generated: usize) {
        let beams = self.running.len();
        let length = (generated as f64).powf(config.length_penalty) as f32;
        let is_closed = config.early_stopping == EarlyStopping::Immediate && self.is_full();
        let mut all = self.finished.clone();
        for (i, candidate) in candidates.iter().enumerate() {
            let has_ended = candidate.ends && i < beams;
            let mut score = candidate.log_probability / length;
            for is_out in [is_closed, !self.can_improve, !has_ended] {
                score += if is_out { OUT } else { 0.0 };
            }
            all.push(Finished {
                ids: self.extended(candidate),
                score,
                has_ended,
            });
        }
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        all.truncate(beams);
        self.finished = all;
    }

    /// Continues with the best unfinished texts; returns which beams they come from.
    fn go_on(&mut self, candidates: &[Candidate], beams: usize) -> std::vec::IntoIter<usize> {
        let score = |candidate: &Candidate| {
            candidate.log_probability + if candidate.ends { OUT } else { 0.0 }
        };
        let mut best: Vec<&Candidate> = candidates.iter().collect();
        best.sort_by(|a, b| score(b).total_cmp(&score(a)));
        best.truncate(beams);
        let text = |candidate: &&Candidate| Running {
            ids: self.extended(candidate),
            score: score(candidate),
        };
        self.running = best.iter().map(text).collect();
        let from: Vec<usize> = best.iter().map(|candidate| candidate.beam).collect();
        from.into_iter()
    }

    /// Decides whether a running text can still beat the worst finished one.
    fn judge(&mut self, config: &GenerationConfig, generated: usize) {
        let longest = config.early_stopping == EarlyStopping::Never && config.length_penalty > 0.0;
        let length = match longest {
            true => config.max_new_tokens,
            false => generated,
        };
        let length = (length as f64).powf(config.length_penalty) as f32;
        let best = self.running.first().map_or(OUT, |text| text.score) / length;
        let scores = self.finished.iter().map(|text| text.score);
        let least = scores.fold(f32::INFINITY, f32::min);
        let beaten = |text: &Finished| best > if text.has_ended { least } else { OUT };
        self.can_improve &= self.finished.iter().any(beaten);
    }
}
