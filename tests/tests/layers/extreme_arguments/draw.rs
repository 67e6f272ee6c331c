//! Mutations of constructor arguments, of the kinds that break programs.

use module_nn::rng::CpuGenerator;
use serde_json::{Value, json};

/// Generates changes.
pub(crate) struct Draw(CpuGenerator);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(CpuGenerator::new(seed))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// Changes one argument, possibly of a nested layer.
    pub(crate) fn change(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let place = self.below(fields.len());
                if let Some((_, value)) = fields.iter_mut().nth(place) {
                    self.change(value);
                }
            }
            Value::Array(parts) if !parts.is_empty() && self.below(4) > 0 => {
                let place = self.below(parts.len());
                match self.below(6) {
                    0 => _ = parts.remove(place),
                    1 => parts.push(parts[place].clone()),
                    2 => *parts = vec![parts[place].clone(); 70],
                    _ => self.change(&mut parts[place]),
                }
            }
            Value::Bool(flag) => *flag = !*flag,
            Value::Number(number) if number.is_f64() => *value = self.float(),
            Value::Number(_) => *value = self.integer(),
            Value::String(_) => *value = json!(["", "mean", "none", "same", "NaN"][self.below(5)]),
            _ => {
                *value = match self.below(3) {
                    0 => self.float(),
                    1 => self.integer(),
                    _ => Value::Array((0..self.below(4)).map(|_| self.integer()).collect()),
                }
            }
        }
    }

    fn integer(&mut self) -> Value {
        const NUMBERS: [i64; 18] = [
            0,
            0,
            1,
            1,
            2,
            3,
            4,
            7,
            64,
            255,
            1 << 12,
            1 << 16,
            u32::MAX as i64,
            1 << 40,
            i64::MAX,
            -1,
            -7,
            i64::MIN,
        ];
        match self.below(NUMBERS.len() + 2) {
            0 => json!(u64::MAX),
            1 => json!(u64::MAX / 2 + 1),
            place => json!(NUMBERS[place - 2]),
        }
    }

    fn float(&mut self) -> Value {
        const NUMBERS: [f64; 12] = [
            0.0,
            -0.0,
            0.5,
            1.0,
            -1.0,
            1.5,
            1e-300,
            1e9,
            1e300,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
        ];
        match self.below(NUMBERS.len() + 4) {
            0 => json!("NaN"),
            1 => json!("Infinity"),
            2 => json!("-Infinity"),
            3 => self.integer(),
            place => json!(NUMBERS[place - 4]),
        }
    }
}
