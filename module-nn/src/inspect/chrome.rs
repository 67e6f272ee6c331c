//! A trace in the format of Chrome's profiler.

use serde_json::{Value, json};

use super::tensor_info::TensorInfo;
use super::trace::Trace;

impl Trace {
    /// The pass as JSON for `chrome://tracing` or [Perfetto](https://ui.perfetto.dev): one bar for each call, with its
    /// shapes, parameters and multiply-adds.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Sequential::new().push(Linear::new(4, 8)?);
    /// let trace = Trace::record(&model, Tensor::randn([2, 4], DType::F32)?)?;
    /// let json = trace.to_chrome_json();
    /// assert!(json.contains(r#""name":"0 (Linear)""#));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_chrome_json(&self) -> String {
        let shapes = |tensors: &[TensorInfo]| -> Value {
            let each = tensors.iter();
            each.map(|tensor| json!(format!("{} {}", tensor.dtype, tensor.shape)))
                .collect()
        };
        let micros = |time: std::time::Duration| time.as_nanos() as f64 / 1e3;
        let events = self.calls().iter().map(|call| {
            let name = match call.path.as_str() {
                "" => call.kind.to_owned(),
                path => format!("{path} ({})", call.kind),
            };
            let parameters = call.parameters.iter().map(|own| own.tensor.shape.numel());
            json!({
                "name": name,
                "cat": call.kind,
                "ph": "X",
                "ts": micros(call.start),
                "dur": micros(call.time),
                "pid": 1,
                "tid": 1,
                "args": {
                    "inputs": shapes(&call.inputs),
                    "outputs": shapes(&call.outputs),
                    "output bytes": call.output_bytes(),
                    "parameters": parameters.sum::<usize>(),
                    "mult-adds": call.mult_adds,
                    "failed": call.failed,
                },
            })
        });
        let events: Vec<Value> = events.collect();
        json!({"traceEvents": events, "displayTimeUnit": "ms"}).to_string()
    }
}
