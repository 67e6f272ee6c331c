//! LoRA adapters: a network that reads digits learns to read them upside down with a few additional weights.
//!
//! The network was trained in PyTorch, and the first adapter by PEFT, whose files are read here. A second adapter is
//! trained here, saved for PEFT, read back and merged into the weights.
//!
//! ```text
//! cargo run --release --example finetune_lora
//! ```

use module_examples::{Digits, TurnedDigits};
use module_nn::lora::{self, LoraConfig, PeftAdapter};
use module_nn::prelude::*;

/// The files of PyTorch and PEFT.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/turned_digits");
const OWN: &str = "target/turned_digits";

#[derive(Module)]
struct Mlp {
    hidden: Linear,
    head: Linear,
}

impl Mlp {
    /// The network with the weights that PyTorch trained.
    fn trained() -> Result<Self> {
        let (hidden, head) = (Linear::new(64, 32)?, Linear::new(32, 10)?);
        let mlp = Self { hidden, head };
        let report = mlp.load(format!("{FILES}/base.safetensors"))?;
        check(report.not_loaded.is_empty(), "all weights are loaded")?;
        Ok(mlp)
    }
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.hidden.call(x)?.relu()?)
    }
}

fn check(holds: bool, what: &str) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error::argument(
            "finetune_lora",
            "result",
            what,
            "does not hold",
        )),
    }
}

fn main() -> Result<()> {
    let digits = Digits::read()?;
    let train = digits.len() * 3 / 4;
    let (data, held_back) = (
        TurnedDigits::of(&digits, 0..train)?,
        TurnedDigits::of(&digits, train..digits.len())?,
    );

    // PEFT's adapter gives the same outputs as in PEFT, and is written the way it was read.
    let mut net = Mlp::trained()?;
    held_back.print(&net, "without an adapter")?;
    check(
        held_back.right(&net)? == [410, 195],
        "the counts of PyTorch",
    )?;
    let report = lora::load_pretrained(&mut net, FILES, "peft")?;
    held_back.print(&net, "with PEFT's")?;
    check(held_back.right(&net)? == [201, 399], "the counts of PEFT")?;
    let (read, written) = (PeftAdapter::load(FILES)?, PeftAdapter::of(&net, "peft")?);
    let same = |(key, tensor): (&str, &Tensor)| -> Result<bool> {
        let other = written
            .tensors
            .get(key)
            .map(Tensor::to_vec::<f32>)
            .transpose()?;
        Ok(other == Some(tensor.to_vec::<f32>()?))
    };
    for entry in read.tensors.iter() {
        check(same(entry)?, "what is written is what was read")?;
    }
    print!("\n{report}\n");

    // Our own adapter, on the same weights.
    manual_seed(0);
    let mut net = Mlp::trained()?;
    let config = LoraConfig::new().r(4).lora_alpha(8);
    print!(
        "{}",
        lora::add_adapter(&mut net, "own", ["hidden", "head"], &config)?
    );
    let criterion = CrossEntropyLoss::new();
    let mut optimizer = AdamW::new(&net, 0.01)?;
    for step in 0..=200 {
        let loss = criterion.loss(&net.call(data.turned.clone())?, &data.labels)?;
        net.zero_grad();
        loss.backward()?;
        optimizer.step(&net)?;
        if step % 50 == 0 {
            println!("step {step:3}  loss {:.4}", loss.item::<f32>()?);
        }
    }
    held_back.print(&net, "with our own")?;
    let trained = held_back.right(&net)?;
    check(trained[1] > 380, "more than 380 are read upside down")?;
    let disabled = lora::disable_adapters(&net, || held_back.right(&net))??;
    check(disabled == [410, 195], "the network itself is as it was")?;

    lora::save_pretrained(&net, "own", OWN)?;
    let mut fresh = Mlp::trained()?;
    lora::load_pretrained(&mut fresh, OWN, "own")?;
    held_back.print(&fresh, "saved and read again")?;
    check(
        held_back.right(&fresh)? == trained,
        "the same after reading",
    )?;
    lora::merge_and_unload(&mut fresh)?;
    held_back.print(&fresh, "merged into the weights")?;
    check(
        held_back.right(&fresh)? == trained,
        "the same after merging",
    )?;
    check(lora::adapter_names(&fresh).is_empty(), "no adapter is left")
}
