//! The U-Net and the scheduler of DDPM, compared with diffusers.

use module_examples::models::ddpm::{DDPMScheduler, UNet2DModel};
use module_examples::models::pretrained::Pretrained;
use module_nn::prelude::*;

use crate::compare::{BOUNDS, compare, compare_tensor, directory};

#[test]
fn unet_2d_is_diffusers() {
    for name in ["ddpm", "ddpm_options"] {
        let model = UNet2DModel::from_pretrained(directory(name).join("unet")).unwrap();
        compare(name, &model, &BOUNDS, |model, inputs| {
            model.call((inputs[0].clone(), inputs[1].clone()))
        });
    }
}

#[test]
fn images_are_drawn_as_by_diffusers() {
    let model = UNet2DModel::from_pretrained(directory("ddpm").join("unet")).unwrap();
    let scheduler = DDPMScheduler::from_pretrained(directory("ddpm").join("scheduler")).unwrap();
    let recorded = StateDict::load(directory("ddpm_steps.safetensors")).unwrap();
    let get = |key: &str| recorded.get(key).unwrap();
    let numbers = |key: &str| get(key).to_vec::<i64>().unwrap();

    let [images, noise] = ["images", "noise"].map(get);
    for (i, step) in numbers("noised_steps").into_iter().enumerate() {
        let noised = scheduler.add_noise(images, noise, step as usize).unwrap();
        compare_tensor(&noised, get(&format!("noised/{i}")), 1e-6);
    }

    // Some of the training steps, and all of them.
    let few = scheduler.clone().inference_steps(7).unwrap();
    let steps: Vec<i64> = few.timesteps().iter().map(|&step| step as i64).collect();
    assert_eq!(steps, numbers("few_steps"));
    for (name, scheduler) in [("few", &few), ("all", &scheduler)] {
        let steps = scheduler.timesteps();
        for (i, step) in [steps[0], steps[1], steps[steps.len() - 2], 0]
            .into_iter()
            .enumerate()
        {
            let before = scheduler.step(noise, step, images, get("fresh")).unwrap();
            compare_tensor(&before, get(&format!("{name}/{i}")), 1e-5);
        }
    }

    for steps in [0, 1001] {
        let error = scheduler.clone().inference_steps(steps).unwrap_err();
        let expected = format!("inference_steps = {steps}: must be between 1 and 1000");
        assert!(error.to_string().contains(&expected), "{error}");
    }
    let drawn = fork_rng(5, || few.sample(&model, [2, 1, 8, 8])).unwrap();
    compare_tensor(&drawn, get("drawn"), 1e-4);
}
