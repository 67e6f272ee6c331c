//! Two networks that pause each other in turn, trained as in PyTorch.

use module_nn::functional::{Reduction, binary_cross_entropy_with_logits};
use module_nn::prelude::*;

use super::{Run, check, network};

fn loss(logits: &Tensor, real: bool) -> Tensor {
    let target = logits
        .zeros_like()
        .unwrap()
        .add(f64::from(u8::from(real)))
        .unwrap();
    binary_cross_entropy_with_logits(logits, &target, None, Reduction::Mean, None).unwrap()
}

#[test]
fn pitfall_53_networks_that_pause_each_other_train_as_recorded() {
    let run = Run::read("gan");
    let kwargs = &run.case["kwargs"];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let config = AdamWConfig::new(number(&kwargs["lr"]))
        .betas((number(&kwargs["betas"][0]), number(&kwargs["betas"][1])))
        .weight_decay(number(&kwargs["weight_decay"]));
    let (generator, discriminator) = (network(2, 3), network(3, 1));
    run.set_initial(&generator, "generator.");
    run.set_initial(&discriminator, "discriminator.");
    let mut of_generator = config.build(&generator).unwrap();
    let mut of_discriminator = config.build(&discriminator).unwrap();
    let turns = run.case["turns"].as_array().expect("turns");
    for (step, turn) in turns.iter().enumerate() {
        let (own, other, optimizer) = match turn.as_str() {
            Some("generator") => (&generator, &discriminator, &mut of_generator),
            _ => (&discriminator, &generator, &mut of_discriminator),
        };
        other.set_requires_grad(false);
        own.zero_grad();
        let fake = generator.call(run.row("noise", step)).unwrap();
        let fake = discriminator.call(fake).unwrap();
        let total = match turn.as_str() {
            Some("generator") => loss(&fake, true),
            _ => {
                let real = discriminator.call(run.row("real", step)).unwrap();
                loss(&real, true).add(loss(&fake, false)).unwrap()
            }
        };
        total.backward().unwrap();
        optimizer.step(own).unwrap();
        other.set_requires_grad(true);
        run.check_loss(step, &total);
    }
    for (prefix, model) in [
        ("generator.", &generator),
        ("discriminator.", &discriminator),
    ] {
        run.check_end(model, prefix);
        // Both still have the gradients of their own last turn.
        for (path, parameter) in model.named_parameters() {
            let expected = run.get(&format!("grad.{prefix}{path}"));
            check(&path, &parameter.grad().unwrap(), &expected);
        }
    }
}
