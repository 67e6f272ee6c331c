//! Starts the programs of `mpi.rs` with `mpirun`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::training::STEPS;
use module_dist::rank_seed;
use module_nn::TrainingCheckpoint;

/// How a run ended.
struct Ended {
    success: bool,
    output: String,
    seconds: f64,
}

/// A directory of this run.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("module-dist-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory for the test");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn main() -> ExitCode {
    for ranks in [2, 4] {
        passes(ranks, "suite");
        passes(ranks, "pieces");
        passes(ranks, "failure");
        other_model_is_named(ranks);
        hang_is_named(ranks);
    }
    kills_are_survived();
    println!("all runs ended as they should");
    ExitCode::SUCCESS
}

fn mpirun(ranks: usize, program: &str, directory: &Path) -> Command {
    let mut command = Command::new("mpirun");
    // Containers run as root, and have fewer cores than ranks.
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        &ranks.to_string(),
    ]);
    command.arg(std::env::current_exe().expect("this program"));
    command.arg(program).arg(directory);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs to the end, with `meanwhile` once it has started.
fn run(ranks: usize, program: &str, directory: &Path, meanwhile: impl FnOnce()) -> Ended {
    let start = Instant::now();
    let mut child = mpirun(ranks, program, directory)
        .spawn()
        .expect("mpirun, of a package such as openmpi-bin");
    let mut readers = Vec::new();
    for mut pipe in [
        child
            .stdout
            .take()
            .map(|it| Box::new(it) as Box<dyn Read + Send>),
        child
            .stderr
            .take()
            .map(|it| Box::new(it) as Box<dyn Read + Send>),
    ]
    .into_iter()
    .flatten()
    {
        readers.push(std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        }));
    }
    meanwhile();
    let status = child.wait().expect("mpirun ends");
    let output = readers
        .into_iter()
        .map(|it| it.join().expect("a reader"))
        .collect();
    Ended {
        success: status.success(),
        output,
        seconds: start.elapsed().as_secs_f64(),
    }
}

fn passes(ranks: usize, program: &str) {
    let scratch = Scratch::new(program);
    let ended = run(ranks, program, &scratch.0, || ());
    assert!(
        ended.success,
        "{program} on {ranks} ranks:\n{}",
        ended.output
    );
    println!("{program} on {ranks} ranks: {:.1} s", ended.seconds);
}

fn other_model_is_named(ranks: usize) {
    let scratch = Scratch::new("other-model");
    let ended = run(ranks, "other-model", &scratch.0, || ());
    assert!(!ended.success);
    let text = "rank 1 in DataParallel: its model is not that of rank 0: `weight` is a parameter of float32 [2, 3], on rank 0 \
                a parameter of float32 [2, 2]";
    for rank in 0..ranks {
        let line = format!("error on rank {rank}: {text}");
        assert!(
            ended.output.contains(&line),
            "no `{line}` in\n{}",
            ended.output
        );
    }
    println!("another model on {ranks} ranks: {:.1} s", ended.seconds);
}

fn hang_is_named(ranks: usize) {
    let scratch = Scratch::new("hang");
    let ended = run(ranks, "hang", &scratch.0.join("checkpoint"), || ());
    assert!(!ended.success);
    let text = "rank 1 in step 6, all_reduce(mean)";
    assert!(
        ended.output.contains(text),
        "no `{text}` in\n{}",
        ended.output
    );
    assert!(
        ended.output.contains("no answer within 3 s"),
        "{}",
        ended.output
    );
    // The rank hangs for a minute.
    assert!(ended.seconds < 30.0, "{} s", ended.seconds);
    println!("a hanging rank of {ranks}: {:.1} s", ended.seconds);
}

/// Kills a rank at random moments, until the run has ended undisturbed, and compares its end with that of a run that was
/// never disturbed.
fn kills_are_survived() {
    const RANKS: usize = 2;
    let count = std::env::var("MODULE_DIST_KILLS").ok();
    let mut left: u64 = count.and_then(|count| count.parse().ok()).unwrap_or(5);
    let reference = Scratch::new("reference");
    let ended = run(RANKS, "train", &reference.0, || ());
    assert!(ended.success, "{}", ended.output);
    let end = |scratch: &Scratch, rank: usize| {
        std::fs::read(scratch.0.join(format!("end{rank}"))).expect("an end")
    };
    let whole = ended.seconds;
    let training = 1.2 * crate::PAUSE.as_secs_f64() * STEPS as f64;
    let attempts = left;
    let (mut round, mut killed) = (0, 0);
    while left > 0 {
        round += 1;
        let scratch = Scratch::new(&format!("kill-{round}"));
        // At most three kills in one run, so that it ends.
        for attempt in 0..left.min(3) {
            let random = rank_seed(left, round);
            let victim = random as usize % RANKS;
            // A little longer than training takes, from the start of the process.
            let moment = training * ((random >> 16) % 1000) as f64 / 1000.0;
            let pid_file = scratch.0.join(format!("pid{victim}"));
            let kill = || {
                let start = Instant::now();
                let mut pid = String::new();
                while pid.is_empty() && start.elapsed() < Duration::from_secs(20) {
                    sleep(Duration::from_millis(2));
                    pid = std::fs::read_to_string(&pid_file).unwrap_or_default();
                }
                sleep(Duration::from_secs_f64(moment));
                let kill = Command::new("kill")
                    .args(["-9", &pid])
                    .stderr(Stdio::null())
                    .status();
                kill.expect("the program `kill`");
            };
            let ended = run(RANKS, "train", &scratch.0, kill);
            for rank in 0..RANKS {
                let _ = std::fs::remove_file(scratch.0.join(format!("pid{rank}")));
            }
            left -= 1;
            assert!(
                ended.seconds < whole + 30.0,
                "a run with a killed rank took {} s",
                ended.seconds
            );
            if !ended.success {
                killed += 1;
                let named = ended.output.contains(&format!("rank {victim} "));
                assert!(
                    named,
                    "round {round}, attempt {attempt}: no rank {victim} in\n{}",
                    ended.output
                );
            }
            let checkpoint = scratch.0.join("checkpoint");
            // Without it, the rank was killed in the first save or before.
            if checkpoint.join("checkpoint.json").exists() {
                TrainingCheckpoint::load(&checkpoint).expect("a whole checkpoint");
            }
        }
        let ended = run(RANKS, "train", &scratch.0, || ());
        assert!(ended.success, "{}", ended.output);
        for rank in 0..RANKS {
            assert!(
                end(&scratch, rank) == end(&reference, rank),
                "round {round}: rank {rank} ends elsewhere"
            );
        }
    }
    assert!(
        2 * killed >= attempts,
        "only {killed} of {attempts} kills hit a running rank"
    );
    println!("{killed} runs were killed, and resumed bit for bit");
}
