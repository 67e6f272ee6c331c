mod finish;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use module_nn::{Buffer, Error, Module, ModuleExt, Parameter, Result, Tensor, no_grad};

use super::buckets::{Bucket, divide};
use super::pass::Pass;
use super::unused::reached;
use super::{DataParallelConfig, GradBucket};
use crate::{Comm, FailureCause, RankFailure};

/// The state that the hooks of the parameters share.
pub(super) struct Reducer {
    comm: Arc<dyn Comm>,
    config: DataParallelConfig,
    /// The trained parameters with their paths.
    parameters: Vec<(String, Parameter)>,
    buffers: Vec<(String, Buffer)>,
    buckets: Vec<Bucket>,
    /// The bucket of each parameter.
    bucket_of: Vec<usize>,
    pass: Mutex<Pass>,
    steps: AtomicU64,
    syncs: AtomicBool,
    /// Whether ranks may have different numbers of passes.
    pub(super) joins: AtomicBool,
}

impl Reducer {
    pub(super) fn new(
        model: &dyn Module,
        comm: Arc<dyn Comm>,
        config: DataParallelConfig,
    ) -> Result<Self> {
        let trained = model.named_parameters();
        let trained = trained.filter(|(_, parameter)| parameter.tensor().requires_grad());
        let parameters: Vec<_> = trained.map(|(path, it)| (path, it.share())).collect();
        if parameters.is_empty() {
            let problem =
                "no parameter of the model is trained, so that there is nothing to average";
            return Err(Error::argument(
                "DataParallel",
                "model",
                model.kind(),
                problem,
            ));
        }
        let buffers = model.named_buffers();
        let handles: Vec<_> = parameters.iter().map(|(_, parameter)| parameter).collect();
        let buckets = divide(&handles, config.first_bucket_bytes, config.bucket_bytes);
        let mut bucket_of = vec![0; parameters.len()];
        for (i, bucket) in buckets.iter().enumerate() {
            for member in &bucket.members {
                if let Some(of) = bucket_of.get_mut(member.parameter) {
                    *of = i;
                }
            }
        }
        Ok(Self {
            comm,
            config,
            pass: Mutex::new(Pass::new(parameters.len(), &buckets)),
            parameters,
            buffers: buffers.map(|(path, it)| (path, it.share())).collect(),
            buckets,
            bucket_of,
            steps: AtomicU64::new(0),
            syncs: AtomicBool::new(true),
            joins: AtomicBool::new(false),
        })
    }

    pub(super) fn comm(&self) -> &Arc<dyn Comm> {
        &self.comm
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().map(|(_, parameter)| parameter)
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    pub(super) fn set_steps(&self, steps: u64) {
        self.steps.store(steps, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Pass> {
        // A thread that panicked has ended the run on all ranks.
        self.pass.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn no_sync<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a AtomicBool, bool);

        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Ordering::Relaxed);
            }
        }

