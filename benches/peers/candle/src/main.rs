//! candle's side of `benches/run`: does the work of `benches/rows` under the same names, as far as candle has it.
//! It answers requests like `benches/rows/mod.rs`.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo build --release --manifest-path benches/peers/candle/Cargo.toml`, and
//! `RAYON_NUM_THREADS` says how many threads it uses.

mod machine;
#[path = "../../../rows/median_time.rs"]
mod median_time;
mod networks;
mod operations;
mod row;

use std::io::{self, BufRead};

use candle_core::Result;
use row::Rows;

fn main() -> Result<()> {
    let mut rows = Rows::default();
    machine::add(&mut rows);
    operations::add(&mut rows);
    networks::add(&mut rows);
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_once('\t') {
            Some((name, milliseconds)) => match rows.measure(name, milliseconds.parse().unwrap_or(100.0)) {
                Ok(Some(micros)) => println!("{micros:.4}"),
                Ok(None) => println!("none"),
                Err(error) => println!("error: {}", error.to_string().replace('\n', " ")),
            },
            None => println!("{}", rows.names().join("\t")),
        }
    }
    Ok(())
}
