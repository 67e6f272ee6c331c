//! A second device: naming and finding it, training on it, and checkpoints that move off it.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod dropout;
mod fused;

use module_mirror::{Family, Mirror, mirror, mirror_with_generator, small_mirror};
use module_nn::prelude::*;
use module_nn::rng::{Generator, default_generator};
use module_nn::{TensorOptions, with_default_device};
use module_tests::digits::Digits;

#[test]
fn devices_are_found_by_their_names() -> Result<()> {
    let device = mirror(&[])?;
    let name = device.to_string();
    assert_eq!(name, format!("mirror:{}", device.index()));
    assert_eq!(name.parse::<Device>()?, device);
    assert!(Device::all().contains(&device) && Device::all()[0] == Device::cpu());
    assert!(device.backend_as::<Mirror>().is_some());
    assert!(Device::cpu().backend_as::<Mirror>().is_none());
    assert_eq!("cpu:0".parse::<Device>()?, Device::cpu());
    let error = "mirror:12345".parse::<Device>().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Device(DeviceError::Unknown { .. })),
        "{error}"
    );
    assert!(
        error.to_string().contains("available: cpu, mirror:"),
        "{error}"
    );
    for wrong in [
        "",
        "CPU",
        "cuda:",
        "cuda:-1",
        "cuda:+1",
        "cuda:1:2",
        ":1",
        "cuda:99999999999999999999",
    ] {
        let error = wrong.parse::<Device>().unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Argument { .. }),
            "{wrong}: {error}"
        );
    }
    device.synchronize()
}

#[test]
fn a_device_belongs_to_one_backend() -> Result<()> {
    let device = mirror(&[])?;
    // The same backend is the same device.
    assert_eq!(Device::register(device.backend())?, device);
    Ok(())
}

#[test]
fn kernels_refuse_memory_of_another_device() -> Result<()> {
    let device = mirror(&[])?;
    let x = Tensor::ones([2, 3], device)?;
    let error = x.add(&Tensor::ones([2, 3], ())?).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Device(DeviceError::Mismatch { .. })
        ),
        "{error}"
    );
    // Not even beyond the checks of the operations.
    let cpu = Device::cpu().backend();
    assert!(cpu.contiguous(x.operand()).is_err());
    Ok(())
}

#[test]
fn values_are_made_where_the_options_say() -> Result<()> {
    let device = mirror(&[])?;
    let drawn = |device: &Device| fork_rng(3, || Tensor::randn([4, 5], (DType::F64, device)));
    let (here, there) = (drawn(&Device::cpu())?, drawn(&device)?);
    assert_eq!(there.device(), device);
    assert_eq!(there.to_vec::<f64>()?, here.to_vec::<f64>()?);
    let weight = Tensor::zeros([2], TensorOptions::new().device(device).requires_grad(true))?;
    assert!(weight.is_leaf() && weight.requires_grad() && weight.device() == device);
    let refused = TensorOptions::new().dtype(DType::I64).requires_grad(true);
    assert_eq!(
        Tensor::zeros([2], refused).unwrap_err().to_string(),
        "zeros: not available for int64; it needs a floating-point tensor; cast it with `to_dtype`"
    );
    with_default_device(device, || {
        for x in [
            Tensor::zeros([2], ())?,
            Tensor::ones([2], DType::I64)?,
            Tensor::full([2], true, ())?,
            Tensor::eye(2, 2, ())?,
            Tensor::arange(0, 3, ())?,
            Tensor::linspace(0.0, 1.0, 3, ())?,
            Tensor::rand([2], ())?,
            Tensor::randperm(3, ())?,
            Tensor::randint(0, 3, [2], ())?,
            Tensor::bernoulli_with([2], 0.5, ())?,
            Tensor::exponential([2], 1.0, ())?,
        ] {
            assert_eq!(x.device(), device, "{x}");
        }
        // The program's own tensors stay where they are.
        assert_eq!(Tensor::from([1.0_f32]).device(), Device::cpu());
        Ok(())
    })
}

