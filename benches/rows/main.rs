//! The rows of `benches/run`: each is one task, which this program, PyTorch's (`benches/peers/rows`) and candle's
//! (`benches/peers/candle`) perform under the same name.
//!
//! The program waits for requests on its standard input, so that the driver can let the three take turns: `list` prints the
//! names, and `NAME<tab>MILLISECONDS` runs a row for that long and prints its median in microseconds. The first request for
//! a row creates its tensors.

mod activations;
mod attention;
mod convolutions;
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

use std::io::{self, BufRead};

use module_nn::{Result, manual_seed, set_num_threads};
use row::Rows;

fn main() -> Result<()> {
    let threads = std::env::var("THREADS").ok().and_then(|n| n.parse().ok());
    set_num_threads(threads.unwrap_or(1));
    manual_seed(0);
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
    small::add(&mut rows);
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_once('\t') {
            Some((name, milliseconds)) => {
                let milliseconds = milliseconds.parse().unwrap_or(100.0);
                match rows.measure(name, milliseconds) {
                    Ok(Some(micros)) => println!("{micros:.4}"),
                    Ok(None) => println!("none"),
                    Err(error) => println!("error: {}", error.to_string().replace('\n', " ")),
                }
            }
            None => println!("{}", rows.names().join("\t")),
        }
    }
    Ok(())
}
