//! Counts outside layer configurations, in samplers and operations, that determine an allocation or the length of a loop.

use module_core::{MeshIndexing, PadMode};
use module_examples::models::whisper::{LogMel, LogMelConfig};
use module_nn::data::transforms::RandAugmentConfig;
use module_nn::data::transforms::functional::{
    PaddingMode, ResizeMode, gaussian_blur, pad, resize,
};
use module_nn::data::{
    BatchSampler, DataLoaderConfig, Dataset, DistributedSampler, RandomSampler, Sampler,
    SequentialSampler, TensorDataset, WeightedRandomSampler,
};
use module_nn::generate::{GenerationConfig, generate, without_cache};
use module_nn::lora::{self, InitLoraWeights, LoraConfig};
use module_nn::metrics::{
    AUROCConfig, AccuracyConfig, ConfusionMatrixConfig, F1ScoreConfig, PrecisionConfig,
    RecallConfig, RunningMeanConfig,
};
use module_nn::optim::LBFGSConfig;
use module_nn::prelude::*;

/// Counts that exceed any memory and that no loop reaches.
pub(super) const COUNTS: [usize; 3] = [1 << 36, usize::MAX / 2 + 1, usize::MAX];

/// A use of a count.
type Work = fn(usize) -> Result<()>;

fn x() -> Tensor {
    Tensor::from([[0.5_f32, -1.0, 2.0], [1.5, 0.25, -3.0]])
}

fn done<T>(result: Result<T>) -> Result<()> {
    result.map(|_| ())
}

/// A data set that reports an arbitrary number of samples.
struct Claims(usize);

impl Dataset for Claims {
    type Item = Tensor;

    fn len(&self) -> usize {
        self.0
    }

    fn get(&self, _index: usize) -> Result<Tensor> {
        Ok(Tensor::from(1.0_f32))
    }
}

/// Loads all batches of two samples.
fn loaded(config: DataLoaderConfig) -> Result<()> {
    let loader = config.build(TensorDataset::new((x(), x()))?)?;
    loader.iter().try_for_each(done)
}

/// A language model whose next token is always the same.
fn texts(config: &GenerationConfig) -> Result<()> {
    let logits = |ids: Tensor| Tensor::ones([ids.size(0)?, 5], DType::F32);
    let mut model = without_cache(logits);
    done(generate(&mut model, &Tensor::from([[1_i64, 2]]), config))
}

fn adapted(config: &LoraConfig) -> Result<()> {
    let mut net = Sequential::new().push(Linear::new(4, 4)?);
    done(lora::add_adapter(&mut net, "default", "0", config))
}

fn hearing(n_fft: usize, feature_size: usize) -> LogMelConfig {
    LogMelConfig {
        feature_size,
        sampling_rate: 16_000,
        hop_length: 160,
        chunk_length: 30,
        n_fft,
        padding_value: 0.0,
        rest: serde_json::Map::new(),
    }
}

