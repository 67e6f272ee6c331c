//! Predictions for more ranks than this machine has: the time of a step if messages have a latency and a bandwidth.

mod measure;

use module_nn::{Error, Result};
use serde::{Deserialize, Serialize};

pub use measure::{measure_core_share, measure_link};

/// The connection of two ranks: a message of `n` bytes takes `latency + n / bandwidth` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Seconds from the start of a message of no bytes to its arrival.
    pub latency: f64,
    /// Bytes per second.
    pub bandwidth: f64,
}

impl Link {
    /// The seconds that a message takes.
    pub fn seconds(&self, bytes: f64) -> f64 {
        self.latency + bytes / self.bandwidth
    }
}

/// The work of one training step on one rank, as measured on one rank alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepPlan {
    /// Seconds before the backward pass: the batch and the forward pass.
    pub forward: f64,
    /// Seconds of the backward pass.
    pub backward: f64,
    /// Seconds after it: the optimizer.
    pub update: f64,
    /// The buckets in the order in which they are sent.
    pub buckets: Vec<BucketPlan>,
}

/// A bucket of gradients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BucketPlan {
    /// Its bytes.
    pub bytes: f64,
    /// The part of the backward pass after which it is complete, from 0 to 1.
    pub ready: f64,
}

/// Machines that run ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The link between ranks of one machine, as [measured](measure_link) with as many ranks there as the plan has.
    pub local: Link,
    /// The link between machines, which the ranks of a machine share.
    pub network: Link,
    /// The ranks on each machine.
    pub ranks_per_machine: usize,
    /// The ranks that compute on a machine without slowing each other down.
    pub cores_per_machine: usize,
    /// The part of the time of a message in which a core works on it, from 0 (a network card does everything) to 1 (ranks
    /// copy memory), [measured](measure_core_share) in the same way. If ranks occupy all cores, this work delays theirs even
    /// where it overlaps with it.
    pub core_share: f64,
}

/// The predicted time of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The ranks.
    pub ranks: usize,
    /// Seconds of a step.
    pub step: f64,
    /// Seconds of it that communication adds.
    pub exposed: f64,
    /// The samples per second of all ranks, relative to one rank alone.
    pub speedup: f64,
    /// The speedup divided by the ranks.
    pub efficiency: f64,
}

impl StepPlan {
    /// Predicts a step in which each of `ranks` ranks has a batch like that of the plan.
    ///
    /// Buckets are sent one after another, each as soon as it is complete: a reduce-scatter and an all-gather, in each of
    /// which a rank sends one message to every other rank,
    ///
    /// ```text
    /// 2 · (n - 1) · (latency + bytes / n / bandwidth)
    /// ```
    ///
    /// Ranks that share cores take as many times longer to compute as there are ranks for each core.
    ///
    /// # Errors
    ///
    /// No rank; a cluster without cores or ranks, or with a bandwidth that is not positive.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::simulate::{BucketPlan, Cluster, Link, StepPlan};
    ///
    /// let plan = StepPlan {
    ///     forward: 0.1,
    ///     backward: 0.2,
    ///     update: 0.01,
    ///     buckets: vec![BucketPlan { bytes: 25e6, ready: 0.5 }, BucketPlan { bytes: 25e6, ready: 1.0 }],
    /// };
    /// let link = Link { latency: 5e-6, bandwidth: 10e9 };
    /// let cluster = Cluster { local: link, network: link, ranks_per_machine: 8, cores_per_machine: 8, core_share: 0.0 };
    /// let (few, many) = (plan.predict(8, &cluster)?, plan.predict(1024, &cluster)?);
    /// assert!(many.speedup > few.speedup && many.efficiency < few.efficiency);
    /// # Ok::<(), module_nn::Error>(())
    /// ```
    pub fn predict(&self, ranks: usize, cluster: &Cluster) -> Result<Prediction> {
        let fail = |name, value: &dyn ToString, problem: &str| {
            Err(Error::argument("predict", name, value.to_string(), problem))
        };
        if ranks == 0 {
            return fail("ranks", &ranks, "must be at least 1");
        }
        let machine = cluster.ranks_per_machine.min(ranks);
        if machine == 0 || cluster.cores_per_machine == 0 {
            return fail(
                "ranks_per_machine",
                &machine,
                "must be at least 1, as must cores_per_machine",
            );
        }
        for link in [cluster.local, cluster.network] {
            if link.bandwidth <= 0.0 || link.bandwidth.is_nan() {
                return fail("bandwidth", &link.bandwidth, "must be positive");
            }
        }
        let slowdown = (machine as f64 / cluster.cores_per_machine as f64).max(1.0);
        let start = self.forward * slowdown;
        let computed = start + self.backward * slowdown;
        let (mut sent, mut sending) = (0.0_f64, 0.0);
        for bucket in &self.buckets {
            let ready = start + bucket.ready * self.backward * slowdown;
            let time = cluster.all_reduce(ranks, bucket.bytes);
            sent = sent.max(ready) + time;
            sending += time;
        }
        let waited = (sent - computed).max(0.0);
        let is_full = machine >= cluster.cores_per_machine;
        let delay = if is_full {
            cluster.core_share * (sending - waited)
        } else {
            0.0
        };
        let exposed = waited + delay;
        let step = computed + exposed + self.update * slowdown;
        let alone = self.forward + self.backward + self.update;
        let speedup = ranks as f64 * alone / step;
        Ok(Prediction {
            ranks,
            step,
            exposed,
            speedup,
            efficiency: speedup / ranks as f64,
        })
    }
}

