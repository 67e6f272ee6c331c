//! Rows of a batch that depend on each other.

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;

/// Finds, by gradient, the innermost modules in which a row of the output depends on another row of the input, if the rows
/// of the model do. Modules that normalize by batch statistics in training are intended to do so, and so are the modules
/// that contain them.
pub(in crate::audit) struct BatchLeak;

/// Layers whose first dimension may be time: the elements that they mix may be one sequence, without a batch. They are
/// reported only if the model returns less than a vector for each element, such as one class for each row, so that its
/// first dimension is the batch, or if the batch was declared.
const SEQUENCES: [&str; 8] = [
    "RNN",
    "LSTM",
    "GRU",
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "Transformer",
];

impl Check for BatchLeak {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let ids = record.by_id();
        let mut leaks: Vec<(usize, (usize, usize))> = Vec::new();
        for probe in record.steps.iter().flat_map(|step| &step.probes.records) {
            let module = ids.get(&probe.id).copied();
            if let (Some(module), Some(leak)) = (module, probe.leak) {
                leaks.push((module, leak));
            }
        }
        let modules: Vec<usize> = leaks.iter().map(|(module, _)| *module).collect();
        let mut reported = Vec::new();
        for (module, (row, other)) in leaks {
            let holds = |&inner: &usize| inner != module && record.is_within(inner, module);
            if modules.iter().any(holds) || reported.contains(&module) {
                continue;
            }
            reported.push(module);
            let known = &record.modules[module];
            let is_batch = || record.options.batch_dim.is_some() || is_batch_first(record);
            if SEQUENCES.contains(&known.kind) && !is_batch() {
                continue;
            }
            let finding = Finding::warning(FindingKind::BatchLeak, &known.path)
                .message(format!("row {row} of its output depends on row {other} of its input"))
                .cause(format!(
                    "it computes over dimension {}, as a mean, a norm, a softmax or a reshape of the wrong one does",
                    record.options.batch_dim.unwrap_or(0)
                ))
                .cure(
                    "let it compute over the dimensions of a sample; declare `Audit::batch_dim` if the batch is another \
                     one, and allow the finding if rows of the batch are meant to be compared",
                )
                .number("row", row as f64)
                .number("other", other as f64);
            findings.push(finding);
        }
    }
}

/// Whether the output of the model has fewer dimensions than its input, which means that the first one is the batch.
fn is_batch_first(record: &Record<'_>) -> bool {
    let calls = record.steps.iter().flat_map(|step| step.model_calls());
    let mut outermost = calls.filter(|(_, _, call)| call.parent.is_none());
    outermost.all(|(_, _, call)| {
        let [Some(input), Some(output)] = [call.inputs.first(), call.outputs.first()] else {
            return false;
        };
        // Indices become vectors.
        let is_index = !input.tensor.dtype().is_floating_point();
        output.tensor.rank() < input.tensor.rank() + usize::from(is_index)
    })
}
