//! While a unit computes, the one that follows it is gathered.

use std::sync::{Arc, Mutex};

use module_dist::LocalComm;
use module_dist::sharding::{Sharded, ShardingStage};
use module_nn::prelude::*;

use crate::common::wrapped::{Around, Wrapped};

/// What a rank does, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, event: &str) {
        self.0.lock().unwrap().push(event.to_owned());
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(" ")
    }
}

impl Around for Log {
    fn all_gather(&self) {
        self.add("gather");
    }
}

fn layers() -> Result<Sequential> {
    manual_seed(0);
    let mut layers = (0..3).map(|_| Linear::new(4, 4));
    layers.try_fold(Sequential::new(), |model, layer| Ok(model.push(layer?)))
}

/// The events of each of two steps.
fn steps(prefetch: bool) -> Result<Vec<[String; 2]>> {
    LocalComm::run(2, |inner| {
        let log = Log::default();
        let around = log.clone();
        let comm = Arc::new(Wrapped { inner, around });
        let model = layers()?;
        let sharded = Sharded::new(&model, comm, ShardingStage::Parameters)?;
        sharded.set_prefetch(prefetch);
        let mut hooks = HookSet::new();
        for (path, module) in model.named_children() {
            let (forward, backward) = (log.clone(), log.clone());
            let calls = path.clone();
            hooks.push(module.register_forward_pre_hook(move |_| forward.add(&calls)));
            let event = format!("d{path}");
            hooks.push(module.register_full_backward_pre_hook(move |_| backward.add(&event)));
        }
        log.take();
        let step = || {
            let loss = model.call(Tensor::ones([2, 4], DType::F32)?)?.sum(..)?;
            sharded.backward(&loss)?;
            sharded.zero_grad();
            Ok::<_, Error>(log.take())
        };
        Ok([step()?, step()?])
    })
}

#[test]
fn the_next_unit_is_gathered_from_the_second_step_on() -> Result<()> {
    let each = "gather 0 gather 1 gather 2 gather d2 gather d1 gather d0";
    let ahead = "gather gather 0 gather 1 2 gather gather d2 gather d1 d0";
    for events in steps(true)? {
        assert_eq!(events, [each, ahead]);
    }
    for events in steps(false)? {
        assert_eq!(events, [each, each]);
    }
    Ok(())
}

/// The outputs after a step that follows two evaluations, the second of which gathers the first unit ahead.
fn output_after_evaluation(prefetch: bool) -> Result<Vec<f32>> {
    let outputs = LocalComm::run(2, |comm| {
        let model = layers()?;
        let sharded = Sharded::new(&model, comm, ShardingStage::Parameters)?;
        sharded.set_prefetch(prefetch);
        let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(sharded.shards())?;
        let x = Tensor::ones([2, 4], DType::F32)?;
        for _ in 0..2 {
            sharded.backward(&model.call(x.clone())?.square()?.sum(..)?)?;
            let evaluate = || no_grad(|| model.call(x.clone()));
            evaluate()?;
            evaluate()?;
            sharded.step(&mut optimizer)?;
            sharded.zero_grad();
        }
        no_grad(|| model.call(x))?.to_vec::<f32>()
    })?;
    assert_eq!(outputs[0], outputs[1]);
    Ok(outputs[0].clone())
}

#[test]
fn values_that_a_step_has_changed_are_gathered_again() -> Result<()> {
    let (ahead, each) = (
        output_after_evaluation(true)?,
        output_after_evaluation(false)?,
    );
    assert_eq!(ahead, each);
    Ok(())
}
