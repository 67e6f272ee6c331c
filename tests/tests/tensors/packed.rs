//! A packed format defined by this test on the public interface of module-tensor: blocks of four-bit numbers with one scale
//! each, a matrix product that reads them, and a typed error from everything else.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod refused;

use module_core::backend::{HostData, Packed, Storage, StorageData};
use module_core::{
    Backward, DType, DTypeError, Device, Error, ErrorKind, Function, Gradients, Layout, PadMode,
    Result, Shape, Tensor,
};
use module_mirror::mirror;
use module_nn::prelude::*;

const SCHEME: &str = "q4_0";

/// The number of elements in a block.
const BLOCK: usize = 32;

/// A scale, and numbers from -8 to 7 in half bytes: the first sixteen in the lower halves.
#[derive(Clone)]
struct Block {
    scale: f32,
    halves: [u8; BLOCK / 2],
}

impl Block {
    fn pack(values: &[f32]) -> Self {
        let extreme = values
            .iter()
            .copied()
            .max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let scale = extreme.unwrap_or(0.0) / -8.0;
        let inverse = if scale == 0.0 { 0.0 } else { 1.0 / scale };
        let code = |v: f32| ((v * inverse).round() + 8.0).clamp(0.0, 15.0) as u8;
        let (low, high) = values.split_at(BLOCK / 2);
        let mut halves = [0; BLOCK / 2];
        for ((half, &low), &high) in halves.iter_mut().zip(low).zip(high) {
            *half = code(low) | code(high) << 4;
        }
        Self { scale, halves }
    }

    fn unpack(&self) -> [f32; BLOCK] {
        std::array::from_fn(|i| {
            let half = self.halves[i % (BLOCK / 2)];
            let code = if i < BLOCK / 2 { half & 15 } else { half >> 4 };
            (f32::from(code) - 8.0) * self.scale
        })
    }
}

/// Rows of blocks in host memory, on any device that can read them there.
struct Q4 {
    blocks: Vec<Block>,
    device: Device,
}

impl StorageData for Q4 {
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

impl Packed for Q4 {
    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn numel(&self) -> usize {
        self.blocks.len() * BLOCK
    }

    fn size_in_bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>()
    }

    fn unpack(&self) -> Result<Storage> {
        let values = self.blocks.iter().flat_map(Block::unpack).collect();
        self.device.backend().upload(HostData::F32(values))
    }

    fn to_device(&self, device: &Device) -> Result<Storage> {
        let blocks = self.blocks.clone();
        Ok(Storage::new(Self {
            blocks,
            device: *device,
        }))
    }
}

/// A matrix with packed rows; their length is a multiple of the block length.
fn pack(x: &Tensor) -> Result<Tensor> {
    let values = x.to_vec::<f32>()?;
    let [_, columns] = x.dims()?;
    assert_eq!(columns % BLOCK, 0);
    let storage = Q4 {
        blocks: values.chunks(BLOCK).map(Block::pack).collect(),
        device: Device::cpu(),
    };
    Ok(Tensor::from_storage(
        Storage::new(storage),
        Layout::contiguous(x.shape().clone()),
    ))
}

/// `x wᵀ` for a packed `w`: one row of blocks at a time, never the whole matrix.
fn linear(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let ([rows, inner], [outputs, width]) = (x.dims()?, w.dims()?);
    let packed = w.storage().downcast_ref::<Q4>();
    let Some(packed) = packed.filter(|_| w.is_contiguous() && inner == width) else {
        return Err(Error::argument(
            "q4_linear",
            "weight",
            w.shape(),
            "must be packed row by row",
        ));
    };
    let values = x.to_vec::<f32>()?;
    let mut out = Vec::with_capacity(rows * outputs);
    for x in values.chunks(inner) {
        for row in packed.blocks.chunks(inner / BLOCK).take(outputs) {
            let dot = |(x, block): (&[f32], &Block)| -> f32 {
                x.iter().zip(block.unpack()).map(|(x, w)| x * w).sum()
            };
            out.push(x.chunks(BLOCK).zip(row).map(dot).sum::<f32>());
        }
    }
    let out = Tensor::from_vec(out, [rows, outputs])?.to_device(&x.device())?;
    Ok(out.record([x], |_| Q4Linear { w: w.clone() }))
}

/// The weight is constant; the gradient flows to the input.
struct Q4Linear {
    w: Tensor,
}

impl Function for Q4Linear {
    fn name(&self) -> &'static str {
        "q4_linear"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad().matmul(&self.w.unpack()?)?;
        Ok([Some(grad)].into_iter().collect())
    }
}

fn weight() -> Tensor {
    fork_rng(0, || Tensor::randn([6, 2 * BLOCK], ())).unwrap()
}

