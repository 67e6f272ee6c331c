//! The rows of `benches/run` and `benches/memory`: each is one task, which this crate, PyTorch's program
//! (`benches/peers/rows`) and candle's (`benches/peers/candle`) perform under the same name.

mod activations;
mod attention;
mod convolutions;
mod gradients;
mod losses;
mod median_time;
mod networks;
mod normalizations;
mod optimizers;
mod products;
mod published;
mod recurrent;
mod row;
mod small;
mod small_shapes;
mod tensor_operations;

use std::io::{self, BufRead};

use module_nn::{Result, manual_seed, set_num_threads};

pub use row::{Rows, Work, when_cleared};

/// All rows, in order.
fn all() -> Rows {
    let mut rows = Rows::default();
    products::add(&mut rows);
    activations::add(&mut rows);
    normalizations::add(&mut rows);
    losses::add(&mut rows);
    attention::add(&mut rows);
    convolutions::add(&mut rows);
    recurrent::add(&mut rows);
    optimizers::add(&mut rows);
    networks::add(&mut rows);
    published::add(&mut rows);
    tensor_operations::add(&mut rows);
    gradients::add(&mut rows);
    small_shapes::add(&mut rows);
    small::add(&mut rows);
    rows
}

/// Answers the requests on the standard input, so that the driver can let programs take turns: `list` prints the names, and
/// `NAME<tab>MILLISECONDS` prints what `measure` finds out about a row, or `none` if there is no such row. The first request
/// for a row creates its tensors.
///
/// # Errors
///
/// The standard input cannot be read.
pub fn serve(
    mut measure: impl FnMut(&mut Rows, &str, f64) -> Result<Option<String>>,
) -> Result<()> {
    let threads = std::env::var("THREADS").ok().and_then(|n| n.parse().ok());
    set_num_threads(threads.unwrap_or(1));
    manual_seed(0);
    let mut rows = all();
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_once('\t') {
            Some((name, milliseconds)) => {
                let milliseconds = milliseconds.parse().unwrap_or(100.0);
                match measure(&mut rows, name, milliseconds) {
                    Ok(Some(measured)) => println!("{measured}"),
                    Ok(None) => println!("none"),
                    Err(error) => println!("error: {}", error.to_string().replace('\n', " ")),
                }
            }
            None => println!("{}", rows.names().join("\t")),
        }
    }
    Ok(())
}
