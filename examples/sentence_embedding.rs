//! Sentences as vectors: sentences with the same meaning are close together, whatever their words.
//!
//! The model is all-MiniLM-L6-v2 if `examples/fetch_minilm.sh` has downloaded it, otherwise a tiny one with fresh weights,
//! which recognizes nothing but common words.
//!
//! ```text
//! cargo run --release --example sentence_embedding                       eight sentences and how close they are
//! cargo run --release --example sentence_embedding -- --check            and compares them with those of transformers
//! cargo run --release --example sentence_embedding -- --tiny --check     the tiny model, whatever there is
//! ```

use module_examples::models::pretrained::read_json;
use module_nn::prelude::*;
use module_serve::sentence_encoder::SentenceEncoder;
use module_serve::sentence_tokenizer::SentenceTokenizer;
use module_serve::{DATA, available_model};

fn main() -> Result<()> {
    let (mut check, mut tiny) = (false, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--check" => check = true,
            "--tiny" => tiny = true,
            _ => {
                let problem = format!("{argument}: the arguments are --check and --tiny");
                return Err(Error::custom(problem));
            }
        }
    }
    let (dir, name) = match tiny {
        true => (format!("{DATA}/tiny").into(), "tiny"),
        false => available_model(),
    };
    if name == "tiny" && !tiny {
        println!("all-MiniLM-L6-v2 is not there: examples/fetch_minilm.sh fetches it.");
        println!("This is a tiny model with fresh weights instead.\n");
    }

    let tokenizer = SentenceTokenizer::from_dir(&dir)?;
    let encoder = SentenceEncoder::from_dir(&dir, &tokenizer)?;
    let sentences: Vec<String> = read_json(format!("{DATA}/sentences.json"))?;
    let ids: Result<Vec<_>> = sentences
        .iter()
        .map(|text| tokenizer.encode(text))
        .collect();
    let embeddings = encoder.embed(&ids?)?;

    let similarity = embeddings.matmul(&embeddings.transpose(0, 1)?)?;
    let similarity = similarity.to_vec::<f32>()?;
    for (sentence, row) in sentences.iter().zip(similarity.chunks(sentences.len())) {
        let row: Vec<String> = row.iter().map(|value| format!("{value:6.2}")).collect();
        let beginning: String = sentence.chars().take(48).collect();
        println!("{}  {beginning}", row.concat());
    }
    match check {
        true => compare(&embeddings, name),
        false => Ok(()),
    }
}

/// Compares embeddings with those recorded by `tests/golden/sentence_embeddings.py`.
fn compare(embeddings: &Tensor, name: &str) -> Result<()> {
    const BOUND: f64 = 1e-5;
    let recorded = StateDict::load(format!("{DATA}/{name}.safetensors"))?;
    let Some(recorded) = recorded.get("embeddings") else {
        return Err(Error::custom("no embeddings are recorded"));
    };
    let difference = embeddings.sub(recorded)?.abs()?.max(..)?.item::<f32>()?;
    println!("\nat most {difference:.1e} from the embeddings of transformers");
    // Written so that NaN fails.
    if f64::from(difference) <= BOUND {
        return Ok(());
    }
    Err(Error::custom(format!("that is more than {BOUND:.0e}")))
}
