//! The recorded families, and the comparison of a device with them.

use module_core::Device;

use crate::differences::{Run, differences, is_refused};
use crate::golden::{self, Case};
use crate::ops::{
    self, Different, activations, counting, data, functions, grids, indexing, linalg, more,
    normalization, products, rest, running, shuffle, windows,
};

/// A family of operations: the calls of one recorded file, each with its gradients.
pub struct Suite {
    file: &'static str,
    /// The number of calls, so that none goes missing.
    count: usize,
    run: Run,
    /// Differences that occur on every device, and why.
    different: &'static Different,
}

/// Every family.
pub fn suites() -> Vec<Suite> {
    let suite = |file, count, run, different| Suite {
        file,
        count,
        run,
        different,
    };
    vec![
        suite("ops", 1359, ops::run as Run, ops::DIFFERENT),
        suite(
            "ops_activations",
            403,
            activations::run,
            activations::DIFFERENT,
        ),
        suite("ops_draws", 159, activations::run, &[]),
        suite(
            "ops_pairs",
            507,
            activations::run,
            activations::DIFFERENT_PAIRS,
        ),
        suite("ops_counting", 543, counting::run, &[]),
        suite("ops_parts", 443, data::run, &[]),
        suite("ops_data", 492, data::run, &[]),
        suite("ops_functions", 394, functions::run, functions::DIFFERENT),
        suite("ops_quotients", 193, functions::run, &[]),
        suite("ops_grids", 130, grids::run, &[]),
        suite("ops_functional", 70, grids::run, &[]),
        suite("ops_indexing", 209, indexing::run, &[]),
        suite("linalg", 618, linalg::run, linalg::DIFFERENT),
        suite("ops_more", 392, more::run, &[]),
        suite("ops_normalization", 259, normalization::run_any, &[]),
        suite("ops_losses", 204, normalization::run_any, &[]),
        suite("ops_products", 149, products::run, &[]),
        suite("ops_rest", 142, rest::run, rest::DIFFERENT_REST),
        suite("ops_edges", 192, rest::run_any, &[]),
        suite("ops_views", 183, rest::run, rest::DIFFERENT),
        suite("ops_running", 428, running::run, &[]),
        suite("ops_shuffle", 197, shuffle::run, &[]),
        suite("ops_convolutions", 163, windows::run, &[]),
        suite("ops_pooling", 269, windows::run, &[]),
        suite("ops_pooling", 269, windows::values, &[]),
        suite("ops_interpolate", 318, windows::run, windows::DIFFERENT),
    ]
}

impl Suite {
    /// The name of the family.
    pub fn name(&self) -> &'static str {
        self.file
    }

    /// The differences between a device and PyTorch in the calls of the family and their gradients; empty if they agree.
    pub fn check(&self, device: &Device) -> Vec<String> {
        let (cases, tensors) = golden::load(format!("{}.safetensors", self.file));
        let cases = cases.as_array().expect("a list of cases").iter();
        let cases = cases.map(Case::new).filter(|case| !is_refused(case));
        let (mut failures, mut count) = (Vec::new(), 0);
        for case in cases {
            count += 1;
            let listed = self.different.iter().filter(|(key, ..)| *key == case.key);
            let mut expected: Vec<&str> = listed.map(|(_, part, _)| *part).collect();
            for difference in differences(&case, &tensors, self.run, device) {
                let known = |part: &&str| difference.starts_with(&format!("{part}:"));
                match expected.iter().position(known) {
                    Some(place) => drop(expected.remove(place)),
                    None => failures.push(format!("{}: {difference}", case.key)),
                }
            }
            let gone = |part| format!("{}: {part} does not differ any more", case.key);
            failures.extend(expected.into_iter().map(gone));
        }
        if count != self.count {
            failures.push(format!(
                "{} has {count} calls, and `suites` in `suite.rs` says {}: correct the number there if that is intended",
                self.file, self.count
            ));
        }
        failures
    }
}

/// The differences between a device and PyTorch in all families; empty if they agree.
///
/// # Example
///
/// ```
/// use module_conformance::{Device, check};
///
/// # if false {
/// let failures = check(&Device::cpu());
/// assert!(failures.is_empty(), "{}", failures.join("\n"));
/// # }
/// ```
pub fn check(device: &Device) -> Vec<String> {
    let of = |suite: Suite| {
        let failures = suite.check(device).into_iter();
        failures.map(move |failure| format!("{}: {failure}", suite.name()))
    };
    suites().into_iter().flat_map(of).collect()
}
