//! How many invocations visit numbers, each on its own.

use crate::map::GROUP;
use crate::recorder::MAX_GROUPS;

/// From this many numbers on, a workgroup has [`LARGE_GROUP`] invocations, each of which visits [`EACH`] numbers: there are
/// enough of them, and more of an invocation's time is spent on numbers.
const LARGE: u64 = 1 << 18;
const LARGE_GROUP: u64 = 256;
const EACH: u64 = 4;

/// The invocations of a workgroup, and the numbers that each of them visits.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    group: u64,
    each: u64,
}

impl Spread {
    /// For this many numbers.
    pub(crate) fn new(count: usize) -> Self {
        match (count as u64) < LARGE {
            true => Self {
                group: GROUP,
                each: 1,
            },
            false => Self {
                group: LARGE_GROUP,
                each: EACH,
            },
        }
    }

    /// The part of a pipeline's key on which [`entry`](Self::entry) depends.
    pub(crate) fn key(self) -> &'static str {
        match self.each {
            1 => "",
            _ => " large",
        }
    }

    /// The workgroups for this many numbers.
    pub(crate) fn groups(self, count: usize) -> u64 {
        (count as u64).div_ceil(self.group * self.each)
    }

    /// The entry point, which calls `visit` with each number, and with some beyond the last.
    pub(crate) fn entry(self) -> String {
        let Self { group, each } = self;
        format!(
            "
@compute @workgroup_size({group})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {{
    // Invocations side by side visit numbers side by side.
    let first = (group.y * {MAX_GROUPS}u + group.x) * {}u + local;
    for (var i = 0u; i < {each}u; i++) {{ visit(first + i * {group}u); }}
}}
",
            group * each
        )
    }
}
