//! Keys: those that there are not, and those that are refused.

use super::*;

#[test]
fn non_persistent_buffers_have_no_key() {
    #[derive(Module)]
    struct Cache {
        kept: Buffer,
        scratch: Buffer,
    }

    let cache = Cache {
        kept: Buffer::new(floats([1.0])),
        scratch: Buffer::non_persistent(floats([2.0])),
    };
    assert_eq!(cache.buffers().count(), 2);
    let mut state = cache.state_dict().unwrap();
    assert!(state.keys().eq(["kept"]));
    state.insert("scratch", floats([3.0]));
    let error = cache.load_state_dict(&state).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("Unexpected key(s) in state_dict: \"scratch\"")
    );
    assert_eq!(cache.kept.tensor().item::<f32>().unwrap(), 1.0);
}

/// The keys of a map are known only at run time, when the derive can no longer compare them.
#[test]
fn two_tensors_under_one_key_are_an_error() {
    #[derive(Module)]
    struct Twice {
        #[module(flatten)]
        layers: IndexMap<String, Linear>,
        head: Linear,
    }

    let layer = || Linear::new(2, 2).unwrap();
    let twice = Twice {
        layers: IndexMap::from([("head".to_owned(), layer())]),
        head: layer(),
    };
    let error = twice.state_dict().unwrap_err();
    assert_eq!(
        error.to_string(),
        "key `head.weight` appears twice in Twice; rename a field with `#[module(rename = \"…\")]`"
    );
    assert!(twice.load_state_dict(&StateDict::new()).is_err());
}

#[test]
fn invalid_keys_of_a_map_are_an_error() {
    for name in ["a.b", ""] {
        let layer = Linear::new(2, 2).unwrap();
        let map = IndexMap::from([
            ("fine".to_owned(), Vec::new()),
            (name.to_owned(), vec![layer]),
        ]);
        let error = map.state_dict().unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(ModuleError::InvalidKey { key, .. }) if key == name),
            "{error}"
        );
    }
}
