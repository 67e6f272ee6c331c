//! Corners of trees, resets, freezing, optimisers, hooks and files in which something could go wrong
//! without a word.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    first: Linear,
    second: Linear,
}

impl Net {
    fn new() -> Self {
        Self {
            first: Linear::new(2, 2).unwrap(),
            second: Linear::new(2, 1).unwrap(),
        }
    }
}

#[derive(Module)]
enum Choice {
    Shared(Arc<Linear>),
}

#[derive(Module)]
struct Flattened {
    #[module(flatten)]
    net: Arc<Net>,
}

#[test]
fn apply_on_a_shared_root_is_an_error() {
    fn refused(mut root: impl Module, place: &str) {
        let mut count = 0;
        let error = root.apply(|_, _| count += 1).unwrap_err();
        let text = format!(
            "{place} is shared by an `Arc`, so it cannot be had exclusively; drop the other handles first"
        );
        assert_eq!((error.to_string(), count), (text, 0));
    }

    let net = Arc::new(Net::new());
    let _other = net.clone();
    refused(net.clone(), "Net");
    refused(Flattened { net: net.clone() }, "Net");
    refused(vec![Flattened { net }], "`0` (Net)");
    let layer = Arc::new(Linear::new(1, 1).unwrap());
    let _other = layer.clone();
    refused(Choice::Shared(layer), "Linear");
}

