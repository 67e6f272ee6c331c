use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use module_nn::prelude::*;
use module_nn::{BackwardOptions, PostAccumulateHookHandle};

use super::core::{Core, Unit};
use super::group::Group;
use super::member::Member;
use super::units::{find_groups, find_units};
use super::{ShardingError, ShardingStage, Shards, hooks};
use crate::data_parallel::check_same;
use crate::{Comm, RankFailure};

/// A model whose training state is divided among ranks: PyTorch's `FullyShardedDataParallel` and ZeRO.
///
/// It wraps nothing and renames nothing: the model is called as before, on each rank with its part of the batch, and hooks
/// gather, free and reduce. Its gradients are the means over the ranks, so that with parts of one size and a mean loss, a
/// run equals that of one process with the whole batch. [`ShardingStage`] says what is divided.
///
/// A **unit** is a module whose parameters are gathered together. By default these are the outermost modules with
/// parameters of their own (in a transformer each linear layer, norm, embedding and attention), and
/// [`with_units`](Self::with_units) chooses others, such as whole blocks. Parameters of no other unit belong to the model
/// itself, and are held while it computes. A unit must be invoked by `call`, and only itself and the modules in it may read
/// its parameters; a tied parameter belongs to all units that have it.
///
/// While the parameters are divided, they have no values outside of units
/// ([`ErrorKind::Released`](module_nn::ErrorKind::Released)): [`state_dict`](Self::state_dict) and
/// [`unshard`](Self::unshard) gather them. A dropped `Sharded` leaves them without values.
///
/// All ranks call its methods, and the units, in the same order.
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::sharding::{Sharded, ShardingStage};
/// use module_nn::prelude::*;
///
/// let weights = LocalComm::run(2, |comm| {
///     manual_seed(0);
///     let model = Sequential::new().push(Linear::new(2, 8)?).push(ReLU::new()).push(Linear::new(8, 1)?);
///     let rank = comm.rank() as f32;
///     let sharded = Sharded::new(&model, comm, ShardingStage::Parameters)?;
///     let mut optimizer = AdamW::new(sharded.shards(), 1e-2)?;
///     for _ in 0..3 {
///         let loss = model.call(Tensor::from([[rank, 1.0]]))?.square()?.mean(..)?;
///         sharded.backward(&loss)?;
///         sharded.step(&mut optimizer)?;
///         sharded.zero_grad();
///     }
///     sharded.state_dict()?.get("2.bias").map(|bias| bias.to_vec::<f32>()).transpose()
/// })?;
/// assert_eq!(weights[0], weights[1]);
/// # Ok::<(), Error>(())
/// ```
pub struct Sharded<'m> {
    pub(super) model: &'m dyn Module,
    pub(super) core: Arc<Core>,
    shards: Shards,
    _gather: HookSet<'m>,
    _reduce: Vec<PostAccumulateHookHandle>,
}

impl<'m> Sharded<'m> {
    /// Divides the training state of a model; the values are those of rank 0. Build the optimizer afterwards, with the
    /// [`shards`](Self::shards).
    ///
    /// # Errors
    ///
    /// [`RankFailure`](crate::RankFailure): a model that differs from the one on rank 0; those of the collectives.
    /// Packed parameters.
    pub fn new(
        model: &'m (impl Module + ?Sized),
        comm: Arc<dyn Comm>,
        stage: ShardingStage,
    ) -> Result<Self> {
        Self::divide(model.as_module(), comm, stage, None)
    }

