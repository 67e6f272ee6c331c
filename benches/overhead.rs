//! The cost that parameter groups, clipping and a schedule add to a training step of the MLP row (784-512-256-10, batch 64,
//! AdamW). The variants take turns, and each ratio is the median of the ratios of the turns.
//!
//! `cargo bench -p module-benches --bench overhead`

use std::time::Instant;

use module_nn::optim::no_decay;
use module_nn::prelude::*;
use module_nn::set_num_threads;

const TURNS: usize = 40;
const STEPS: usize = 10;

struct Run {
    model: Sequential,
    optimizer: AdamW,
    schedule: Option<WarmupCosine>,
    clips: bool,
    x: Tensor,
    labels: Tensor,
}

impl Run {
    fn new(groups: bool, clips: bool, schedules: bool) -> Result<Self> {
        manual_seed(0);
        let model = Sequential::new()
            .push(Linear::new(784, 512)?)
            .push(ReLU::new())
            .push(Linear::new(512, 256)?)
            .push(ReLU::new())
            .push(Linear::new(256, 10)?);
        let config = AdamWConfig::new(1e-4);
        let mut optimizer = match groups {
            true => config
                .group(no_decay(&model), |group| group.weight_decay(0.0))
                .build(&model)?,
            false => config.build(&model)?,
        };
        let schedule = match schedules {
            true => Some(WarmupCosine::new(&mut optimizer, 10, 1_000_000)?),
            false => None,
        };
        Ok(Self {
            model,
            optimizer,
            schedule,
            clips,
            x: Tensor::randn([64, 784], DType::F32)?,
            labels: Tensor::randint(0, 10, [64], DType::I64)?,
        })
    }

    /// Microseconds per step.
    fn time(&mut self) -> Result<f64> {
        let start = Instant::now();
        for _ in 0..STEPS {
            let logits = self.model.call(self.x.clone())?;
            let loss = CrossEntropyLoss::new().loss(&logits, &self.labels)?;
            self.model.zero_grad();
            loss.backward()?;
            if self.clips {
                // So small that every step scales the gradients.
                clip_grad_norm(&self.model, 1e-3)?;
            }
            self.optimizer.step(&self.model)?;
            if let Some(schedule) = &mut self.schedule {
                schedule.step(&mut self.optimizer)?;
            }
        }
        Ok(start.elapsed().as_secs_f64() * 1e6 / STEPS as f64)
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() -> Result<()> {
    let variants = [
        ("bare", [false, false, false]),
        ("groups", [true, false, false]),
        ("clipping", [false, true, false]),
        ("schedule", [false, false, true]),
        ("all three", [true, true, true]),
    ];
    for threads in [1, 2] {
        set_num_threads(threads);
        let mut runs = Vec::new();
        for (name, [groups, clips, schedules]) in variants {
            runs.push((name, Run::new(groups, clips, schedules)?, Vec::new()));
        }
        for _ in 0..TURNS {
            for (_, run, times) in &mut runs {
                times.push(run.time()?);
            }
        }
        let bare = runs[0].2.clone();
        println!("{threads} thread(s)");
        for (name, _, times) in runs {
            let ratios = times.iter().zip(&bare).map(|(time, bare)| time / bare);
            let ratio = median(ratios.collect());
            println!("{name:10} {:8.0} µs {ratio:6.3}", median(times));
        }
    }
    Ok(())
}
