use std::collections::HashSet;

use module_core::{Module, ModuleExt, Select};

/// The modules whose weights are looked up rather than multiplied.
const EMBEDDINGS: [&str; 2] = ["Embedding", "EmbeddingBag"];

/// The parameters of a model that usually have no weight decay: those of fewer than two dimensions (biases, and weights and
/// biases of norms), and all parameters of embeddings.
///
/// A weight that is tied to an embedding, like the last layer of many language models, is included.
///
/// # Example
///
/// ```
/// use module_nn::optim::no_decay;
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(LayerNorm::new(8)?).push(Linear::new(8, 2)?);
/// let config = AdamWConfig::new(1e-3).group(no_decay(&model), |group| group.weight_decay(0.0));
/// let optimizer = config.build(&model)?;
/// assert_eq!(optimizer.groups()[0].parameters, ["0.weight", "2.weight"]);
/// assert_eq!(optimizer.groups()[1].parameters, ["0.bias", "1.weight", "1.bias", "2.bias"]);
/// # Ok::<(), Error>(())
/// ```
pub fn no_decay(model: &dyn Module) -> Select {
    let small = model
        .named_parameters()
        .filter(|(_, parameter)| parameter.shape().rank() < 2);
    let mut paths: HashSet<String> = small.map(|(path, _)| path).collect();
    for (path, module) in model.named_modules() {
        if EMBEDDINGS.contains(&module.kind()) {
            let own = module.named_parameters();
            paths.extend(own.map(|(name, _)| match path.is_empty() {
                true => name,
                false => format!("{path}.{name}"),
            }));
        }
    }
    Select::by(move |path| paths.contains(path))
}