    /// [`new`](Self::new) with the modules that `select` matches as units.
    ///
    /// # Errors
    ///
    /// Those of `new`; a malformed pattern, or one that matches no module.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::LocalComm;
    /// use module_dist::sharding::{Sharded, ShardingStage};
    /// use module_nn::prelude::*;
    ///
    /// let units = LocalComm::run(1, |comm| {
    ///     let block = || Ok::<_, Error>(Sequential::new().push(Linear::new(2, 2)?).push(Linear::new(2, 2)?));
    ///     let model = Sequential::new().push(block()?).push(block()?);
    ///     let sharded = Sharded::with_units(&model, comm, ShardingStage::Parameters, "*")?;
    ///     Ok(sharded.units().map(str::to_owned).collect::<Vec<_>>())
    /// })?;
    /// assert_eq!(units[0], ["0", "1"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_units(
        model: &'m (impl Module + ?Sized),
        comm: Arc<dyn Comm>,
        stage: ShardingStage,
        select: impl Into<Select>,
    ) -> Result<Self> {
        Self::divide(model.as_module(), comm, stage, Some(select.into()))
    }

    fn divide(
        model: &'m dyn Module,
        comm: Arc<dyn Comm>,
        stage: ShardingStage,
        select: Option<Select>,
    ) -> Result<Self> {
        check_same(model, &*comm, "Sharded")?;
        for (_, buffer) in model.named_buffers() {
            buffer.set(comm.broadcast(&buffer.tensor(), 0)?)?;
        }
        let found = find_units(model, select.as_ref())?;
        let mut groups = Vec::new();
        for group in find_groups(model, &found) {
            let mut members = Vec::with_capacity(group.parameters.len());
            for (path, parameter) in group.parameters {
                members.push(Member::new(path, parameter, stage, &*comm)?);
            }
            groups.push(Group::new(members, group.units, comm.clone()));
        }
        let units = found.iter().enumerate().map(|(number, unit)| {
            let own = groups.iter().enumerate();
            let own = own.filter(|(_, group)| group.units.contains(&number));
            Unit {
                path: unit.path.clone(),
                groups: own.map(|(group, _)| group).collect(),
                backward: Mutex::default(),
            }
        });
        let units = units.collect();
        let shards = shards_of(model, &groups);
        let core = Arc::new(Core::new(comm, stage, groups, units));
        let gather = match stage {
            ShardingStage::Parameters => hooks::gather_values(&core, &found),
            ShardingStage::OptimizerState | ShardingStage::Gradients => HookSet::new(),
        };
        Ok(Self {
            model,
            shards,
            _gather: gather,
            _reduce: hooks::reduce_grads(&core),
            core,
        })
    }

    /// Whether the parameters of a unit are gathered while the unit before it computes (the default): FSDP's prefetch. The
    /// order is that of the last pass, and two units are held at a time. Without it, each is gathered when it is called.
    ///
    /// All ranks set the same.
    pub fn set_prefetch(&self, enabled: bool) {
        self.core.prefetches.store(enabled, Ordering::Relaxed);
    }

    /// The stage: which parts of the state are divided.
    pub fn stage(&self) -> ShardingStage {
        self.core.stage
    }

    /// This rank's parts of the parameters, under the model's paths: what the optimizer is built with.
    pub fn shards(&self) -> &Shards {
        &self.shards
    }

    /// The paths of the units that have parameters.
    pub fn units(&self) -> impl Iterator<Item = &str> {
        let units = self.core.units.iter();
        let units = units.filter(|unit| !unit.groups.is_empty());
        units.map(|unit| unit.path.as_str())
    }

    /// Computes the gradients of `loss` on this rank, and reduces them over all ranks: in place of `loss.backward()`.
    ///
    /// Repeated calls add. A parameter without a gradient on one rank counts as one of zeros there; without one on any
    /// rank, it has none.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::backward`] and of the collectives.
    pub fn backward(&self, loss: &Tensor) -> Result<()> {
        self.run_pass(|| loss.backward())
    }

    /// [`backward`](Self::backward) of a tensor of any shape, from its gradient.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::backward_with`] and of the collectives.
    pub fn backward_with(
        &self,
        tensor: &Tensor,
        grad: &Tensor,
        options: BackwardOptions,
    ) -> Result<()> {
        self.run_pass(|| tensor.backward_with(grad, options))
    }

    fn run_pass(&self, pass: impl FnOnce() -> Result<()>) -> Result<()> {
        self.core.begin_pass();
        match pass() {
            Ok(()) => self.core.end_pass(),
            Err(error) => {
                self.core.stop_pass();
                Err(without_hook(error))
            }
        }
    }

    /// Moves the parameters: each rank its part, by the optimizer that it has built with the [`shards`](Self::shards).
    ///
    /// # Errors
    ///
    /// [`ShardingError::NotElementwise`], [`ShardingError::Converted`]; those of [`Optimizer::step`] and of the collectives.
    pub fn step(&self, optimizer: &mut dyn Optimizer) -> Result<()> {
        let rank = self.core.comm.rank();
        if !optimizer.is_elementwise() {
            return Err(ShardingError::NotElementwise { rank }.into());
        }
        for member in members(&self.core) {
            member.check(rank)?;
            member.prepare(self.stage(), rank)?;
        }
        let moved = optimizer.step(&self.shards);
        let published = moved.and_then(|()| no_grad(|| self.publish()));
        if self.stage() < ShardingStage::Parameters {
            for member in members(&self.core) {
                member.drop_shard(self.stage())?;
            }
        }
        published
    }

    /// Gives the model the values that a step has moved.
    fn publish(&self) -> Result<()> {
        for group in &self.core.groups {
            let is_moved = |member: &Member| member.shard.grad().is_some();
            if !group.members.iter().any(is_moved) {
                continue;
            }
            if self.stage() == ShardingStage::Parameters {
                // Graphs of earlier calls must not see other values.
                group.members.iter().try_for_each(Member::release_value)?;
                continue;
            }
            for (member, value) in group.members.iter().zip(group.gather()?) {
                member.parameter.set(value)?;
            }
        }
        Ok(())
    }

    /// Drops the gradients.
    pub fn zero_grad(&self) {
        self.model.zero_grad();
        self.shards.zero_grad();
    }

    /// Gives every parameter its whole value again, and ends the division.
    ///
    /// # Errors
    ///
    /// Those of the collectives.
    pub fn unshard(self) -> Result<()> {
        if self.stage() < ShardingStage::Parameters {
            return Ok(());
        }
        for group in &self.core.groups {
            for (member, value) in group.members.iter().zip(group.gather()?) {
                member.parameter.set(value)?;
            }
        }
        Ok(())
    }
}