impl Cluster {
    /// The seconds of an all-reduce of `bytes` bytes over `ranks` ranks.
    pub fn all_reduce(&self, ranks: usize, bytes: f64) -> f64 {
        let local = self.ranks_per_machine.min(ranks);
        let (near, far) = (
            local.saturating_sub(1) as f64,
            ranks.saturating_sub(local) as f64,
        );
        let part = bytes / ranks as f64;
        let near = near * self.local.seconds(part);
        // All ranks of a machine send through its one network link.
        let far = far * (self.network.latency + local as f64 * part / self.network.bandwidth);
        2.0 * (near + far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> StepPlan {
        StepPlan {
            forward: 1.0,
            backward: 2.0,
            update: 0.5,
            buckets: vec![
                BucketPlan {
                    bytes: 8.0,
                    ready: 0.5,
                },
                BucketPlan {
                    bytes: 4.0,
                    ready: 1.0,
                },
            ],
        }
    }

    fn cluster(ranks_per_machine: usize, cores_per_machine: usize) -> Cluster {
        Cluster {
            local: Link {
                latency: 0.25,
                bandwidth: 8.0,
            },
            network: Link {
                latency: 1.0,
                bandwidth: 4.0,
            },
            ranks_per_machine,
            cores_per_machine,
            core_share: 0.0,
        }
    }

    #[test]
    fn one_rank_sends_nothing() -> Result<()> {
        let alone = plan().predict(1, &cluster(4, 4))?;
        assert_eq!((alone.step, alone.exposed, alone.speedup), (3.5, 0.0, 1.0));
        Ok(())
    }

    #[test]
    fn two_ranks_hide_messages_that_are_sent_in_time() -> Result<()> {
        // The first bucket takes 2 · (0.25 + 4 / 8) = 1.5 from 2.0 to 3.5, the second 2 · (0.25 + 2 / 8) = 1 to 4.5.
        let two = plan().predict(2, &cluster(4, 4))?;
        assert_eq!((two.step, two.exposed), (5.0, 1.5));
        assert_eq!(two.speedup, 2.0 * 3.5 / 5.0);
        // If the cores do the copying, the hidden second is added.
        let copies = Cluster {
            core_share: 1.0,
            ..cluster(2, 2)
        };
        assert_eq!(plan().predict(2, &copies)?.exposed, 2.5);
        Ok(())
    }

    #[test]
    fn ranks_share_cores_and_the_network() -> Result<()> {
        // Four ranks on two cores compute for twice as long: 6 until the buckets are ready at 4 and 6.
        let crowded = plan().predict(4, &cluster(4, 2))?;
        // 2 · 3 · (0.25 + 2 / 8) = 3 to 7, and 2 · 3 · (0.25 + 1 / 8) = 2.25 to 9.25.
        assert_eq!((crowded.step, crowded.exposed), (10.25, 3.25));
        // On two machines of two: 2 · (1 · (0.25 + 2 / 8) + 2 · (1 + 2 · 2 / 4)) = 9.
        assert_eq!(cluster(2, 2).all_reduce(4, 8.0), 9.0);
        Ok(())
    }

    #[test]
    fn impossible_clusters_are_refused() {
        assert!(plan().predict(0, &cluster(1, 1)).is_err());
        assert!(plan().predict(1, &cluster(0, 1)).is_err());
        let dead = Cluster {
            network: Link {
                latency: 0.0,
                bandwidth: 0.0,
            },
            ..cluster(1, 1)
        };
        assert!(plan().predict(1, &dead).is_err());
    }
}