/// The parameters after a few steps.
fn trained(device: &Device) -> Result<StateDict> {
    let model = fork_rng(0, || with_default_device(*device, || Digits::new(4, 0.25)))?;
    for (name, parameter) in model.named_parameters() {
        assert_eq!(parameter.device(), *device, "{name}");
    }
    let mut optimizer = AdamW::new(&model, 0.01)?;
    let criterion = CrossEntropyLoss::new();
    fork_rng(1, || {
        for _ in 0..4 {
            let images = Tensor::rand([8, 1, 8, 8], device)?;
            let labels = Tensor::randint(0, 10, [8], device)?;
            let loss = criterion.call((model.call(images)?, labels))?;
            assert_eq!(loss.device(), *device);
            model.zero_grad();
            loss.backward()?;
            optimizer.step(&model)?;
        }
        Ok::<_, Error>(())
    })?;
    model.to_device(&Device::cpu())?;
    model.state_dict()
}

#[test]
fn the_digits_network_trains_to_the_same_bits_on_a_mirror() -> Result<()> {
    let (here, there) = (trained(&Device::cpu())?, trained(&mirror(&[])?)?);
    let difference = there.diff(&here)?;
    assert!(difference.is_empty(), "{difference}");
    Ok(())
}

#[test]
fn without_any_one_of_the_fused_families_it_trains_as_well() -> Result<()> {
    let here = trained(&Device::cpu())?;
    for family in Family::ALL {
        let there = trained(&mirror(&[family])?)?;
        for (key, value) in &there {
            let other = here.get(key).expect("the same keys");
            let close = value.to_dtype(DType::F64)?.allclose(
                &other.to_dtype(DType::F64)?,
                module_core::Tolerance::new().rtol(1e-2).atol(1e-2),
            )?;
            assert!(close, "{family:?}: {key}");
        }
    }
    Ok(())
}

#[test]
fn a_checkpoint_goes_to_a_mirror_and_back() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("mirror_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (first, second) = (folder.join("a.safetensors"), folder.join("b.safetensors"));
    let here = fork_rng(0, || Digits::new(4, 0.0))?;
    here.save(&first)?;
    // Moved before it has a value, then loaded.
    let device = mirror(&[])?;
    let there = deferred(|| Digits::new(4, 0.0))?;
    there.to_device(&device)?;
    assert!(there.load(&first)?.missing.is_empty());
    assert!(there.named_parameters().all(|(_, p)| p.device() == device));
    there.save(&second)?;
    assert_eq!(
        std::fs::read(&first).unwrap(),
        std::fs::read(&second).unwrap()
    );
    std::fs::remove_dir_all(folder).unwrap();
    Ok(())
}

#[test]
fn a_deferred_model_is_drawn_where_it_was_moved_to() -> Result<()> {
    let device = mirror(&[])?;
    let model = deferred(|| Linear::new(3, 4))?;
    model.to_device(&device)?;
    fork_rng(0, || model.reset_parameters())?;
    assert_eq!(model.weight().device(), device);
    let same = fork_rng(0, || Linear::new(3, 4))?;
    assert_eq!(
        model.weight().tensor().to_vec::<f32>()?,
        same.weight().tensor().to_vec::<f32>()?
    );
    Ok(())
}

#[test]
fn a_device_may_draw_its_own_random_numbers() -> Result<()> {
    let device = mirror_with_generator()?;
    fork_rng(5, || {
        let before = default_generator().get_state();
        let x = Tensor::rand([1000], (DType::F64, device))?;
        assert_eq!(x.device(), device);
        // The CPU's generator was not used.
        assert_eq!(default_generator().get_state(), before);
        let own = device.default_generator();
        assert_eq!((own.device(), own.initial_seed()), (device, 5));
        let of_cpu = Tensor::rand([1000], DType::F64)?.to_vec::<f64>()?;
        assert_ne!(x.to_vec::<f64>()?, of_cpu);

        // One seed for all devices.
        manual_seed(5);
        let again = Tensor::rand([1000], (DType::F64, device))?;
        assert_eq!(again.to_vec::<f64>()?, x.to_vec::<f64>()?);
        assert_eq!(Tensor::rand([1000], DType::F64)?.to_vec::<f64>()?, of_cpu);

        // Its state continues from where it was.
        let state = own.get_state();
        let next = Tensor::randn([7], device)?.to_vec::<f32>()?;
        own.set_state(&state)?;
        assert_eq!(Tensor::randn([7], device)?.to_vec::<f32>()?, next);
        assert!(own.set_state(&state[1..]).is_err());
        Ok(())
    })
}