/// The failure of the run, if a hook here has reported it.
fn without_hook(error: Error) -> Error {
    let source = match error.kind() {
        ErrorKind::Autograd(AutogradError::Hook { source, .. }) => Some(source),
        _ => None,
    };
    let failure = source.and_then(|source| source.downcast_ref::<RankFailure>());
    match failure {
        Some(failure) => failure.clone().into(),
        None => error,
    }
}

/// The parameters of all groups.
pub(super) fn members(core: &Core) -> impl Iterator<Item = &Member> {
    core.groups.iter().flat_map(|group| &group.members)
}

/// The parts under every path of their parameters, in the model's order.
fn shards_of(model: &dyn Module, groups: &[Group]) -> Shards {
    let mut shards = Shards::default();
    let every_path = Walk::new().remove_duplicate(false);
    for (path, parameter) in model.named_parameters_with(every_path) {
        let mut members = groups.iter().flat_map(|group| &group.members);
        let own = members.find(|member| member.parameter.id() == parameter.id());
        if let Some(member) = own {
            shards.insert(&path, member.shard.share());
        }
    }
    shards
}

impl fmt::Debug for Sharded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, ranks) = (self.core.comm.rank(), self.core.comm.size());
        let units = self.units().collect::<Vec<_>>();
        let stage = self.stage();
        write!(
            f,
            "Sharded({stage}, rank {rank} of {ranks}, units {units:?})"
        )
    }
}
