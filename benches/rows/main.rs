//! Times the rows that `benches/run` asks for: the median microseconds of each.

use module_benches::rows::serve;
use module_nn::Result;

fn main() -> Result<()> {
    serve(|rows, name, milliseconds| {
        let micros = rows.time(name, milliseconds)?;
        Ok(micros.map(|micros| format!("{micros:.4}")))
    })
}