#[test]
fn a_packed_tensor_has_the_shape_and_dtype_of_its_elements() {
    let plain = weight();
    let w = pack(&plain).unwrap();
    assert_eq!(
        (w.dtype(), w.shape(), w.device()),
        (DType::F32, plain.shape(), Device::cpu())
    );
    assert!(w.is_packed() && w.has_values() && !plain.is_packed());
    assert_eq!((w.nbytes(), plain.nbytes()), (12 * 20, 6 * 64 * 4));
    let unpacked = w.unpack().unwrap();
    assert!(!unpacked.is_packed());
    let step = plain
        .abs()
        .unwrap()
        .amax(..)
        .unwrap()
        .item::<f32>()
        .unwrap()
        / 8.0;
    let distance = unpacked
        .sub(&plain)
        .unwrap()
        .abs()
        .unwrap()
        .amax(..)
        .unwrap();
    assert!(distance.item::<f32>().unwrap() <= 1.01 * step);
    // Plain tensors do not change.
    assert!(plain.unpack().unwrap().shares_memory_with(&plain));
    assert_eq!(w.to_string(), "tensor(..., size=(6, 64), packed='q4_0')");
}

#[test]
fn views_count_unpacked_elements() {
    let w = pack(&weight()).unwrap();
    let unpacked = w.unpack().unwrap();
    type View = fn(&Tensor) -> Result<Tensor>;
    let views: [View; 6] = [
        |w| w.t(),
        |w| w.narrow(1, 3..40)?.narrow(0, 2..5),
        |w| w.reshape([2, 3, 64]),
        |w| w.unsqueeze(0)?.expand([3, 6, 64]),
        |w| w.t()?.unfold(0, 3, 2),
        |w| w.diagonal(1, 0, 1),
    ];
    for view in views {
        let (packed, plain) = (view(&w).unwrap(), view(&unpacked).unwrap());
        assert!(packed.shares_memory_with(&w));
        assert!(packed.unpack().unwrap().equal(&plain).unwrap());
    }
}

#[test]
fn an_operation_of_its_own_reads_it_and_has_a_gradient() {
    let w = pack(&weight()).unwrap();
    let x = fork_rng(1, || Tensor::randn([3, 2 * BLOCK], ())).unwrap();
    let unpacked = w.unpack().unwrap();
    let near = |a: &Tensor, b: &Tensor| {
        a.allclose(b, module_core::Tolerance::new().atol(1e-5))
            .unwrap()
    };
    for device in [Device::cpu(), mirror(&[]).unwrap()] {
        let (w, x) = (
            w.to_device(&device).unwrap(),
            x.to_device(&device).unwrap().with_grad().unwrap(),
        );
        assert_eq!(
            (w.device(), w.is_packed(), w.nbytes()),
            (device, true, 12 * 20)
        );
        let y = linear(&x, &w).unwrap();
        let host = Device::cpu();
        let there = |x: Tensor| x.to_device(&host).unwrap();
        let expected = x
            .detach()
            .matmul(&w.unpack().unwrap().t().unwrap())
            .unwrap();
        assert!(near(&there(y.detach()), &there(expected)));
        y.sum(..).unwrap().backward().unwrap();
        let expected = unpacked.sum_keepdim(0).unwrap().expand([3, 64]).unwrap();
        assert!(near(&there(x.grad().unwrap()), &expected));
        assert!(linear(&x, &w.narrow(1, 0..32).unwrap()).is_err());
    }
}

#[test]
fn modules_hold_it_in_buffers_and_a_file_does_not() {
    #[derive(Module)]
    struct Quantized {
        weight: Buffer,
    }
    let w = pack(&weight()).unwrap();
    let net = Quantized {
        weight: Buffer::new(w.clone()),
    };
    let state = net.state_dict().unwrap();
    assert_eq!(state.num_bytes(), 12 * 20);
    assert!(state.equal(&state.clone()).unwrap());
    let path = std::env::temp_dir().join(format!("packed-{}.safetensors", std::process::id()));
    let error = state.save(&path).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::DType(DTypeError::Packed { .. })),
        "{error}"
    );
    assert!(!path.exists());
    assert!(serde_json::to_string(&state).is_err());
    let error = Parameter::new(w.clone()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::DType(DTypeError::Packed { .. })),
        "{error}"
    );
    assert!(net.to_dtype(DType::F16).is_err() && net.weight.tensor().is_packed());
    let device = mirror(&[]).unwrap();
    net.to_device(&device).unwrap();
    assert_eq!(net.weight.tensor().device(), device);
    assert_eq!(Shape::from([6, 64]), *net.weight.tensor().shape());
}
