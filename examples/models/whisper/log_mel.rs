//! The input of Whisper: the loudness of audio over time in mel bands, computed like transformers'
//! `WhisperFeatureExtractor`.

use std::f64::consts::TAU;
use std::path::Path;

use module_nn::prelude::*;
use module_nn::{ConvOptions, PadMode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::pretrained::{self, IGNORED};

/// transformers' `preprocessor_config.json`.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct LogMelConfig {
    pub feature_size: usize,
    pub sampling_rate: usize,
    pub hop_length: usize,
    /// In seconds.
    pub chunk_length: usize,
    pub n_fft: usize,
    pub padding_value: f64,
    /// Arguments that must have the value of this front end.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// `(N, samples)` of audio, from -1 to 1, to `(N, feature_size, frames)` for [`Whisper`](super::Whisper).
///
/// Audio is padded to `chunk_length`; if it is longer, call this with each of its chunks,
/// `sound.split(log_mel.chunk_samples(), -1)`. transformers truncates it instead, unless told otherwise. Everything is
/// computed in F64, in which a Fourier transform by matrix products is as exact as a fast one; in F32 the quiet bands of a
/// loud frame would lose digits: those of transformers, which computes in F32 if it has PyTorch, are off by 1e-5.
#[derive(Module)]
pub struct LogMel {
    #[module(skip)]
    config: LogMelConfig,
    /// `[2 · frequencies, 1, n_fft]`: cosines, then sines, multiplied by a Hann window.
    waves: Buffer,
    /// `[feature_size, frequencies]`
    mel_filters: Buffer,
}

impl LogMel {
    /// The front end of a configuration.
    ///
    /// # Errors
    ///
    /// Sizes of 0, an argument with a value that this front end does not support.
    pub fn new(config: &LogMelConfig) -> Result<Self> {
        let only = [
            ("feature_extractor_type", json!("WhisperFeatureExtractor")),
            ("padding_side", json!("right")),
            ("dither", json!(0.0)),
            ("processor_class", json!(IGNORED)),
            ("return_attention_mask", json!(IGNORED)),
            // Derived from the other arguments, and computed again.
            ("mel_filters", json!(IGNORED)),
            ("n_samples", json!(IGNORED)),
            ("nb_max_frames", json!(IGNORED)),
        ];
        pretrained::check_rest("LogMel", &config.rest, &only)?;
        // More than recordings need, and few enough for the tables of waves and bands to fit in memory.
        for (name, size, [least, most]) in [
            ("feature_size", config.feature_size, [1, 1 << 12]),
            ("sampling_rate", config.sampling_rate, [1, 1 << 21]),
            ("hop_length", config.hop_length, [1, 1 << 21]),
            ("chunk_length", config.chunk_length, [1, 1 << 21]),
            ("n_fft", config.n_fft, [2, 1 << 12]),
        ] {
            if !(least..=most).contains(&size) {
                let problem = match size < least {
                    true => format!("must be at least {least}"),
                    false => format!("must be at most {most}"),
                };
                return Err(Error::argument("LogMel", name, size, problem));
            }
        }
        let constant = |x| Buffer::non_persistent(x).keep_dtype();
        Ok(Self {
            config: config.clone(),
            waves: constant(waves(config.n_fft)?),
            mel_filters: constant(mel_filters(config)?),
        })
    }

    /// The maximum number of samples of a chunk.
    pub fn chunk_samples(&self) -> usize {
        self.config.chunk_length * self.config.sampling_rate
    }

    /// The front end of a directory with `preprocessor_config.json`.
    ///
    /// # Errors
    ///
    /// Those of [`pretrained::read_json`] and [`new`](Self::new).
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        Self::new(&pretrained::read_json(
            dir.as_ref().join("preprocessor_config.json"),
        )?)
    }
}

impl Forward for LogMel {
    type Output = Tensor;

    fn forward(&self, sound: Tensor) -> Result<Tensor> {
        let config = &self.config;
        let (samples, given) = (self.chunk_samples(), sound.size(-1)?);
        let Some(missing) = samples.checked_sub(given) else {
            let seconds = config.chunk_length;
            let problem = format!(
                "must be at most {samples}, of {seconds} seconds; split the sound, and give each chunk on its own"
            );
            return Err(Error::argument("LogMel", "samples", given, problem));
        };
        let x = sound.to_dtype(DType::F64)?;
        let x = x.pad([0, missing as isize], config.padding_value)?;
        let x = x.unsqueeze(1)?;
        // Each frame is centered on its sample.
        let half = (config.n_fft / 2) as isize;
        let x = x.pad([half, half], PadMode::Reflect)?;
        let waves = ConvOptions::new().stride([config.hop_length]);
        let x = x.conv1d(&self.waves.tensor(), waves)?;
        let x = x.narrow(-1, 0..samples / config.hop_length)?;
        let power = x.square()?.unflatten(1, [2, -1])?.sum(1)?;
        let mel = self.mel_filters.tensor().matmul(&power)?;
        let mel = mel.clamp_min(1e-10)?.log10()?;
        // 80 dB below the maximum is silence.
        let mel = mel.maximum(&mel.amax_keepdim([1, 2])?.sub(8.0)?)?;
        mel.add(4.0)?.div(4.0)?.to_dtype(sound.dtype())
    }
}

/// The waves of a discrete Fourier transform, multiplied by a Hann window.
fn waves(n_fft: usize) -> Result<Tensor> {
    let frequencies = n_fft / 2 + 1;
    let angle = |turns: usize| TAU * turns as f64 / n_fft as f64;
    let mut waves = Vec::with_capacity(2 * frequencies * n_fft);
    for wave in [f64::cos, f64::sin] {
        for frequency in 0..frequencies {
            waves.extend((0..n_fft).map(|sample| {
                let hann = 0.5 - 0.5 * angle(sample).cos();
                // Whole periods are subtracted, so that the angle keeps its digits.
                hann * wave(angle(frequency * sample % n_fft))
            }));
        }
    }
    Tensor::from_vec(waves, [2 * frequencies, 1, n_fft])
}

/// Triangles of equal area whose corners are evenly spaced in mel, up to 8 kHz.
fn mel_filters(config: &LogMelConfig) -> Result<Tensor> {
    let bands = config.feature_size;
    let highest = 15.0 + 27.0 * 8_f64.ln() / 6.4_f64.ln();
    let corner = |i: usize| hertz(highest * i as f64 / (bands + 1) as f64);
    let steps = config.n_fft / 2;
    let step = (config.sampling_rate / 2) as f64 / steps as f64;
    let mut filters = Vec::with_capacity(bands * (steps + 1));
    for band in 0..bands {
        let [low, peak, high] = [band, band + 1, band + 2].map(corner);
        filters.extend((0..=steps).map(|i| {
            let frequency = step * i as f64;
            let (rise, fall) = (
                (frequency - low) / (peak - low),
                (high - frequency) / (high - peak),
            );
            rise.min(fall).max(0.0) * 2.0 / (high - low)
        }));
    }
    Tensor::from_vec(filters, [bands, steps + 1])
}

/// The frequency of a position on Slaney's mel scale, which is linear up to 1 kHz and logarithmic above.
fn hertz(mel: f64) -> f64 {
    match mel < 15.0 {
        true => mel * 200.0 / 3.0,
        false => 1000.0 * (6.4_f64.ln() * (mel - 15.0) / 27.0).exp(),
    }
}
