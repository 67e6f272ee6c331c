//! What a training leaves: tests of the averaged weights, a learning rate at the end of its cycle, statistics of each step.

use std::fs;

use module_examples::FashionNet;
use module_nn::data::{DataLoaderConfig, Dataset};
use module_nn::metrics::{ConfusionMatrix, MeanMetric, Metric};
use module_nn::plot;
use module_nn::prelude::*;

use crate::killed::{EPOCHS, few_digits, live, place};

#[test]
fn a_training_is_judged_by_its_averaged_weights() -> Result<()> {
    let (place, data) = (place("learned"), few_digits());
    live(&place, false);
    let checkpoint = TrainingCheckpoint::load(&place)?;
    let mut model = FashionNet::new([16, 32, 64, 96])?;
    checkpoint.restore("model", &mut model)?;
    let config = EMAConfig::new(0.998).use_buffers(true).use_warmup(true);
    let mut ema = config.build(&model)?;
    checkpoint.restore("ema", &mut ema)?;
    model.eval();
    let tested = data.tested()?;
    let loader = DataLoaderConfig::new().batch_size(tested.len());
    let loader = loader.build(tested)?;
    let logits = || -> Result<(Tensor, Tensor)> {
        let (images, labels) = loader.iter().next().unwrap()?;
        Ok((no_grad(|| model.call(images))?, labels))
    };
    let (last, _) = logits()?;
    let swapped = ema.swap_in(&model)?;
    let (averaged, labels) = logits()?;
    drop(swapped);
    assert!(!averaged.equal(&last)?);
    let mut confusion = ConfusionMatrix::new(10)?;
    confusion.update(&averaged, &labels)?;
    let expected = plot::confusion_matrix(&confusion.compute()?, &data.classes)?;
    let picture = fs::read_to_string(place.join("confusion_matrix.svg")).unwrap();
    assert_eq!(picture, expected);

    // All steps were in training mode, the last one at the end of the cycle; each epoch has its own loss.
    let steps = 3 * EPOCHS;
    assert_eq!(checkpoint.step(), steps);
    let counts = model.named_buffers();
    let counts = counts.filter(|(key, _)| key.ends_with("num_batches_tracked"));
    for (key, count) in counts {
        assert_eq!(count.tensor().item::<i64>()?, steps as i64, "{key}");
    }
    let config = SGDConfig::new(0.15).momentum(0.9).nesterov(true);
    let mut optimizer = config.weight_decay(5e-4).build(&model)?;
    let _ = checkpoint.restore("optimizer", &mut optimizer)?;
    assert!(optimizer.lr() < 1e-5, "{}", optimizer.lr());
    let mut loss = MeanMetric::default();
    checkpoint.restore("loss", &mut loss)?;
    assert!(loss.compute().is_err());
    fs::remove_dir_all(place).unwrap();
    Ok(())
}
