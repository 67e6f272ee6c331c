//! A training that uses everything that a checkpoint holds, for tests that interrupt it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use module_core::Snapshot;
use module_core::rng::{Generator, default_generator};
use module_nn::data::{DataLoader, DataLoaderConfig, DatasetExt, MapDataset, TensorDataset};
use module_nn::optim::no_decay;
use module_nn::prelude::*;

type Pair = (Tensor, Tensor);
type Data = MapDataset<TensorDataset<Pair>, fn(Pair) -> Result<Pair>>;

const FEATURES: usize = 6;
/// Ten batches of four, except that the last has two.
const SAMPLES: usize = 38;

/// Statistics, which are buffers, and dropout, which draws from the default generator.
#[derive(Module)]
struct Net {
    hidden: Linear,
    norm: BatchNorm1d,
    dropout: Dropout,
    head: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.norm.call(self.hidden.call(x)?)?.relu()?;
        self.head.call(self.dropout.call(x)?)
    }
}

/// The loss of each step: a user-defined state.
#[derive(Default)]
struct Losses(Vec<f32>);

impl Stateful for Losses {
    fn state(&self) -> Result<Snapshot> {
        Snapshot::default().with("losses", &self.0)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        self.0 = state.get("losses")?;
        Ok(())
    }
}

/// A training of [`STEPS`](Self::STEPS) steps.
pub struct LongRun {
    model: Net,
    optimizer: AdamW,
    schedule: WarmupCosine,
    average: EMA,
    scaler: GradScaler,
    loader: DataLoader<Data>,
    /// The generator for dropout.
    default_generator: Generator,
    /// The generator for noise.
    noise: Generator,
    losses: Losses,
    step: u64,
    device: Device,
}

impl LongRun {
    /// Its number of steps.
    pub const STEPS: u64 = 100;

    /// Starts from the beginning and seeds the default generator.
    ///
    /// # Errors
    ///
    /// None that is expected.
    pub fn new(seed: u64) -> Result<Self> {
        Self::on(seed, &Device::cpu())
    }

    /// The same with the model on a device.
    ///
    /// # Errors
    ///
    /// None that is expected.
    pub fn on(seed: u64, device: &Device) -> Result<Self> {
        manual_seed(seed);
        let model = Net {
            hidden: Linear::new(FEATURES, 8)?,
            norm: BatchNorm1d::new(8)?,
            dropout: Dropout::new(0.2)?,
            head: Linear::new(8, 3)?,
        };
        model.to_device(device)?;
        let config = AdamWConfig::new(0.01).weight_decay(0.1);
        let config = config.group(no_decay(&model), |group| group.weight_decay(0.0));
        let mut optimizer = config.build(&model)?;
        let schedule = WarmupCosine::new(&mut optimizer, 10, Self::STEPS as usize)?;
        let average = EMA::new(&model, 0.9)?;
        // Products in `f16`: the first scales overflow, and so do those to which the scale grows every few steps.
        let scaler = GradScalerConfig::new()
            .init_scale(2.0_f64.powi(20))
            .growth_interval(3);
        // The data are not part of a checkpoint: they are the same in every run.
        let (x, y) = fork_rng(0, || {
            let x = Tensor::randn([SAMPLES, FEATURES], DType::F32)?;
            Ok::<_, Error>((x, Tensor::randint(0, 3, [SAMPLES], DType::I64)?))
        })?;
        let augment: fn(Pair) -> Result<Pair> = |(x, y)| Ok((x.add(&x.rand_like()?)?, y));
        let data = TensorDataset::new((x, y))?.map(augment);
        Ok(Self {
            model,
            optimizer,
            schedule,
            average,
            scaler: scaler.build()?,
            loader: DataLoaderConfig::new()
                .batch_size(4)
                .shuffle(true)
                .seed(seed + 1)
                .build(data)?,
            default_generator: default_generator(),
            noise: Generator::new(seed + 2),
            losses: Losses::default(),
            step: 0,
            device: *device,
        })
    }

    /// The contents of a checkpoint: every stateful object has a line here.
    fn parts(&mut self) -> Vec<(&'static str, &mut dyn Stateful)> {
        vec![
            ("model", &mut self.model),
            ("optimizer", &mut self.optimizer),
            ("schedule", &mut self.schedule),
            ("average", &mut self.average),
            ("scaler", &mut self.scaler),
            ("data", &mut self.loader),
            ("default_generator", &mut self.default_generator),
            ("noise", &mut self.noise),
            ("losses", &mut self.losses),
        ]
    }

    /// The number of completed steps.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The current state.
    ///
    /// # Errors
    ///
    /// None that is expected.
    pub fn checkpoint(&mut self) -> Result<TrainingCheckpoint> {
        let epoch = self.step / self.loader.len() as u64;
        let mut checkpoint = TrainingCheckpoint::new(epoch, self.step);
        for (name, part) in self.parts() {
            checkpoint = checkpoint.with(name, part)?;
        }
        Ok(checkpoint)
    }

    /// Resumes from the checkpoint of a directory.
    ///
    /// # Errors
    ///
    /// A directory without a complete checkpoint.
    pub fn restore(&mut self, directory: &Path) -> Result<()> {
        let checkpoint = TrainingCheckpoint::load(directory)?;
        for (name, part) in self.parts() {
            checkpoint.restore(name, part)?;
        }
        self.step = checkpoint.step();
        Ok(())
    }

    /// Trains until this many steps are complete, and calls a function after each of them.
    ///
    /// # Errors
    ///
    /// Those of the function.
    pub fn train(
        &mut self,
        until: u64,
        mut after: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        while self.step < until {
            for batch in self.loader.iter() {
                let (x, y) = batch?;
                self.train_step(x, &y)?;
                after(self)?;
                if self.step == until {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn train_step(&mut self, x: Tensor, y: &Tensor) -> Result<()> {
        let noise = Tensor::normal(x.shape().clone(), 0.0, 0.1, DType::F32, &self.noise)?;
        let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
        let (x, y) = (
            x.add(&noise)?.to_device(&self.device)?,
            y.to_device(&self.device)?,
        );
        let loss = autocast(DType::F16, || criterion.loss(&self.model.call(x)?, &y))?;
        self.model.zero_grad();
        self.scaler.scale(&loss)?.backward()?;
        self.scaler.unscale(&self.model)?;
        clip_grad_norm(&self.model, 1.0)?;
        if self.scaler.step(&mut self.optimizer, &self.model)? {
            self.schedule.step(&mut self.optimizer)?;
            self.average.update(&self.model)?;
        }
        self.scaler.update()?;
        self.losses.0.push(loss.item()?);
        self.step += 1;
        Ok(())
    }
}

/// Saves two checkpoints, which are the same bytes if their parts are equal, and returns the names of the files that
/// differ.
///
/// # Errors
///
/// Files that cannot be written or read.
pub fn differences(
    found: &TrainingCheckpoint,
    expected: &TrainingCheckpoint,
) -> Result<Vec<String>> {
    let (found, expected) = (files(found)?, files(expected)?);
    let names: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let differ = |name: &&&String| found.get(**name) != expected.get(**name);
    Ok(names
        .iter()
        .filter(differ)
        .map(|name| (*name).clone())
        .collect())
}

/// The contents of the files of a checkpoint.
fn files(checkpoint: &TrainingCheckpoint) -> Result<BTreeMap<String, Vec<u8>>> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("long-run-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    checkpoint.save(&directory)?;
    let mut files = BTreeMap::new();
    for file in std::fs::read_dir(&directory)? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        files.insert(name, std::fs::read(file.path())?);
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(files)
}
