//! A file's information about its tensors other than their elements.

use module_nn::prelude::*;
use module_tests::golden;
use module_tests::golden::{Tolerance, compare};

fn file(name: &str) -> std::path::PathBuf {
    golden::path("checkpoint_objects").join(name)
}

#[test]
fn pitfall_51_metadata_of_a_stored_tensor_is_applied_or_refused() {
    let (_, expected) = golden::load("checkpoint_objects/expected.safetensors");
    for name in ["lazy.pt", "lazy.legacy.pt"] {
        let state = StateDict::load(file(name)).unwrap();
        // The imaginary part of a conjugate, and that of the number itself, in the same memory.
        let [lazy, plain] = ["imaginary", "plain"].map(|key| state.get(key).unwrap());
        let recorded = expected.get(&format!("{name}//imaginary")).unwrap();
        compare(lazy, recorded, Tolerance::EXACT).unwrap();
        compare(lazy, &plain.neg().unwrap(), Tolerance::EXACT).unwrap();
    }
    for name in ["unserved.pt", "unserved.legacy.pt"] {
        for entry in [
            "sparse_coo",
            "quantized",
            "nested",
            "meta",
            "tagged",
            "conjugate",
        ] {
            let options = ReadOptions::new().entry(entry);
            let error = StateDict::load_with(file(name), &options).unwrap_err();
            let typed = matches!(error.downcast_ref(), Some(FileError::NoStateDict { .. }));
            assert!(typed && error.to_string().contains(entry), "{error}");
        }
    }
}

#[test]
fn pitfall_62_a_file_does_not_describe_more_than_it_holds() {
    for name in ["wide.pt", "wide.legacy.pt", "windows.pt", "views.pt"] {
        let error = StateDict::load(file(name)).unwrap_err();
        assert!(error.to_string().contains("expanded(true)"), "{error}");
        // With the explicit option it is allowed, and even then it takes no memory.
        let options = ReadOptions::new().expanded(true);
        assert!(StateDict::load_with(file(name), &options).is_ok());
    }
}
