//! A network that learns to tell the arms of a spiral apart.

pub mod data;
pub mod model;
pub mod training;
