//! A layer in a user's crate is written like those of the library.
#![allow(clippy::unwrap_used)]

use module_nn::prelude::*;

mod scale {
    //! `config!` finds serde and the standard library by itself, whatever these names mean at the call site.
    #![allow(dead_code)]

    use module_nn::config::{check_above_zero, check_between, check_positive};
    use module_nn::init::{Constant, zeros};
    use module_nn::prelude::{Bias, Build, Forward, Maybe, Module, Parameter, Tensor};

    mod serde {}
    mod std {}
    type Result = ();
    struct Option;
    struct String;

    /// A scale for each feature, and an optional shift.
    #[derive(Module)]
    #[module(debug)]
    pub(crate) struct Scale {
        features: usize,
        weight: Parameter,
        bias: Bias,
    }

    module_nn::config! {
        /// The arguments of [`Scale`].
        pub(crate) struct ScaleConfig => Scale {
            required {
                /// The number of features.
                features: usize,
            }
            optional {
                /// The initial scale.
                start: f64 = 1.0,
                /// Whether a shift is learned.
                bias: bool = false,
            }
        }
    }

    impl Build for ScaleConfig {
        type Output = Scale;

        fn build(&self) -> module_nn::Result<Scale> {
            check_positive("Scale", "features", self.features)?;
            check_above_zero("Scale", "start", self.start)?;
            Ok(Scale {
                features: self.features,
                weight: Parameter::with_init(self.features, Constant(self.start))?,
                bias: Maybe::when(self.bias, || Parameter::with_init(self.features, zeros()))?,
            })
        }
    }

    impl Forward for Scale {
        type Output = Tensor;

        fn forward(&self, input: Tensor) -> module_nn::Result<Tensor> {
            let output = input.mul(self.weight.tensor())?;
            match self.bias.get() {
                Some(bias) => output.add(bias.tensor()),
                None => Ok(output),
            }
        }
    }

    /// Without a required argument, and over any number of dimensions.
    #[derive(Module)]
    #[module(debug)]
    pub(crate) struct Keep<const N: usize> {
        p: f64,
        #[module(skip)]
        sizes: module_nn::Sizes<N>,
    }

    module_nn::config! {
        /// The arguments of [`Keep`].
        pub(crate) struct KeepConfig<const N: usize> => Keep {
            optional {
                /// The probability.
                p: f64 = 0.5,
                /// The sizes.
                sizes: module_nn::Sizes<N> = 2,
            }
        }
    }

    impl<const N: usize> Build for KeepConfig<N> {
        type Output = Keep<N>;

        fn build(&self) -> module_nn::Result<Keep<N>> {
            check_between("Keep", "p", self.p, [0.0, 1.0])?;
            let (p, sizes) = (self.p, self.sizes);
            Ok(Keep { p, sizes })
        }
    }
}

use scale::{KeepConfig, Scale, ScaleConfig};

#[test]
fn required_and_optional_arguments_are_those_of_the_table() {
    let scale = Scale::new(3).unwrap();
    assert_eq!(format!("{scale:?}"), "Scale(features=3)");
    assert_eq!(
        scale.state_dict().unwrap().keys().collect::<Vec<_>>(),
        ["weight"]
    );
    let scale = ScaleConfig::new(2).start(0.5).bias(true).build().unwrap();
    let keys = scale.state_dict().unwrap();
    assert_eq!(keys.keys().collect::<Vec<_>>(), ["weight", "bias"]);
    let y = scale.call(Tensor::from([2.0_f32, 4.0])).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 2.0]);
    let other = ScaleConfig::new(2).bias(true).build().unwrap();
    let report = other.load_state_dict(&keys).unwrap();
    assert!(report.not_loaded.is_empty());
    let weight = other.state_dict().unwrap().get("weight").unwrap().clone();
    assert_eq!(weight.to_vec::<f32>().unwrap(), [0.5, 0.5]);
}

#[test]
fn arguments_are_checked() {
    let message = |config: ScaleConfig| config.build().unwrap_err().to_string();
    assert_eq!(
        message(ScaleConfig::new(0)),
        "Scale: features = 0: must be at least 1"
    );
    let message = message(ScaleConfig::new(1).start(-1.0));
    assert_eq!(message, "Scale: start = -1: must be above 0");
    assert!(KeepConfig::<1>::new().p(2.0).build().is_err());
}

#[test]
fn a_configuration_survives_json() {
    let config = ScaleConfig::new(2).start(0.5);
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(text, r#"{"features":2,"start":0.5,"bias":false}"#);
    assert_eq!(serde_json::from_str::<ScaleConfig>(&text).unwrap(), config);
    let read = |text| serde_json::from_str::<ScaleConfig>(text);
    assert_eq!(read(r#"{"features":2}"#).unwrap(), ScaleConfig::new(2));
    for (text, problem) in [
        ("{}", "missing field `features`"),
        (r#"{"features":2,"scale":1}"#, "unknown field `scale`"),
        (
            r#"{"features":2,"features":2}"#,
            "duplicate field `features`",
        ),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
    let keep: KeepConfig<2> = serde_json::from_str(r#"{"sizes":[1,2]}"#).unwrap();
    assert_eq!(keep, KeepConfig::new().sizes([1, 2]));
}

#[test]
fn functions_are_written_for_every_configuration() {
    fn stack<C>(config: &C, count: usize) -> Result<Sequential>
    where
        C: Build<Output: Layer>,
    {
        (0..count).map(|_| config.build()).collect()
    }
    let stacked = stack(&ScaleConfig::new(2), 3).unwrap();
    assert_eq!(stacked.num_parameters(), 6);
    let stacked = stack(&Conv2dConfig::new(1, 1, 1), 2).unwrap();
    assert_eq!(stacked.num_parameters(), 4);
}