/// The uses that must refuse each count, with a typed error.
pub(super) const REFUSED: &[(&str, Work)] = &[
    ("ConfusionMatrix", |n| {
        done(ConfusionMatrixConfig::new(n).build())
    }),
    ("Accuracy", |n| done(AccuracyConfig::new(n).build())),
    ("Precision", |n| done(PrecisionConfig::new(n).build())),
    ("Recall", |n| done(RecallConfig::new(n).build())),
    ("F1Score", |n| done(F1ScoreConfig::new(n).build())),
    ("num_beams", |n| {
        texts(&GenerationConfig::new(2).num_beams(n))
    }),
    ("RandomSampler", |n| {
        done(RandomSampler::new(1)?.num_samples(n)?.indices())
    }),
    ("RandomSampler with replacement", |n| {
        let sampler = RandomSampler::new(3)?.replacement(true);
        done(sampler.num_samples(n)?.indices())
    }),
    ("shuffle", |n| done(RandomSampler::new(n)?.indices())),
    ("WeightedRandomSampler", |n| {
        done(WeightedRandomSampler::new([1.0, 2.0], n)?.indices())
    }),
    ("SequentialSampler", |n| {
        done(SequentialSampler::new(n).indices())
    }),
    ("BatchSampler", |n| {
        done(BatchSampler::new(SequentialSampler::new(n), 2)?.indices())
    }),
    ("DistributedSampler", |n| {
        done(DistributedSampler::new(n, 2, 1)?.shuffle(false).indices())
    }),
    ("DataLoader", |n| {
        let loader = DataLoaderConfig::new().build(Claims(n))?;
        loader.iter().next().map_or(Ok(()), done)
    }),
    ("resize of bytes", |n| {
        let image = Tensor::zeros([3, 2, 2], DType::U8)?;
        done(resize(&image, [2, n], ResizeMode::Bilinear))
    }),
    ("resize of bytes, both sizes", |n| {
        let image = Tensor::zeros([3, 2, 2], DType::U8)?;
        done(resize(&image, [n, n], ResizeMode::Bicubic))
    }),
    ("resize", |n| {
        let image = Tensor::zeros([3, 2, 2], DType::F32)?;
        done(resize(&image, [n, 2], ResizeMode::Nearest))
    }),
    ("gaussian_blur", |n| {
        let image = Tensor::zeros([3, 2, 2], DType::U8)?;
        done(gaussian_blur(&image, [n | 1, 1], [1.0, 1.0]))
    }),
    ("pad of images", |n| {
        let image = Tensor::zeros([3, 2, 2], DType::U8)?;
        done(pad(&image, [0, n, 0, 0], &[], PaddingMode::Symmetric))
    }),
    ("LogMel, bands", |n| done(LogMel::new(&hearing(400, n)))),
    ("LogMel, n_fft", |n| done(LogMel::new(&hearing(n, 80)))),
    ("RandAugment", |n| {
        done(RandAugmentConfig::new().num_ops(n).build())
    }),
    ("LoRA rank", |n| adapted(&LoraConfig::new().r(n))),
    ("PiSSA iterations", |n| {
        adapted(&LoraConfig::new().init_lora_weights(InitLoraWeights::PissaNiter(n)))
    }),
    ("KeyValueCache", |n| {
        let x = Tensor::zeros([1, 1, 1, 2], DType::F32)?;
        done(KeyValueCache::with_capacity(n).append(x.clone(), x))
    }),
    ("one_hot", |n| done(Tensor::from([0_i64]).one_hot(n))),
    ("bincount", |n| {
        done(Tensor::from([0_i64]).bincount(None, n))
    }),
    ("bincount of nothing", |n| {
        done(Tensor::zeros([0], DType::I64)?.bincount(None, n))
    }),
    ("multinomial", |n| {
        done(x().abs()?.multinomial_with_replacement(n))
    }),
    ("multinomial without replacement", |n| {
        done(x().abs()?.multinomial(n))
    }),
    ("topk", |n| done(x().topk(n, 0))),
    ("repeat", |n| done(x().repeat([n, 2]))),
    ("repeat_interleave", |n| done(x().repeat_interleave(n, 0))),
    ("zeros", |n| done(Tensor::zeros([n, 3], DType::F32))),
    ("eye", |n| done(Tensor::eye(n, n, DType::F32))),
    ("linspace", |n| {
        done(Tensor::linspace(0.0, 1.0, n, DType::F32))
    }),
    ("randperm", |n| done(Tensor::randperm(n, DType::I64))),
    ("pad", |n| {
        let n = isize::try_from(n).unwrap_or(isize::MAX);
        done(x().pad([n, 0], PadMode::default()))
    }),
    ("chunk", |n| {
        done(Tensor::zeros([2, 0], DType::F32)?.chunk(n, 1))
    }),
    ("meshgrid", |n| {
        let one = Tensor::from([1.0_f32]).expand([n])?;
        done(Tensor::meshgrid(&[&one, &one], MeshIndexing::Ij)?[0].contiguous())
    }),
];

/// Arguments that may be this large, because they only limit when something ends, or how much is kept.
pub(super) const ACCEPTED: &[(&str, Work)] = &[
    ("AUROC", |n| done(AUROCConfig::new(n).build())),
    ("RunningMean", |n| {
        let mut mean = RunningMeanConfig::new(n).build()?;
        mean.update(1.0_f64)
    }),
    ("history_size", |n| {
        let net = Linear::new(2, 1)?;
        let mut optimizer = LBFGSConfig::new(0.1).history_size(n).build(&net)?;
        let x = Tensor::ones([1, 2], DType::F32)?;
        done(optimizer.step(&net, || net.call(x.clone())?.square()?.sum(..)))
    }),
    ("batch_size", |n| {
        loaded(DataLoaderConfig::new().batch_size(n))
    }),
    ("prefetch_factor", |n| {
        loaded(DataLoaderConfig::new().num_workers(1).prefetch_factor(n))
    }),
    ("num_workers", |n| {
        loaded(DataLoaderConfig::new().num_workers(n))
    }),
    ("num_replicas", |n| {
        let sampler = DistributedSampler::new(10, n, n - 1)?.shuffle(false);
        assert_eq!(sampler.indices()?, [(n - 1) % 10]);
        Ok(())
    }),
    ("max_new_tokens", |n| {
        texts(&GenerationConfig::new(n).eos_token_id(vec![0]))
    }),
    ("top_k", |n| {
        texts(&GenerationConfig::new(2).do_sample(true).top_k(n))
    }),
    ("sliding_window", |n| {
        let x = Tensor::zeros([1, 1, 1, 2], DType::F32)?;
        done(KeyValueCache::new().sliding_window(n).append(x.clone(), x))
    }),
];
