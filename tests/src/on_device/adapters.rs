use module_nn::lora::{self, InitLoraWeights, LoraConfig};
use module_nn::prelude::*;

use super::{Net, Seen, batch, train};
use crate::files::Scratch;

/// An adapter that is added, trained, saved, loaded, switched off, merged and taken out again.
///
/// # Errors
///
/// None that is expected.
pub fn adapters(device: &Device) -> Result<Seen> {
    let mut seen = Seen::default();
    let mut model = Net::new(device)?;
    let (x, y) = batch(1, device)?;
    let base = model.call(x.clone())?;
    let config = LoraConfig::new()
        .r(2)
        .init_lora_weights(InitLoraWeights::Random);
    let report = lora::add_adapter(&mut model, "default", ["first", "head"], &config)?;
    seen.text("matched", &report.matched);
    seen.state("added", &model, device)?;
    let mut optimizer = AdamW::new(&model, 1e-2)?;
    for step in 0..3 {
        let loss = train(&model, &mut optimizer, (x.clone(), y.clone()))?;
        seen.values(format!("loss {step}"), &loss)?;
    }
    seen.state("trained", &model, device)?;
    let adapted = model.call(x.clone())?;
    seen.values("adapted", &adapted)?;
    // Only the adapter has changed.
    let without = lora::disable_adapters(&model, || model.call(x.clone()))??;
    assert!(without.equal(&base)?);

    let folder = Scratch::new(&format!("adapter-{}", device.kind()));
    lora::save_pretrained(&model, "default", &folder)?;
    let mut loaded = Net::new(device)?;
    lora::load_pretrained(&mut loaded, &folder, "mine")?;
    assert!(loaded.call(x.clone())?.equal(&adapted)?);
    seen.state("loaded", &loaded, device)?;

    seen.text("merged into", &lora::merge(&mut model)?);
    seen.values("merged", &model.call(x.clone())?)?;
    lora::unmerge(&mut model)?;
    seen.values("unmerged", &model.call(x.clone())?)?;
    lora::merge_and_unload(&mut model)?;
    seen.values("unloaded", &model.call(x)?)?;
    seen.state("plain", &model, device)?;
    Ok(seen)
}
