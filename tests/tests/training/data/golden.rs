//! The sampling orders match PyTorch's.

use std::fmt::Debug;

use module_nn::data::{
    BatchSampler, ConcatDataset, DataLoaderConfig, Dataset, DatasetExt, DistributedSampler,
    RandomSampler, Sample, Sampler, SequentialSampler, SplitLengths, SubsetRandomSampler,
    TensorDataset, WeightedRandomSampler, random_split,
};
use module_nn::prelude::*;
use module_nn::rng::{Distribution, default_generator};
use module_nn::{Generator, Layout};
use module_tests::golden;
use serde_json::{Value, json};

/// The arguments of a case.
struct Args<'a>(&'a Value);

impl Args<'_> {
    fn size(&self, name: &str) -> usize {
        self.size_or_none(name).expect(name)
    }

    fn size_or_none(&self, name: &str) -> Option<usize> {
        self.0[name].as_u64().map(|n| usize::try_from(n).unwrap())
    }

    fn flag(&self, name: &str) -> bool {
        self.0[name].as_bool().expect(name)
    }

    fn list<T: serde::de::DeserializeOwned>(&self, name: &str) -> Vec<T> {
        serde_json::from_value(self.0[name].clone()).expect(name)
    }

    /// Runs with the default generator seeded as in the case, and passes the sampler's own, if it has one.
    fn seeded<T>(&self, body: impl FnOnce(Option<Generator>) -> T) -> T {
        let seed = self.0["seed"].as_u64().unwrap_or(0);
        let own = self.0["own"] == json!(true);
        fork_rng(seed, || body(own.then(|| Generator::new(seed))))
    }
}

/// The next draw of a generator.
fn after(generator: &Generator) -> Value {
    let (low, high) = (0, 1 << 20);
    let drawn = generator.draw(Distribution::Integers { low, high }, 2, DType::I64);
    let drawn = Tensor::from_storage(drawn.unwrap(), Layout::contiguous(2.into()));
    json!(drawn.to_vec::<i64>().unwrap())
}

/// Two epochs of a sampler and the next draw of the generator.
fn two_epochs<S: Sampler>(sampler: Result<S>, generator: &Generator) -> Result<[Value; 3]>
where
    S::Index: serde::Serialize,
{
    let sampler = sampler?;
    let first = sampler.indices()?;
    assert_eq!(first.len(), sampler.len());
    Ok([
        json!([first, sampler.indices()?]),
        after(generator),
        json!(sampler.len()),
    ])
}

fn split(args: &Args<'_>) -> Result<[Value; 3]> {
    let lengths: SplitLengths = match args.0["lengths"][0].is_u64() {
        true => args.list::<usize>("lengths").into(),
        false => args.list::<f64>("lengths").into(),
    };
    let generator = Generator::new(args.0["seed"].as_u64().unwrap());
    let dataset: Vec<usize> = (0..args.size("len")).collect();
    let parts = random_split(dataset, lengths, &generator)?;
    let indices: Vec<&[usize]> = parts.iter().map(|part| part.indices()).collect();
    Ok([json!(indices), after(&generator), Value::Null])
}

fn loader(args: &Args<'_>, own: Option<Generator>) -> Result<[Value; 3]> {
    let dataset: Vec<usize> = (0..args.size("len")).collect();
    let mut config = DataLoaderConfig::new()
        .batch_size(args.size("batch_size"))
        .drop_last(args.flag("drop_last"))
        .shuffle(args.flag("shuffle"));
    if let Some(own) = &own {
        config = config.generator(own.clone());
    }
    let loader = config.build(dataset)?;
    let epochs = [0; 2].map(|_| super::values(&loader));
    let generator = own.unwrap_or_else(default_generator);
    Ok([json!(epochs), after(&generator), json!(loader.len())])
}

fn distributed(args: &Args<'_>) -> Result<[Value; 3]> {
    let (len, replicas) = (args.size("len"), args.size("num_replicas"));
    let sampler = DistributedSampler::new(len, replicas, args.size("rank"))?
        .shuffle(args.flag("shuffle"))
        .seed(args.0["seed"].as_u64().unwrap())
        .drop_last(args.flag("drop_last"));
    let epochs = [0, 1, 5].map(|epoch| {
        sampler.set_epoch(epoch);
        sampler.indices().unwrap()
    });
    Ok([json!(epochs), Value::Null, json!(sampler.len())])
}

