//! Trains a small network, saves and loads it in memory and inspects it: everything that a program can do without files,
//! threads or a clock. `run.mjs` runs it in WebAssembly, and `examples/loss.rs` runs it natively.

use module_nn::Approximate;
use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    hidden: Linear,
    norm: LayerNorm,
    dropout: Dropout,
    head: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self
            .norm
            .call(self.hidden.call(x)?)?
            .gelu(Approximate::None)?;
        self.head.call(self.dropout.call(x)?)
    }
}

impl Net {
    fn new() -> Result<Self> {
        Ok(Self {
            hidden: Linear::new(4, 16)?,
            norm: LayerNorm::new(16)?,
            dropout: Dropout::new(0.1)?,
            head: Linear::new(16, 3)?,
        })
    }
}

/// The loss after 20 steps, of the model that came back from its checkpoint.
///
/// # Errors
///
/// Whatever goes wrong, an unequal model or an incomplete summary included.
pub fn run() -> Result<f32> {
    manual_seed(7);
    let net = Net::new()?;
    let mut optimizer = AdamW::new(&net, 1e-2)?;
    let x = Tensor::randn([32, 4], DType::F32)?;
    let target = x.narrow(1, 0..3)?.argmax(1)?;
    let criterion = CrossEntropyLoss::new();
    for _ in 0..20 {
        net.zero_grad();
        criterion.loss(&net.call(x.clone())?, &target)?.backward()?;
        optimizer.step(&net)?;
    }
    let copy = deferred(Net::new)?;
    let _complete = copy.load_state_dict(&StateDict::from_bytes(net.state_dict()?.to_bytes()?)?)?;
    if !copy.state_dict()?.equal(&net.state_dict()?)? {
        return Err(Error::custom("the checkpoint holds another model"));
    }
    let table = summary(&copy, x.clone())?.to_string();
    if !table.contains("LayerNorm") {
        return Err(Error::custom(table));
    }
    copy.eval();
    criterion.loss(&copy.call(x)?, &target)?.item()
}

/// [`run`] for a caller in another language; not a number if it failed.
// The one attribute that gives a function its name outside of Rust.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn loss() -> f32 {
    run().unwrap_or(f32::NAN)
}
