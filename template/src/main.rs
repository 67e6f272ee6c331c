//! Trains in a directory, or resumes what is there: `spirals [DIRECTORY] [EPOCHS]`.

use std::path::PathBuf;

use module_nn::prelude::*;
use spirals::training::Run;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or("run".into()));
    let epochs = arguments.next().unwrap_or("30".into());
    let epochs = epochs.parse().map_err(Error::custom)?;
    let accuracy = Run::new(&directory, epochs)?.train(&directory, epochs)?;
    println!("validation accuracy {accuracy:.3}");
    Ok(())
}