fn random(args: &Args<'_>, own: Option<&Generator>) -> Result<RandomSampler> {
    let mut sampler = RandomSampler::new(args.size("len"))?.replacement(args.flag("replacement"));
    if let Some(num_samples) = args.size_or_none("num_samples") {
        sampler = sampler.num_samples(num_samples)?;
    }
    Ok(match own {
        Some(own) => sampler.generator(own.clone()),
        None => sampler,
    })
}

fn weighted(args: &Args<'_>, own: Option<&Generator>) -> Result<WeightedRandomSampler> {
    let weights = args.list::<f64>("weights");
    let sampler = WeightedRandomSampler::new(weights, args.size("num_samples"))?;
    let sampler = sampler.replacement(args.flag("replacement"))?;
    Ok(match own {
        Some(own) => sampler.generator(own.clone()),
        None => sampler,
    })
}

fn subset(args: &Args<'_>, own: Option<&Generator>) -> SubsetRandomSampler {
    let sampler = SubsetRandomSampler::new(args.list::<usize>("indices"));
    match own {
        Some(own) => sampler.generator(own.clone()),
        None => sampler,
    }
}

fn batches(args: &Args<'_>) -> Result<[Value; 3]> {
    let order = SequentialSampler::new(args.size("len"));
    let batches = BatchSampler::new(order, args.size("batch_size"))?;
    let batches = batches.drop_last(args.flag("drop_last"));
    Ok([json!(batches.indices()?), Value::Null, json!(batches.len())])
}

fn rows(args: &Args<'_>) -> Result<[Value; 3]> {
    let x = Tensor::arange(0, 6, DType::I64)?.reshape([3, 2])?;
    let dataset = TensorDataset::new((x, Tensor::from([0_i64, 10, 20])))?;
    let samples = args.list::<usize>("indices").into_iter();
    let samples: Vec<_> = samples.map(|i| dataset.get(i)).collect::<Result<_>>()?;
    let (x, y) = Sample::collate(samples)?;
    let x: Vec<Vec<i64>> = x.to_vec::<i64>()?.chunks(2).map(<[i64]>::to_vec).collect();
    Ok([json!([x, y.to_vec::<i64>()?]), Value::Null, Value::Null])
}

fn concat() -> Result<[Value; 3]> {
    let part = super::numbers(10).subset([9, 7])?;
    let parts: [Box<dyn Dataset<Item = i64>>; 3] = [
        Box::new(super::numbers(3)),
        Box::new(super::numbers(0)),
        Box::new(part),
    ];
    let joined = ConcatDataset::new(parts)?;
    let all: Vec<i64> = (0..joined.len())
        .map(|i| joined.get(i))
        .collect::<Result<_>>()?;
    Ok([json!(all), Value::Null, Value::Null])
}

fn run(kind: &str, args: &Args<'_>) -> Result<[Value; 3]> {
    args.seeded(|own| {
        let generator = own.clone().unwrap_or_else(default_generator);
        match kind {
            "random_split" => split(args),
            "random" => two_epochs(random(args, own.as_ref()), &generator),
            "subset_random" => two_epochs(Ok(subset(args, own.as_ref())), &generator),
            "weighted_random" => two_epochs(weighted(args, own.as_ref()), &generator),
            "batch" => batches(args),
            "distributed" => distributed(args),
            "loader" => loader(args, own),
            "tensor_dataset" => rows(args),
            "concat" => concat(),
            _ => panic!("an unknown kind: {kind}"),
        }
    })
}

fn check(case: &Value, part: &str, found: &Value) {
    let expected = &case[part];
    if !expected.is_null() {
        let args = &case["args"];
        assert_eq!(expected, found, "{part} of {} {args}", case["kind"]);
    }
}

#[test]
fn data_orders_are_those_of_pytorch() {
    let text = std::fs::read_to_string(golden::path("data_loading.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 300);
    for case in cases {
        let kind = case["kind"].as_str().unwrap();
        match run(kind, &Args(&case["args"])) {
            Ok([epochs, after, count]) => {
                assert!(case["torch"].is_null(), "accepted: {case}");
                check(case, "epochs", &epochs);
                check(case, "after", &after);
                check(case, "count", &count);
            }
            Err(error) => assert!(case["torch"].is_string(), "{error}: {case}"),
        }
    }
}

/// Samplers can be printed, like everything that is public.
#[test]
fn data_samplers_print() {
    fn printed(of: &dyn Debug) -> String {
        format!("{of:?}")
    }
    assert!(printed(&SequentialSampler::new(3)).contains('3'));
    let loader = DataLoaderConfig::new().build(super::numbers(5)).unwrap();
    assert!(printed(&loader).contains("batches: 5"));
}
