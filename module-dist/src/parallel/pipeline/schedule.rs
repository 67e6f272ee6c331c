/// The next action of a rank of a [`Pipeline`](super::Pipeline), with the number of the micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineAction {
    /// The forward pass of its layers.
    Forward(usize),
    /// The backward pass through them.
    Backward(usize),
}

/// The order in which rank `rank` of `ranks` processes the micro-batches: 1F1B.
///
/// After `min(ranks - rank - 1, micro_batches)` forward passes, forward and backward passes alternate; the remaining
/// backward passes follow. So a rank keeps the activations of at most `ranks - rank` micro-batches at once, however many
/// there are.
///
/// Source: Narayanan et al., *PipeDream: Generalized Pipeline Parallelism for DNN Training* (2019); the schedule with a
/// flush of *Memory-Efficient Pipeline-Parallel DNN Training* (2021).
///
/// # Example
///
/// ```
/// use module_dist::parallel::PipelineAction::{Backward, Forward};
/// use module_dist::parallel::one_forward_one_backward;
///
/// let first = one_forward_one_backward(0, 2, 3);
/// assert_eq!(first, [Forward(0), Forward(1), Backward(0), Forward(2), Backward(1), Backward(2)]);
/// let last = one_forward_one_backward(1, 2, 3);
/// assert_eq!(last, [Forward(0), Backward(0), Forward(1), Backward(1), Forward(2), Backward(2)]);
/// ```
pub fn one_forward_one_backward(
    rank: usize,
    ranks: usize,
    micro_batches: usize,
) -> Vec<PipelineAction> {
    let ahead = ranks.saturating_sub(rank + 1).min(micro_batches);
    let mut actions: Vec<_> = (0..ahead).map(PipelineAction::Forward).collect();
    for done in 0..micro_batches {
        if ahead + done < micro_batches {
            actions.push(PipelineAction::Forward(ahead + done));
        }
        actions.push(PipelineAction::Backward(done));
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::PipelineAction::{Backward, Forward};
    use super::one_forward_one_backward;

    /// Carries out the schedules of all ranks, and returns the most micro-batches that a rank holds at once.
    fn run(ranks: usize, micro_batches: usize) -> Vec<usize> {
        let schedules: Vec<_> = (0..ranks)
            .map(|rank| one_forward_one_backward(rank, ranks, micro_batches))
            .collect();
        let mut position = vec![0; ranks];
        let (mut forwards, mut backwards) = (vec![0; ranks], vec![0; ranks]);
        let mut most = vec![0; ranks];
        loop {
            let mut moved = false;
            for rank in 0..ranks {
                let Some(action) = schedules[rank].get(position[rank]) else {
                    continue;
                };
                let ready = match *action {
                    Forward(i) => {
                        assert_eq!(i, forwards[rank]);
                        rank == 0 || forwards[rank - 1] > i
                    }
                    Backward(i) => {
                        assert_eq!(i, backwards[rank]);
                        assert!(forwards[rank] > i);
                        rank + 1 == ranks || backwards[rank + 1] > i
                    }
                };
                if ready {
                    match action {
                        Forward(_) => forwards[rank] += 1,
                        Backward(_) => backwards[rank] += 1,
                    }
                    position[rank] += 1;
                    most[rank] = most[rank].max(forwards[rank] - backwards[rank]);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        assert_eq!(forwards, vec![micro_batches; ranks]);
        assert_eq!(backwards, vec![micro_batches; ranks]);
        most
    }

    #[test]
    fn every_micro_batch_passes_and_few_are_held() {
        for ranks in 1..6 {
            for micro_batches in 0..9 {
                let most = run(ranks, micro_batches);
                let expected = (0..ranks).map(|rank| (ranks - rank).min(micro_batches));
                assert!(most.into_iter().eq(expected), "{ranks} {micro_batches}");
            }
        }
    }
}
