use module_nn::prelude::*;

use super::{Net, Seen, batch, train};
use crate::files::Scratch;
use crate::long_run::{LongRun, differences};

/// A model that is saved from the device and loaded straight to it.
///
/// # Errors
///
/// None that is expected.
pub fn checkpoints(device: &Device) -> Result<Seen> {
    let mut seen = Seen::default();
    let model = Net::new(device)?;
    let mut optimizer = AdamW::new(&model, 1e-2)?;
    train(&model, &mut optimizer, batch(4, device)?)?;
    let scratch = Scratch::directory(&format!("checkpoints-{}", device.kind()));
    let files = ["model.safetensors", "model.npz", "model.pt"].map(|name| scratch.file(name));
    for path in &files {
        model.save(path)?;
        // Moved before it has values.
        let loaded = deferred(|| Net::new(device))?;
        seen.text("missing", &loaded.load(path)?.missing);
        seen.state("loaded", &loaded, device)?;
        assert!(loaded.state_dict()?.diff(&model.state_dict()?)?.is_empty());
        // The file is the same as from the CPU.
        let copy = Net::new(&Device::cpu())?;
        seen.text("missing", &copy.load(path)?.missing);
        let again = scratch
            .file("again")
            .with_extension(path.extension().unwrap());
        copy.save(&again)?;
        assert!(std::fs::read(path)? == std::fs::read(again)?, "{path:?}");
    }
    Ok(seen)
}

/// A training that resumes from a directory and ends with the same bits.
///
/// # Errors
///
/// None that is expected.
pub fn resumed(device: &Device) -> Result<Seen> {
    const STEPS: u64 = 20;
    let directory = Scratch::new(&format!("resumed-{}", device.kind()));
    let expected = fork_rng(0, || {
        let mut run = LongRun::on(5, device)?;
        run.train(STEPS, |_| Ok(()))?;
        run.checkpoint()
    })?;
    fork_rng(0, || {
        let mut run = LongRun::on(5, device)?;
        run.train(13, |_| Ok(()))?;
        run.checkpoint()?.save(&directory)?;
        // Later events do not count.
        run.train(15, |_| Ok(()))
    })?;
    // Only the directory remains: different seed, different weights, different order.
    let found = fork_rng(1, || {
        let mut run = LongRun::on(6, device)?;
        run.restore(directory.as_ref())?;
        run.train(STEPS, |_| Ok(()))?;
        run.checkpoint()
    })?;
    assert_eq!(differences(&found, &expected)?, [""; 0]);
    let mut seen = Seen::default();
    seen.text("steps", &(found.epoch(), found.step()));
    Ok(seen)
}
