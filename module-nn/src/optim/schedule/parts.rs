//! Schedules inside a schedule: their states, and the rollback if one of them fails.

use module_core::{Error, Result, Snapshot, Stateful};

use super::Schedule;
use super::common::check_name;
use super::rates::Rates;
use crate::optim::Optimizer;

/// The name of the state of a part.
fn part(number: usize) -> String {
    format!("part {number}")
}

/// The snapshot of the schedule of this name with the states of its parts.
pub(super) fn save(
    name: &'static str,
    parts: &[Box<dyn Schedule>],
    last_lrs: &[f64],
) -> Result<Snapshot> {
    let mut snapshot = Snapshot::default()
        .with("schedule", &name)?
        .with("parts", &parts.len())?
        .with("last_lrs", &last_lrs)?;
    for (number, schedule) in parts.iter().enumerate() {
        snapshot = snapshot.with_nested(&part(number), &schedule.state()?)?;
    }
    Ok(snapshot)
}

/// Restores the states of all parts or none, and the last learning rates.
pub(super) fn load(
    name: &'static str,
    parts: &mut [Box<dyn Schedule>],
    state: &Snapshot,
) -> Result<Vec<f64>> {
    check_name(name, state)?;
    let (own, saved) = (parts.len(), state.get::<usize>("parts")?);
    if own != saved {
        let problem = format!("the state is of {saved} schedule(s), and this {name} has {own}");
        return Err(Error::argument("load_state", "parts", saved, problem));
    }
    let last_lrs = state.get("last_lrs")?;
    let states = (0..own).map(|number| state.nested(&part(number)));
    let states = states.collect::<Result<Vec<_>>>()?;
    let before = states_of(parts)?;
    let loaded = load_each(parts, &states);
    if loaded.is_err() {
        // The parts just had these states, so none refuses its own.
        let _taken_before = load_each(parts, &before);
    }
    loaded.map(|()| last_lrs)
}

/// Applies `change` to the parts and the optimizer, or nothing if it fails.
pub(super) fn all_or_nothing(
    parts: &mut [Box<dyn Schedule>],
    optimizer: &mut dyn Optimizer,
    change: impl FnOnce(&mut [Box<dyn Schedule>], &mut dyn Optimizer) -> Result<()>,
) -> Result<()> {
    let (before, rates) = (states_of(parts)?, Rates::of(optimizer));
    let done = change(parts, optimizer);
    if done.is_err() {
        rates.restore(optimizer);
        let _taken_before = load_each(parts, &before);
    }
    done
}

fn states_of(parts: &[Box<dyn Schedule>]) -> Result<Vec<Snapshot>> {
    parts.iter().map(Stateful::state).collect()
}

fn load_each(parts: &mut [Box<dyn Schedule>], states: &[Snapshot]) -> Result<()> {
    let mut parts = parts.iter_mut().zip(states);
    parts.try_for_each(|(part, state)| part.load_state(state))
}
