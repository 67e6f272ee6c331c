//! Quantized weights: they stay packed in the memory of the device, and kernels unpack them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use common::gpu;
use module_nn::backend::{
    HostData, Nf4Absmax, Nf4Parts, Nf4Storage, Packed, PackedRuns, Storage, StorageData,
};
use module_nn::checkpoint::Gguf;
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, dequantize, quantize};
use module_nn::{BlockFormat, Layout, Tolerance};
use module_tests::files::Scratch;
use module_tests::quantized::{EVERY, assert_near, check_not_finite, check_products, randn};

/// Held by each test, as memory and counts are those of the device.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a test on the device, alone, and asserts that nothing was computed on the host.
fn run_alone(test: impl FnOnce(&Device) -> Result<()>) -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = common::device() else {
        return Ok(());
    };
    let before = gpu(&device).stats().host_routes;
    test(&device)?;
    assert_eq!(gpu(&device).stats().host_routes, before);
    Ok(())
}

/// Formats of blocks, and weights with blocks of different scales.
const FORMATS: [BlockFormat; 4] = [
    BlockFormat::Q8_0,
    BlockFormat::Q4_0,
    BlockFormat::Q4K,
    BlockFormat::Q6K,
];

/// A weight of every scheme and every format, with its name.
fn weights(rows: usize, columns: usize) -> Result<Vec<(String, Tensor)>> {
    let scales = randn(8, &[rows, 1]).exp()?;
    let x = randn(9, &[rows, columns]).mul(&scales)?;
    let mut all = Vec::new();
    for scheme in EVERY {
        all.push((format!("{scheme:?}"), scheme.pack(&x)?));
    }
    for format in FORMATS {
        all.push((format.name().to_owned(), format.quantize(&x)?));
    }
    Ok(all)
}

/// Bytes that the memory for `bytes` may take: buffers have sizes in steps.
fn at_most(bytes: usize) -> u64 {
    (bytes + bytes / 8 + 256) as u64
}

#[test]
fn products_are_those_of_the_cpu() -> Result<()> {
    run_alone(|device| {
        check_products(device);
        check_not_finite(device);
        Ok(())
    })
}

#[test]
fn products_with_blocks_are_those_of_the_cpu() -> Result<()> {
    run_alone(|device| {
        for (format, rows) in FORMATS.into_iter().flat_map(|f| [1, 5, 70].map(|m| (f, m))) {
            let weight = format.quantize(&randn(1, &[40, 512]))?;
            let there = weight.to_device(device)?;
            assert_eq!(BlockFormat::of(&there), Some(format));
            for dtype in [DType::F32, DType::F16] {
                let x = randn(2, &[rows, 512]).to_dtype(dtype)?;
                let y = x.to_device(device)?.linear(&there, None)?;
                assert_near(&y, &x.linear(&weight, None)?, format.name());
            }
        }
        Ok(())
    })
}

#[test]
fn elements_are_unpacked_on_the_device() -> Result<()> {
    run_alone(|device| {
        // The CPU computes some of them by a product and a sum, which a driver may round once.
        let near = Tolerance::new().rtol(1e-6).atol(1e-6);
        for (name, weight) in weights(6, 512)? {
            let there = weight.to_device(device)?;
            let before = gpu(device).stats();
            let unpacked = there.unpack()?;
            let after = gpu(device).stats();
            assert_eq!(after.uploaded, before.uploaded, "{name}");
            assert_eq!(after.waits, before.waits, "{name}");
            let unpacked = unpacked.to_device(&Device::cpu())?;
            assert!(unpacked.allclose(&weight.unpack()?, near)?, "{name}");
        }
        // An odd number of elements, values other than `NormalFloat4`'s, and a dtype of 16 bits.
        let mut parts = Nf4Parts::quantize(&[0.5, -2.0, 1.0, 0.25, 3.0], 2, false, DType::BF16)?;
        parts.values = Nf4Parts::FP4_VALUES;
        assert!(matches!(parts.absmax, Nf4Absmax::Plain(_)));
        let storage = Storage::new(Nf4Storage::new(parts)?);
        let x = Tensor::from_storage(storage, Layout::contiguous([5].into()));
        let there = x.to_device(device)?.unpack()?;
        assert!(there.to_device(&Device::cpu())?.equal(&x.unpack()?)?);
        Ok(())
    })
}

#[test]
fn memory_on_the_device_is_that_of_the_packed_bytes() -> Result<()> {
    run_alone(|device| {
        for (name, weight) in weights(256, 1024)? {
            let x = randn(3, &[2, 1024]).to_device(device)?;
            device.synchronize()?;
            let before = gpu(device).used_bytes();
            let there = weight.to_device(device)?;
            let used = gpu(device).used_bytes() - before;
            // Without the sums of rows, and with the tables of values, which the CPU does not count.
            let difference = there.nbytes().abs_diff(weight.nbytes());
            assert!(difference <= 4 * 272, "{name}: {difference}");
            assert!(used >= there.nbytes() as u64, "{name}: {used}");
            assert!(used <= at_most(there.nbytes()), "{name}: {used}");
            // A product has no memory for the unpacked weight, and leaves none.
            device.empty_cache();
            gpu(device).set_memory_limit(gpu(device).used_bytes() + (256 << 10));
            let y = x
                .linear(&there, None)
                .and_then(|y| y.to_device(&Device::cpu()));
            gpu(device).set_memory_limit(u64::MAX);
            assert_eq!(**y?.shape(), [2, 256]);
            assert_eq!(gpu(device).used_bytes() - before, used, "{name}");
        }
        Ok(())
    })
}

