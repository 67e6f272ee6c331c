//! The training audit: a finding for each silent failure, and none for networks that train correctly.
#![allow(clippy::panic, clippy::unwrap_used)]

mod bounds;
mod branches;
mod causes;
mod data;
mod frozen;
mod healthy;
mod leaks;
mod modes;
mod probes;
mod reach;
mod report;
mod rounded;
mod softmaxes;
mod steps;
mod support;
mod targets;
mod unchanged;
mod units;
mod values;
mod whole;
