//! Prints the loss that `run.mjs` compares with the one in WebAssembly.

fn main() -> module_nn::Result<()> {
    println!("{}", module_wasm::run()?);
    Ok(())
}