        let _restore = Restore(&self.syncs, self.syncs.swap(false, Ordering::Relaxed));
        body()
    }

    fn syncs(&self) -> bool {
        self.syncs.load(Ordering::Relaxed)
    }

    pub(super) fn backward(&self, loss: &Tensor) -> Result<()> {
        if !self.syncs() {
            return loss.backward();
        }
        let run = || {
            let handles: Vec<_> = self.parameters().collect();
            let used = reached(loss, &handles);
            let mut pass = self.lock();
            self.begin(&mut pass)?;
            if used.contains(&false) {
                self.leave_out(&mut pass, &used)?;
            }
            drop(pass);
            loss.backward()
        };
        run().map_err(|error| self.end_run(error))
    }

    /// Begins a pass in which this rank has a loss.
    fn begin(&self, pass: &mut Pass) -> Result<()> {
        if pass.begun {
            return Err(self.incomplete(pass));
        }
        pass.begun = true;
        self.comm.set_step(self.steps());
        if self.joins.load(Ordering::Relaxed) {
            pass.active = Some(self.active_ranks(true)?);
        }
        Ok(())
    }

    /// Takes the parameters that the loss does not depend on out of the pass.
    fn leave_out(&self, pass: &mut Pass, used: &[bool]) -> Result<()> {
        if !self.config.find_unused_parameters {
            let unused = self.paths(used, false);
            return Err(self.failure(FailureCause::UnusedParameters { parameters: unused }));
        }
        for i in (0..used.len()).filter(|&i| !used[i]) {
            pass.used[i] = false;
            self.complete(pass, i)?;
        }
        Ok(())
    }

    /// The hook of parameter `i`.
    pub(super) fn gradient_is_ready(&self, i: usize) -> Result<()> {
        if !self.syncs() {
            return Ok(());
        }
        let mut pass = self.lock();
        let run = |pass: &mut Pass| {
            // `DataParallel::backward` has begun its passes itself.
            if !pass.begun {
                self.begin(pass)?;
            }
            if pass.ready.get(i) == Some(&true) {
                return Err(self.incomplete(pass));
            }
            self.complete(pass, i)
        };
        run(&mut pass).map_err(|error| self.end_run(error))
    }

    /// Records that the gradient of parameter `i` is complete, and sends the buckets that are complete with it.
    fn complete(&self, pass: &mut Pass, i: usize) -> Result<()> {
        let bucket = self.bucket_of.get(i).copied().unwrap_or_default();
        if let (Some(ready), Some(missing)) = (pass.ready.get_mut(i), pass.missing.get_mut(bucket))
        {
            *ready = true;
            *missing -= 1;
        }
        while let Some(next) = pass.next() {
            let gradients = no_grad(|| self.gather_gradients(&self.buckets[next], pass))?;
            let bucket = GradBucket {
                index: next,
                gradients: gradients.clone(),
            };
            let work = self.config.hook.start(bucket, &*self.comm)?;
            pass.started.push((work, gradients));
        }
        if pass.is_complete() {
            let whole = std::mem::replace(pass, Pass::new(self.parameters.len(), &self.buckets));
            no_grad(|| self.finish(whole))?;
        }
        Ok(())
    }

    /// The gradients of a bucket as one vector.
    fn gather_gradients(&self, bucket: &Bucket, pass: &Pass) -> Result<Tensor> {
        let mut parts = Vec::with_capacity(bucket.members.len());
        for member in &bucket.members {
            let (path, parameter) = &self.parameters[member.parameter];
            let used = pass.used.get(member.parameter) == Some(&true);
            // What no pass used since the last step may still have accumulated before.
            let part = match parameter.grad() {
                Some(grad) => grad.detach().reshape([member.range.len()])?,
                None if !used => Tensor::zeros(member.range.len(), (bucket.dtype, &bucket.device))?,
                None => {
                    let problem = "lost its gradient before all were averaged: an earlier pass left parameters out, or a \
                                   hook dropped it; call `DataParallel::backward`, which names what is left out";
                    return Err(Error::argument("DataParallel", "parameter", path, problem));
                }
            };
            parts.push(part);
        }
        Tensor::cat(&parts, 0)
    }

    /// Takes part in a pass of other ranks with gradients of zero.
    pub(super) fn shadow(&self, active: Vec<usize>) -> Result<()> {
        let mut pass = self.lock();
        pass.begun = true;
        self.comm.set_step(self.steps());
        pass.active = Some(active);
        pass.used.fill(false);
        for (i, (_, parameter)) in self.parameters.iter().enumerate() {
            parameter.zero_grad();
            self.complete(&mut pass, i)?;
        }
        Ok(())
    }

    fn paths(&self, marks: &[bool], mark: bool) -> Vec<String> {
        let marked = self
            .parameters
            .iter()
            .zip(marks)
            .filter(|(_, it)| **it == mark);
        marked.map(|((path, _), _)| path.clone()).collect()
    }

    /// The error of a pass that begins or goes on after one that did not complete every gradient.
    fn incomplete(&self, pass: &Pass) -> Error {
        let parameters = self.paths(&pass.ready, false);
        match parameters.is_empty() {
            true => Error::custom(
                "a second backward pass has reached parameters before the first has completed; run passes one after another, \
                 all but the last in `no_sync`",
            ),
            false => self.failure(FailureCause::UnusedParameters { parameters }),
        }
    }

    /// The failure of this rank in this step.
    fn failure(&self, cause: FailureCause) -> Error {
        self.failure_of(self.comm.world_rank(), cause)
    }

    fn failure_of(&self, rank: usize, cause: FailureCause) -> Error {
        self.rank_failure(rank, cause).into()
    }

    fn rank_failure(&self, rank: usize, cause: FailureCause) -> RankFailure {
        let place = format!("step {}, backward", self.steps());
        RankFailure::new(rank, place, cause)
    }

    /// Ends the run on all ranks because of an error on this one; returns the failure that ended it.
    fn end_run(&self, error: Error) -> Error {
        if let Some(failure) = self.comm.failure() {
            return failure.into();
        }
        let failure = match error.downcast_ref::<RankFailure>() {
            Some(failure) => failure.clone(),
            None => {
                let message = error.to_string();
                self.rank_failure(self.comm.world_rank(), FailureCause::Error { message })
            }
        };
        self.comm.fail(failure.clone());
        failure.into()
    }
}
