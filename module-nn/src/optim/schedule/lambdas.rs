use module_core::{Error, Result};

/// A factor as a function of the epoch, for [`LambdaLR`](super::LambdaLR) and
/// [`MultiplicativeLR`](super::MultiplicativeLR).
///
/// # Example
///
/// ```
/// use module_nn::optim::LRLambda;
/// use module_nn::prelude::*;
///
/// let model = [Linear::new(2, 2)?, Linear::new(2, 1)?];
/// let config = SGDConfig::new(0.5).group("0", |options| options);
/// let mut optimizer = config.build(&model)?;
/// let (fixed, halved): (LRLambda, LRLambda) = (Box::new(|_| 1.0), Box::new(|epoch| 0.5_f64.powf(epoch as f64)));
/// let mut schedule = LambdaLR::each(&mut optimizer, vec![fixed, halved])?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.group_lrs(), [0.5, 0.25]);
/// # Ok::<(), Error>(())
/// ```
pub type LRLambda = Box<dyn Fn(usize) -> f64 + Send>;

/// One function for all groups, or one for each. They are not saved with the state.
pub(super) enum Lambdas {
    One(LRLambda),
    Each(Vec<LRLambda>),
}

impl Lambdas {
    /// Refuses a number of functions that differs from the groups.
    pub(super) fn check(&self, schedule: &'static str, groups: usize) -> Result<()> {
        match self {
            Self::Each(lambdas) if lambdas.len() != groups => {
                let value = format!("{} functions", lambdas.len());
                let problem = format!("must be one function or {groups}, one for each group");
                Err(Error::argument(schedule, "lr_lambda", value, problem))
            }
            _ => Ok(()),
        }
    }

    /// The factor of a group at an epoch.
    pub(super) fn factor(&self, group: usize, epoch: usize) -> f64 {
        let lambda = match self {
            Self::One(lambda) => Some(lambda),
            Self::Each(lambdas) => lambdas.get(group),
        };
        lambda.map_or(f64::NAN, |lambda| lambda(epoch))
    }
}
