//! Prints the loss to which `run.mjs` compares that in WebAssembly.

fn main() -> module_nn::Result<()> {
    println!("{}", module_wasm::run()?);
    Ok(())
}
