//! Sharded checkpoints.

use super::*;

// Shards.

#[test]
fn shards_hold_the_saved_tensors() {
    let scratch = Scratch::directory("checkpoints-shards");
    let tied = constant(7.0, 10);
    let state = StateDict::from_iter([
        ("b", constant(1.0, 10)),
        ("a", tied.clone()),
        ("large", constant(2.0, 100)),
        ("c", constant(3.0, 5)),
        ("step", Tensor::from(5_i64)),
        ("tied", tied.clone()),
        ("empty", constant(0.0, 0)),
        (
            "transposed",
            Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).t().unwrap(),
        ),
    ]);
    for (limit, shards) in [(1, 7), (40, 5), (80, 3), (400, 3), (1 << 30, 1)] {
        let directory = scratch.file(&format!("of-{limit}"));
        state.save_sharded(&directory, limit).unwrap();
        let files = std::fs::read_dir(&directory).unwrap().count();
        assert_eq!(files, shards + 1, "{limit}");
        let index = directory.join("model.safetensors.index.json");
        for path in [&directory, &index] {
            assert_eq!(bytes(&StateDict::load(path).unwrap()), bytes(&state));
        }
        let loaded = StateDict::load(&directory).unwrap();
        let (a, tied) = (loaded.get("a").unwrap(), loaded.get("tied").unwrap());
        assert!(a.shares_memory_with(tied));
    }
    // Equal states give equal files.
    let read = |name: &str| std::fs::read(scratch.file("of-40").join(name)).unwrap();
    let index = "model.safetensors.index.json";
    let (shard, before) = ("model-00002-of-00005.safetensors", read(index));
    let first = read(shard);
    std::fs::remove_dir_all(scratch.file("of-40")).unwrap();
    state.save_sharded(scratch.file("of-40"), 40).unwrap();
    assert_eq!((read(index), read(shard)), (before, first));
}

#[test]
fn no_old_shard_is_written_and_none_stays() {
    let scratch = Scratch::directory("checkpoints-again");
    let of = |value: f32, n: usize| {
        let tensors = (0..n).map(|i| (format!("t{i}"), constant(value, 4)));
        StateDict::from_iter(tensors)
    };
    of(0.0, 2).save_sharded(&scratch.0, 16).unwrap();
    // A user's file, and remains of a killed save.
    std::fs::write(scratch.file("config.json"), b"{}").unwrap();
    std::fs::write(scratch.file("model-notes.safetensors"), b"").unwrap();
    std::fs::write(scratch.file("model.3-00001-of-00002.safetensors"), b"").unwrap();
    let kept = [
        "config.json",
        "model-notes.safetensors",
        "model.safetensors.index.json",
    ];
    for (round, n) in [(1, 2), (2, 3), (3, 3), (4, 1), (5, 3)] {
        // Tensors borrow from the files that are replaced.
        let old = StateDict::load(&scratch.0).unwrap();
        of(f32::from(round as u8), n)
            .save_sharded(&scratch.0, 16)
            .unwrap();
        assert!(
            old.iter()
                .all(|(_, x)| x.to_vec::<f32>().unwrap() == [f32::from(round as u8 - 1); 4])
        );
        let new = StateDict::load(&scratch.0).unwrap();
        assert_eq!(bytes(&new), bytes(&of(f32::from(round as u8), n)));
        let names = scratch.names();
        assert_eq!(names.len(), n + kept.len(), "{names:?}");
        assert!(
            kept.iter()
                .all(|name| names.iter().any(|found| found == name))
        );
    }
}

#[test]
fn shards_are_refused_where_readers_would_not_find_them() {
    let scratch = Scratch::directory("checkpoints-beside");
    let state = StateDict::from_iter([("a", constant(1.0, 4))]);
    assert!(
        StateDict::load(&scratch.0)
            .unwrap_err()
            .to_string()
            .contains("none of")
    );
    state.save(scratch.file("model.safetensors")).unwrap();
    assert_eq!(StateDict::load(&scratch.0).unwrap().len(), 1);
    let message = state.save_sharded(&scratch.0, 16).unwrap_err().to_string();
    assert!(message.contains("model.safetensors"), "{message}");
    assert_eq!(scratch.names(), ["model.safetensors"]);
    assert!(state.save_sharded(scratch.file("sub"), 0).is_err());
    assert!(
        state
            .save_sharded(scratch.file("none").join("sub"), 16)
            .is_err()
    );
    state.save_sharded(scratch.file("sub"), 16).unwrap();
    state
        .save(scratch.file("sub").join("model.safetensors"))
        .unwrap();
    let message = StateDict::load(scratch.file("sub"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("a file and an index"), "{message}");
}

#[test]
fn names_that_the_metadata_needs_are_not_ties() {
    let scratch = Scratch::directory("checkpoints-names");
    let path = scratch.file("state.safetensors");
    let tensor = constant(3.0, 4);
    let state = ["a", "format", "total_size"].map(|key| (key, tensor.clone()));
    let state = StateDict::from_iter(state);
    state.save(&path).unwrap();
    assert_eq!(bytes(&StateDict::load(&path).unwrap()), bytes(&state));
    state.save_sharded(scratch.file("sub"), 16).unwrap();
    assert_eq!(
        bytes(&StateDict::load(scratch.file("sub")).unwrap()),
        bytes(&state)
    );
    let state = StateDict::from_iter([("__metadata__", tensor)]);
    assert!(
        state
            .save(&path)
            .unwrap_err()
            .to_string()
            .contains("rename")
    );
}