#[test]
fn initializers_draw_where_the_parameters_lie() -> Result<()> {
    let device = mirror_with_generator()?;
    let build = || with_default_device(device, || Linear::new(3, 4));
    let values = |layer: &Linear| layer.weight().tensor().to_vec::<f32>();
    fork_rng(1, || {
        let before = default_generator().get_state();
        let layer = build()?;
        assert_eq!(layer.weight().device(), device);
        assert_eq!(default_generator().get_state(), before);
        let first = values(&layer)?;
        manual_seed(1);
        layer.reset_parameters()?;
        assert_eq!(values(&layer)?, first);

        // A CPU generator gives its own values on every device; a device's generator only on that device.
        layer.reset_parameters_with(&Generator::new(0))?;
        let here = fork_rng(0, || Linear::new(3, 4))?;
        assert_eq!(values(&layer)?, values(&here)?);
        let own = Generator::on(device, 0)?;
        let error = Tensor::normal(2, 0.0, 1.0, Device::cpu(), &own).unwrap_err();
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Device(DeviceError::Mismatch { .. })
            ),
            "{error}"
        );
        let y = Tensor::ones([8, 8], device)?.dropout(0.5)?;
        assert_eq!(y.device(), device);
        assert_eq!(default_generator().get_state(), before);
        Ok(())
    })
}

/// An initializer that builds a layer, which draws random numbers, while it runs.
struct OfALayer;

impl Init for OfALayer {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let layer = Linear::new(shape[1], shape[0])?;
        layer.reset_parameters_with(generator)?;
        layer.weight().detach().to_dtype(dtype)
    }
}

#[test]
fn no_lock_is_held_while_an_initializer_runs() -> Result<()> {
    let weight = fork_rng(3, || {
        let of_threads = std::thread::spawn(|| Parameter::with_init([4, 3], OfALayer));
        let weight = Parameter::with_init([4, 3], OfALayer)?;
        of_threads.join().unwrap()?;
        Ok::<_, Error>(weight)
    })?;
    let expected = fork_rng(3, || {
        let first = Linear::new(3, 4)?;
        first.reset_parameters()?;
        first.weight().tensor().to_vec::<f32>()
    })?;
    assert_eq!(weight.tensor().to_vec::<f32>()?, expected);
    Ok(())
}

#[test]
fn what_fails_later_is_told_when_it_is_waited_for() -> Result<()> {
    let device = small_mirror(64)?;
    let mirror: &Mirror = device.backend_as().unwrap();
    let x = Tensor::ones([4], device)?;
    mirror.fail_later(std::io::Error::other("a kernel was stopped"));
    // Operations in the meantime continue.
    let y = x.add(&x)?;
    let error = device.synchronize().unwrap_err();
    assert_eq!(error.to_string(), format!("{device}: a kernel was stopped"));
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.downcast_ref::<std::io::Error>().is_some());
    // It is reported once, by a wait or by anything else that needs the values.
    device.synchronize()?;
    assert_eq!(y.to_vec::<f32>()?, [2.0; 4]);
    mirror.fail_later(std::io::Error::other("again"));
    assert!(y.to_vec::<f32>().is_err());
    assert_eq!(
        Tensor::zeros([17], (DType::F32, device))
            .unwrap_err()
            .to_string(),
        format!("{device}: not enough memory for 68 bytes; free tensors or use smaller batches")
    );
    Ok(())
}
