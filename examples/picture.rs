//! Looks into two networks: a table of their contents, a diagram of a forward pass, and a trace for a profiler.
//!
//! ```text
//! cargo run --release --example picture
//! ```
//!
//! It writes `target/pictures/*.svg` (for a browser), `*.dot` (for Graphviz) and `*.json` (for
//! `chrome://tracing` or <https://ui.perfetto.dev>).

use std::fs;
use std::path::Path;

use module_examples::DigitsNet;
use module_nn::inspect::Picture;
use module_nn::prelude::*;

fn show<M: Call<Tensor, Output = Tensor>>(name: &str, model: &M, input: Tensor) -> Result<()> {
    println!("{}", summary(model, input.clone())?);
    model.eval();
    let trace = Trace::record_flows(model, input)?;
    let picture = Picture::new(&trace);
    let directory = Path::new("target/pictures");
    fs::create_dir_all(directory).map_err(Error::custom)?;
    let files = [
        ("svg", picture.to_svg()),
        ("dot", picture.to_dot()),
        ("json", trace.to_chrome_json()),
    ];
    for (extension, text) in files {
        let path = directory.join(name).with_extension(extension);
        fs::write(&path, text).map_err(Error::custom)?;
        println!("wrote {}", path.display());
    }
    println!();
    Ok(())
}

fn main() -> Result<()> {
    let image = Tensor::randn([1, 1, 8, 8], DType::F32)?;
    show("digits", &DigitsNet::new(16)?, image)?;
    let layer = TransformerEncoderLayerConfig::new(64, 4);
    let layer = layer.dim_feedforward(256).batch_first(true);
    let encoder = TransformerEncoderConfig::new(layer, 2).build()?;
    show(
        "transformer",
        &encoder,
        Tensor::randn([1, 12, 64], DType::F32)?,
    )
}
