//! The line search of L-BFGS: a step that satisfies the strong Wolfe conditions.
//!
//! Source: Nocedal and Wright, *Numerical Optimization* (2006), algorithms 3.5 and 3.6, with PyTorch's safeguards.

use module_core::{Result, Tensor};

/// The sufficient fraction of the decrease that the slope predicts.
const DECREASE: f64 = 1e-4;
/// The fraction to which the slope must decrease.
const CURVATURE: f64 = 0.9;

/// The loss at a step along the direction.
#[derive(Clone)]
pub(super) struct Trial {
    pub(super) step: f64,
    pub(super) loss: f64,
    pub(super) grad: Tensor,
    /// The derivative of the loss with respect to the step.
    pub(super) slope: f64,
}

/// A search that begins with a trial at step 0.
pub(super) struct LineSearch<'a> {
    /// The trial at step 0.
    pub(super) start: Trial,
    /// The largest element of the direction.
    pub(super) greatest: f64,
    /// The change of the parameters below which it ends.
    pub(super) tolerance_change: f64,
    /// The maximum number of trials after the first.
    pub(super) max_trials: usize,
    /// Tries a step.
    pub(super) evaluate: &'a mut dyn FnMut(f64) -> Result<Trial>,
}

/// The result of the first phase.
enum Bracketed {
    /// A step that satisfies the conditions.
    Found(Trial),
    /// Two steps with such a step between them.
    Between([Trial; 2]),
}

impl LineSearch<'_> {
    /// The best step found, and the number of trials, starting with `step`.
    pub(super) fn run(&mut self, step: f64) -> Result<(Trial, usize)> {
        let (bracketed, trials) = self.bracket(step)?;
        let (best, trials) = match bracketed {
            Bracketed::Found(trial) => (trial, trials),
            Bracketed::Between(bracket) => self.zoom(bracket, trials)?,
        };
        Ok((best, trials + 1))
    }

    /// Whether the loss has not decreased enough.
    fn is_too_high(&self, trial: &Trial) -> bool {
        trial.loss > self.start.loss + DECREASE * trial.step * self.start.slope
    }

    /// Whether the slope has decreased enough.
    fn is_flat(&self, trial: &Trial) -> bool {
        trial.slope.abs() <= -CURVATURE * self.start.slope
    }

    /// Lengthens the step until two steps bracket one that satisfies the conditions.
    fn bracket(&mut self, step: f64) -> Result<(Bracketed, usize)> {
        let mut previous = self.start.clone();
        let mut current = (self.evaluate)(step)?;
        for trials in 0..self.max_trials {
            let rises = trials > 1 && current.loss >= previous.loss;
            if self.is_too_high(&current) || rises {
                return Ok((Bracketed::Between([previous, current]), trials));
            }
            if self.is_flat(&current) {
                return Ok((Bracketed::Found(current), trials));
            }
            if current.slope >= 0.0 {
                return Ok((Bracketed::Between([previous, current]), trials));
            }
            let shortest = current.step + 0.01 * (current.step - previous.step);
            let longest = current.step * 10.0;
            let next = interpolate(&previous, &current, shortest, longest);
            previous = std::mem::replace(&mut current, (self.evaluate)(next)?);
        }
        let ends = [self.start.clone(), current];
        Ok((Bracketed::Between(ends), self.max_trials))
    }

    /// Narrows the bracket to a step that satisfies the conditions.
    fn zoom(&mut self, [a, b]: [Trial; 2], mut trials: usize) -> Result<(Trial, usize)> {
        let (mut low, mut high) = if a.loss <= b.loss { (a, b) } else { (b, a) };
        // Whether the last step was near an end of the bracket.
        let mut was_near_end = false;
        while trials < self.max_trials {
            let (left, right) = (low.step.min(high.step), low.step.max(high.step));
            if (right - left) * self.greatest < self.tolerance_change {
                break;
            }
            let mut step = interpolate(&low, &high, left, right);
            let margin = 0.1 * (right - left);
            let is_near_end = (right - step).min(step - left) < margin;
            if is_near_end && (was_near_end || step >= right || step <= left) {
                let is_right = (step - right).abs() < (step - left).abs();
                step = if is_right {
                    right - margin
                } else {
                    left + margin
                };
                was_near_end = false;
            } else {
                was_near_end = is_near_end;
            }
            let trial = (self.evaluate)(step)?;
            trials += 1;
            if self.is_too_high(&trial) || trial.loss >= low.loss {
                high = trial;
                if high.loss < low.loss {
                    std::mem::swap(&mut low, &mut high);
                }
                continue;
            }
            if self.is_flat(&trial) {
                return Ok((trial, trials));
            }
            if trial.slope * (high.step - low.step) >= 0.0 {
                high = low;
            }
            low = trial;
        }
        Ok((low, trials))
    }
}

/// The minimum of the cubic polynomial through two trials with their slopes, between two steps; their midpoint if there is
/// none.
fn interpolate(a: &Trial, b: &Trial, shortest: f64, longest: f64) -> f64 {
    let (a, b) = if a.step <= b.step { (a, b) } else { (b, a) };
    let d1 = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.step - b.step);
    let square = d1 * d1 - a.slope * b.slope;
    if square.is_nan() || square < 0.0 {
        return (shortest + longest) / 2.0;
    }
    let d2 = square.sqrt();
    let share = (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2);
    let step = b.step - (b.step - a.step) * share;
    // Like Python's `min` and `max`, also if the step is NaN.
    let step = if shortest > step { shortest } else { step };
    if longest < step { longest } else { step }
}
