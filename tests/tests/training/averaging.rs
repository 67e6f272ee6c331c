//! Averages of a model's values, running a model with other values, and watching a metric, as in PyTorch.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod functional;
mod golden;
mod statistics;
mod swapping;
mod watching;

use module_nn::prelude::*;

/// The counterpart of `Net` in `tests/golden/averaging.py`.
#[derive(Module)]
struct Net {
    w1: Parameter,
    frozen: Parameter,
    norm: BatchNorm1d,
    w2: Parameter,
    tied: Parameter,
    count: Buffer,
    scale: Buffer,
    flag: Maybe<Buffer>,
}

impl Net {
    fn new(dtype: DType, flag: bool) -> Self {
        let zeros = |shape: &[usize]| Tensor::zeros(shape, dtype).unwrap();
        let w2 = Parameter::new(zeros(&[4, 4])).unwrap();
        let net = Self {
            w1: Parameter::new(zeros(&[3, 4])).unwrap(),
            frozen: Parameter::new(zeros(&[4])).unwrap(),
            norm: BatchNorm1d::new(4).unwrap(),
            tied: w2.share(),
            w2,
            count: Buffer::new(Tensor::from(5_i64)),
            scale: Buffer::non_persistent(zeros(&[2])),
            flag: Maybe::when(flag, || Ok(Buffer::new(Tensor::from([false, true])))).unwrap(),
        };
        net.norm.to_dtype(dtype).unwrap();
        net.frozen.freeze();
        net
    }

    /// Sets every value to the one recorded under `prefix`.
    fn set(&self, recorded: &StateDict, prefix: &str) {
        let of = |name: &str| recorded.get(&format!("{prefix}/{name}")).unwrap().clone();
        for (name, parameter) in self.named_parameters() {
            parameter.set(of(&name)).unwrap();
        }
        for (name, buffer) in self.named_buffers() {
            buffer.set(of(&name)).unwrap();
        }
    }

    /// All its values.
    fn values(&self) -> StateDict {
        let parameters = self.named_parameters().map(|(name, p)| (name, p.detach()));
        let buffers = self.named_buffers().map(|(name, b)| (name, b.tensor()));
        parameters.chain(buffers).collect()
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.count.set(self.count.tensor().add(3)?)?;
        self.scale.set(self.scale.tensor().mul(1.125)?)?;
        let x = x.matmul(&self.w1.tensor())?.add(self.frozen.tensor())?;
        let x = self.norm.call(x)?.relu()?;
        x.matmul(&self.w2.tensor())?.matmul(&self.tied.tensor())
    }
}

fn dtype(name: &str) -> DType {
    match name {
        "f64" => DType::F64,
        "bf16" => DType::BF16,
        _ => DType::F32,
    }
}

/// A net with nonzero values, after some training steps.
fn trained() -> Net {
    fork_rng(1, || {
        let net = Net::new(DType::F32, true);
        for parameter in [&net.w1, &net.frozen, &net.w2] {
            let value = Tensor::randn(parameter.shape(), DType::F32).unwrap();
            parameter.set(value).unwrap();
        }
        net.call(Tensor::randn([5, 3], DType::F32).unwrap())
            .unwrap();
        net
    })
}

fn input() -> Tensor {
    fork_rng(2, || Tensor::randn([5, 3], DType::F32).unwrap())
}

/// Whether all values are equal bit for bit.
fn same(a: &StateDict, b: &StateDict) -> bool {
    a.equal(b).unwrap()
}

/// The name of a directory for this process; it exists and is empty.
fn directory(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("averaging-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).unwrap();
    path
}
