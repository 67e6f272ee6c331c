//! Axes: where numbers are placed, and which of them are labeled.

/// The approximate number of labels on an axis.
const TICKS: f64 = 6.0;

/// A range of numbers mapped to 0 to 1.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// The ends, as [`scaled`](Self::scaled).
    low: f64,
    high: f64,
    is_log: bool,
    /// The labeled numbers, and their labels.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From the smallest to the largest of the numbers; `wide` extends to the next labels.
    pub(super) fn linear(numbers: &mut dyn Iterator<Item = f64>, wide: bool) -> Self {
        let (mut low, mut high) = ends(numbers.filter(|x| x.is_finite())).unwrap_or((0.0, 1.0));
        if low == high {
            let around = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
            (low, high) = (low - around, high + around);
        }
        // Halves, because the difference of the two numbers may overflow.
        let step = nice((high / TICKS - low / TICKS).max(f64::MIN_POSITIVE));
        let wider = ((low / step).floor() * step, (high / step).ceil() * step);
        if wide && wider.0.is_finite() && wider.1.is_finite() {
            (low, high) = wider;
        }
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        let ticks = (first..=last).map(|n| n as f64 * step);
        let largest = low.abs().max(high.abs());
        let ticks = ticks.map(|at| (at, name(at, step, largest))).collect();
        Self {
            low,
            high,
            is_log: false,
            ticks,
        }
    }

    /// The same in powers of ten, for the numbers above 0.
    pub(super) fn log(numbers: &mut dyn Iterator<Item = f64>) -> Self {
        let positive = numbers.filter(|x| x.is_finite() && *x > 0.0);
        let (low, high) = ends(positive).unwrap_or((1.0, 10.0));
        let (low, high) = (low.log10(), high.log10());
        let aside = match high - low {
            0.0 => 0.5,
            range => 0.04 * range,
        };
        let (low, high) = (low - aside, high + aside);
        let decades = high - low;
        let factors: &[f64] = match decades {
            ..1.2 => &[1.0, 2.0, 3.0, 5.0, 7.0],
            ..3.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = (decades / TICKS / 1.5).ceil().max(1.0) as i32;
        let (first, last) = (low.floor() as i32, high.ceil() as i32);
        let mut ticks = Vec::new();
        for power in (first..=last).filter(|power| power.rem_euclid(every) == 0) {
            for factor in factors {
                // Parsed from text, because a computed power of ten may be off by a bit.
                let at = format!("{factor}e{power}").parse().unwrap_or(0.0);
                if at > 0.0 && (low..=high).contains(&f64::log10(at)) {
                    ticks.push((at, log_name(at)));
                }
            }
        }
        Self {
            low,
            high,
            is_log: true,
            ticks,
        }
    }

    /// The position of a number between the ends; `None` if the axis has no position for it.
    pub(super) fn place(&self, number: f64) -> Option<f64> {
        let scaled = if self.is_log { number.log10() } else { number };
        let place = (scaled / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        place.is_finite().then_some(place)
    }
}

fn ends(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let each = numbers.map(|number| (number, number));
    each.reduce(|ends, next| (ends.0.min(next.0), ends.1.max(next.1)))
}

/// The next of 1, 2 and 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = step.log10().floor();
    let of = |factor: f64| format!("{factor}e{power}").parse::<f64>().unwrap_or(step);
    let steps = [1.0, 2.0, 5.0, 10.0].map(of);
    let next = steps.into_iter().find(|nice| *nice >= step * (1.0 - 1e-9));
    next.filter(|step| step.is_normal()).unwrap_or(step)
}

/// A number with as many digits as the steps of the axis need.
fn name(at: f64, step: f64, largest: f64) -> String {
    if at == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e6).contains(&largest) {
        let digits = (at.abs().log10().floor() - step.log10().floor()).max(0.0) as usize;
        return format!("{at:.digits$e}");
    }
    let decimals = (-(step * (1.0 + 1e-9)).log10().floor()).max(0.0) as usize;
    format!("{at:.decimals$}")
}

fn log_name(at: f64) -> String {
    match at {
        1e-4..1e6 => format!("{at}"),
        _ => format!("{at:e}"),
    }
}