/// A network with two weights to quantize and one layer between them that is not.
fn net() -> Result<Sequential> {
    fork_rng(0, || {
        Ok(Sequential::new()
            .push(Linear::new(128, 96)?)
            .push(LayerNorm::new([96])?)
            .push(ReLU::new())
            .push(Linear::new(96, 10)?))
    })
}

#[test]
fn a_quantized_model_computes_and_passes_gradients_without_the_host() -> Result<()> {
    run_alone(|device| {
        for scheme in EVERY {
            let [here, there] = [net()?, net()?];
            let report = quantize(&here, Select::all(), scheme)?;
            quantize(&there, Select::all(), scheme)?;
            device.synchronize()?;
            let before = gpu(device).used_bytes();
            there.to_device(device)?;
            let used = gpu(device).used_bytes() - before;
            let tables = 2 * 4 * 272;
            assert!(
                used <= at_most(report.bytes_after + tables) + 8 * 256,
                "{scheme:?}: {used}"
            );
            let x = randn(1, &[5, 128]);
            let [a, b] = [x.detach().with_grad()?, x.to_device(device)?.with_grad()?];
            let expected = here.call(a.clone())?;
            expected.sum(..)?.backward()?;
            let stats = gpu(device).stats();
            let y = there.call(b.clone())?;
            y.sum(..)?.backward()?;
            let after = gpu(device).stats();
            assert_eq!(after.waits, stats.waits, "{scheme:?}");
            assert_eq!(after.downloaded, stats.downloaded, "{scheme:?}");
            assert_near(&y, &expected, &format!("{scheme:?}"));
            assert_near(
                &b.grad().unwrap(),
                &a.grad().unwrap(),
                &format!("{scheme:?}"),
            );
            // Unpacked again, it computes the same, but for inputs that are rounded.
            dequantize(&there, Select::all())?;
            if scheme != Scheme::Int8Dynamic {
                assert_near(&there.call(b)?, &expected, &format!("{scheme:?}"));
            }
        }
        Ok(())
    })
}

#[test]
fn files_are_those_of_the_cpu() -> Result<()> {
    run_alone(|device| {
        let scratch = Scratch::directory("gpu_quantized");
        let [a, b] = ["a", "b"].map(|name| scratch.file(&format!("{name}.safetensors")));
        for scheme in EVERY {
            let model = net()?;
            quantize(&model, Select::all(), scheme)?;
            model.save(&a)?;
            model.to_device(device)?;
            model.save(&b)?;
            assert!(std::fs::read(&a)? == std::fs::read(&b)?, "{scheme:?}");
            // Loaded to the device, it is packed there.
            let loaded = net()?;
            loaded.to_device(device)?;
            assert!(loaded.load(&a)?.missing.is_empty());
            let weight = loaded.named_parameters().next().unwrap().1.detach();
            assert!(weight.is_packed() && weight.device() == *device);
            let x = randn(1, &[3, 128]).to_device(device)?;
            let [y, again] = [model.call(x.clone())?, loaded.call(x)?];
            assert_eq!(y.to_vec::<f32>()?, again.to_vec::<f32>()?, "{scheme:?}");
        }
        for format in FORMATS {
            let weight = format.quantize(&randn(1, &[3, 512]))?;
            let there = weight.to_device(device)?;
            let [here, there] =
                [weight, there].map(|w| Gguf::new([("w", w)].into_iter().collect()));
            assert!(here.to_bytes()? == there.to_bytes()?, "{format:?}");
        }
        Ok(())
    })
}

/// A scheme that this crate does not know: bytes that stand for halves.
struct Halves {
    bytes: Vec<u8>,
    device: Device,
}

impl StorageData for Halves {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn device(&self) -> Device {
        self.device
    }

    fn packed(&self) -> Option<&dyn Packed> {
        Some(self)
    }
}

impl Packed for Halves {
    fn scheme(&self) -> &'static str {
        "halves"
    }

    fn numel(&self) -> usize {
        self.bytes.len()
    }

    fn size_in_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn unpack(&self) -> Result<Storage> {
        let mut values = vec![0.0; self.bytes.len()];
        self.unpack_run(0..values.len(), &mut values);
        self.device.backend().upload(HostData::F32(values))
    }

    fn runs(&self) -> Option<&dyn PackedRuns> {
        Some(self)
    }
}

impl PackedRuns for Halves {
    fn group(&self) -> usize {
        1
    }

    fn unpack_run(&self, run: Range<usize>, out: &mut [f32]) {
        for (out, &byte) in out.iter_mut().zip(&self.bytes[run]) {
            *out = f32::from(byte) * 0.5;
        }
    }
}

#[test]
fn a_scheme_that_stays_on_the_host_is_counted() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = common::device() else {
        return Ok(());
    };
    let bytes = (0..12).collect();
    let storage = Storage::new(Halves { bytes, device });
    let weight = Tensor::from_storage(storage, Layout::contiguous([4, 3].into()));
    let x = Tensor::ones([1, 4], (DType::F32, device))?;
    let before = gpu(&device).stats().host_routes;
    assert_eq!(x.matmul(&weight)?.to_vec::<f32>()?, [9.0, 11.0, 13.0]);
    let counted = |routes: &BTreeMap<&str, u64>| routes.get("packed_matmul").copied();
    let after = gpu(&device).stats().host_routes;
    assert_eq!(counted(&after), Some(counted(&before).unwrap_or(0) + 1));
    Ok(())
}
