//! How a device with tensor cores is opened. What they compute is tested in `src/matrix_tiles/tests`, also without them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::prelude::*;

#[test]
fn tensor_cores_are_used_where_there_are_some() -> Result<()> {
    match module_gpu::device_with_tensor_cores(0) {
        Ok(device) => {
            // It is open with them, so both ways lead to it.
            assert_eq!(module_gpu::device(0)?, device);
            assert_eq!(module_gpu::device_with_tensor_cores(0)?, device);
        }
        Err(error) => {
            let adapters = module_gpu::adapters();
            let has_cores = adapters.first().is_some_and(|first| first.has_tensor_cores);
            assert!(!has_cores, "{error}");
            if !adapters.is_empty() {
                assert!(error.to_string().contains("has no tensor cores"), "{error}");
            }
        }
    }
    Ok(())
}
