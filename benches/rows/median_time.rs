//! Timing, with the same method for this framework and for candle.

use std::time::Instant;

/// The median microseconds of one run, over samples of at least 20 each, for `total` of them.
pub(crate) fn median_time<E>(
    work: &mut dyn FnMut() -> Result<(), E>,
    total: f64,
) -> Result<f64, E> {
    let begin = Instant::now();
    let micros = |since: Instant| since.elapsed().as_secs_f64() * 1e6;
    work()?;
    let runs = (20.0 / micros(begin)).ceil().max(1.0);
    let (begin, mut samples) = (Instant::now(), Vec::new());
    while samples.len() < 3 || micros(begin) < total {
        let start = Instant::now();
        for _ in 0..runs as usize {
            work()?;
        }
        samples.push(micros(start) / runs);
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples[samples.len() / 2])
}
