//! Schedules composed of others.

use module_nn::prelude::*;

use super::optimizer;

#[test]
fn a_step_that_fails_changes_no_part_of_a_chain() {
    let mut optimizer = optimizer("SGD", &[0.1, 0.02]);
    let falls = ExponentialLR::new(optimizer.as_mut(), 0.5).unwrap();
    let below_0 = |epoch| if epoch < 2 { 1.0 } else { -1.0 };
    let fails = MultiplicativeLR::new(optimizer.as_mut(), below_0).unwrap();
    let parts: Vec<Box<dyn Schedule>> = vec![Box::new(falls), Box::new(fails)];
    let mut chain = ChainedScheduler::new(optimizer.as_mut(), parts).unwrap();
    chain.step(optimizer.as_mut()).unwrap();
    let before = format!("{:?}", chain.state().unwrap());
    let error = chain.step(optimizer.as_mut()).unwrap_err().to_string();
    assert!(
        error.starts_with("MultiplicativeLR: lr = -0.025"),
        "{error}"
    );
    assert_eq!(optimizer.group_lrs(), [0.05, 0.01]);
    assert_eq!(format!("{:?}", chain.state().unwrap()), before);
}

#[test]
fn mistakes_in_sequences_are_errors() {
    let mut optimizer = optimizer("SGD", &[0.1, 0.02]);
    let mut parts = || -> Vec<Box<dyn Schedule>> {
        let mut part = || Box::new(ExponentialLR::new(optimizer.as_mut(), 0.5).unwrap());
        vec![part(), part(), part()]
    };
    let (falling, right) = (parts(), parts());
    let falls = SequentialLR::new(optimizer.as_mut(), falling, [5, 3]);
    let error = falls.err().unwrap().to_string();
    assert!(error.contains("milestones = [5, 3]"), "{error}");
    let mut sequence = SequentialLR::new(optimizer.as_mut(), right, [3, 5]).unwrap();
    let one = ExponentialLR::new(optimizer.as_mut(), 0.5).unwrap();
    let mut chain = ChainedScheduler::new(optimizer.as_mut(), vec![Box::new(one)]).unwrap();
    assert!(chain.load_state(&sequence.state().unwrap()).is_err());
    assert!(sequence.load_state(&chain.state().unwrap()).is_err());
}

#[test]
fn composed_schedules_act_inside_a_sequence() {
    let mut optimizer = optimizer("SGD", &[1.0, 0.5]);
    let rises = LinearLRConfig::new().start_factor(0.5).total_iters(2_usize);
    let rises = rises.build(optimizer.as_mut()).unwrap();
    let halves = ConstantLRConfig::new().factor(0.5).total_iters(2_usize);
    let halves = halves.build(optimizer.as_mut()).unwrap();
    let falls = ExponentialLR::new(optimizer.as_mut(), 0.5).unwrap();
    let parts: Vec<Box<dyn Schedule>> = vec![Box::new(halves), Box::new(falls)];
    let chain = ChainedScheduler::new(optimizer.as_mut(), parts).unwrap();
    let parts: Vec<Box<dyn Schedule>> = vec![Box::new(rises), Box::new(chain)];
    let mut sequence = SequentialLR::new(optimizer.as_mut(), parts, [3]).unwrap();
    let mut lrs = vec![optimizer.group_lrs()];
    for _ in 0..6 {
        sequence.step(optimizer.as_mut()).unwrap();
        lrs.push(optimizer.group_lrs());
    }
    let first: Vec<f64> = lrs.iter().map(|lrs| lrs[0]).collect();
    assert_eq!(first, [0.5, 0.75, 1.0, 0.5, 0.25, 0.25, 0.125]);
    assert!(lrs.iter().all(|lrs| lrs[1] == 0.5 * lrs[0]));
}

#[test]
fn a_sequence_goes_through_a_checkpoint_on_disk() {
    let name = format!("schedules-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let build = || {
        let mut optimizer = optimizer("SGD", &[0.1, 0.02]);
        let rises = LinearLR::new(optimizer.as_mut()).unwrap();
        let falls = CosineAnnealingLR::new(optimizer.as_mut(), 50).unwrap();
        let parts: Vec<Box<dyn Schedule>> = vec![Box::new(rises), Box::new(falls)];
        let sequence = SequentialLR::new(optimizer.as_mut(), parts, [5]).unwrap();
        let schedule: Box<dyn Schedule> = Box::new(sequence);
        (optimizer, schedule)
    };
    let (mut optimizer, mut schedule) = build();
    for _ in 0..17 {
        schedule.step(optimizer.as_mut()).unwrap();
    }
    let checkpoint = TrainingCheckpoint::new(0, 17).with("optimizer", &optimizer);
    let checkpoint = checkpoint.unwrap().with("schedule", &schedule).unwrap();
    checkpoint.save(&directory).unwrap();
    let (mut resumed, mut again) = build();
    let checkpoint = TrainingCheckpoint::load(&directory).unwrap();
    checkpoint.restore("optimizer", &mut resumed).unwrap();
    checkpoint.restore("schedule", &mut again).unwrap();
    for _ in 17..80 {
        schedule.step(optimizer.as_mut()).unwrap();
        again.step(resumed.as_mut()).unwrap();
        assert_eq!(resumed.group_lrs(), optimizer.group_lrs());
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
