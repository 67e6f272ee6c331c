use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use indexmap::IndexMap;

use crate::{Call, DType, Device, Error, ErrorKind, HookSet, Module, ModuleExt, Result};
use crate::{ForwardCall, Select, Tensor, Tensors, Walk};

/// Keeps the outputs of parts of a model, as long as it lives.
///
/// Modules are selected by their paths; one with several paths is kept under the first that is selected. Features are
/// detached, so that they keep no graph alive, unless [`tracked`](Self::tracked) says otherwise. The hooks behind it belong
/// to its thread: it does not see or disturb other threads that extract from the same model or run it.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new()).push(Linear::new(8, 2)?);
/// let extractor = FeatureExtractor::new(&model, ["0", "1"])?;
/// let x = Tensor::randn([3, 4], DType::F32)?;
/// let features = extractor.extract(x.clone())?;
/// assert_eq!(features.paths().collect::<Vec<_>>(), ["0", "1"]);
/// assert_eq!(features.get("1")?.shape().to_string(), "[3, 8]");
///
/// // Only what the wanted features need is computed.
/// let extractor = FeatureExtractor::new(&model, "1")?.stop_early(true);
/// let (output, features) = extractor.call(x)?;
/// assert!(output.is_none() && features.get("1").is_ok());
///
/// let error = FeatureExtractor::new(&model, "3").unwrap_err();
/// assert_eq!(error.to_string(), "`3` selects nothing; there are `0`, `1`, `2`");
/// # Ok::<(), Error>(())
/// ```
#[must_use = "dropping the extractor ends it"]
pub struct FeatureExtractor<'m, M: ?Sized> {
    model: &'m M,
    shared: Rc<RefCell<ExtractorState>>,
    /// Removes the hooks when dropped.
    _hooks: HookSet<'m>,
}

/// The state that the hooks and the extractor share.
struct ExtractorState {
    options: Options,
    /// The paths that must have features before a pass can be ended.
    wanted: Vec<String>,
    /// Whether the current pass may be ended early.
    stops: bool,
    found: Features,
}

#[derive(Clone, Default)]
struct Options {
    tracked: bool,
    stop_early: bool,
    dtype: Option<DType>,
    device: Option<Device>,
}

impl Options {
    fn apply(&self, tensor: Tensor) -> Result<Tensor> {
        let tensor = match &self.device {
            Some(device) => tensor.to_device(device)?,
            None => tensor,
        };
        match self.dtype {
            // Indices stay unchanged, as when a model is cast.
            Some(dtype) if tensor.dtype().is_floating_point() => tensor.to_dtype(dtype),
            _ => Ok(tensor),
        }
    }
}

/// Ends a pass that has nothing more to deliver. It never leaves [`FeatureExtractor::call`], unless the model converts
/// errors of its parts into others.
#[derive(Debug)]
struct Stop {
    /// Distinguishes this extractor from one that runs around it.
    extractor: usize,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the last wanted feature is there")
    }
}

impl std::error::Error for Stop {}

/// Modules that only hold others and cannot be called.
fn is_list(module: &dyn Module) -> bool {
    let lists = ["ModuleList", "ModuleDict", "ParameterList", "ParameterDict"];
    lists.contains(&module.kind())
}

impl<'m, M: Module + ?Sized> FeatureExtractor<'m, M> {
    /// Keeps the outputs of the modules whose paths `select` matches: `layer2`, `layer3.*`,
    /// `**.norm*`.
    ///
    /// # Errors
    ///
    /// An invalid pattern, or one that matches nothing, with the nearest name; a selection of nothing but lists of modules,
    /// which are never called.
    pub fn new(model: &'m M, select: impl Into<Select>) -> Result<Self> {
        let select = select.into();
        let every_path = Walk::new().remove_duplicate(false);
        let modules: Vec<_> = model.named_modules_with(every_path).collect();
        select.resolve_modules(modules.iter().map(|(path, _)| path.as_str()))?;
        let mut seen = std::collections::HashSet::new();
        let selected = modules.iter().filter(|(path, _)| select.matches(path));
        let called = selected.clone().filter(|(_, module)| !is_list(*module));
        let called = called.filter(|(_, module)| seen.insert(module.id()));
        let wanted: Vec<String> = called.map(|(path, _)| path.clone()).collect();
        if let (true, Some((path, list))) = (wanted.is_empty(), selected.clone().next()) {
            let problem = format!(
                "is a {}, which is never called; select what is in it",
                list.kind()
            );
            return Err(Error::argument("FeatureExtractor", "select", path, problem));
        }
        let shared = Rc::new(RefCell::new(ExtractorState {
            options: Options::default(),
            wanted,
            stops: false,
            found: Features::default(),
        }));
        let kept = shared.clone();
        let hooks = HookSet::forward(model, select, move |call| keep(&kept, call))?;
        Ok(Self {
            model,
            shared,
            _hooks: hooks,
        })
    }

    fn option(self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.shared.borrow_mut().options);
        self
    }

    /// Whether features keep the graph that computed them, so that gradients flow through them.
    pub fn tracked(self, tracked: bool) -> Self {
        self.option(|options| options.tracked = tracked)
    }

    /// Whether [`call`](Self::call) and [`extract`](Self::extract) end the pass once every selected module has been called;
    /// later calls of a module that is used several times are then not seen.
    pub fn stop_early(self, stop_early: bool) -> Self {
        self.option(|options| options.stop_early = stop_early)
    }

    /// Casts floating-point features.
    pub fn to_dtype(self, dtype: DType) -> Self {
        self.option(|options| options.dtype = Some(dtype))
    }

    /// Moves features to a device.
    pub fn to_device(self, device: &Device) -> Self {
        self.option(|options| options.device = Some(*device))
    }

    /// Calls the model; returns the output (`None` if the pass was ended early) and the features of this pass.
    ///
    /// # Errors
    ///
    /// Those of the model. Features from before the failure are dropped.
    pub fn call<I: Tensors>(&self, input: I) -> Result<(Option<M::Output>, Features)>
    where
        M: Call<I, Output: Tensors>,
    {
        let _pass = Pass::begin(&self.shared);
        match self.model.call(input) {
            Ok(output) => Ok((Some(output), self.take())),
            Err(error) if self.is_own_stop(&error) => Ok((None, self.take())),
            Err(error) => Err(error),
        }
    }

    /// [`call`](Self::call) without the output.
    ///
    /// # Errors
    ///
    /// Those of the model.
    pub fn extract<I: Tensors>(&self, input: I) -> Result<Features>
    where
        M: Call<I, Output: Tensors>,
    {
        Ok(self.call(input)?.1)
    }

    /// The features of calls made elsewhere, since the last time this was called.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Sequential::new().push(Linear::new(4, 8)?);
    /// let extractor = FeatureExtractor::new(&model, "0")?;
    /// model.call(Tensor::randn([3, 4], DType::F32)?)?;
    /// assert!(extractor.take().get("0").is_ok() && extractor.take().is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn take(&self) -> Features {
        std::mem::take(&mut self.shared.borrow_mut().found)
    }

    fn is_own_stop(&self, error: &Error) -> bool {
        let ErrorKind::Custom(error) = error.kind() else {
            return false;
        };
        let stop = error.downcast_ref::<Stop>();
        stop.is_some_and(|stop| stop.extractor == number(&self.shared))
    }
}

fn number(shared: &Rc<RefCell<ExtractorState>>) -> usize {
    Rc::as_ptr(shared).addr()
}

fn keep(shared: &Rc<RefCell<ExtractorState>>, call: &mut ForwardCall<'_>) -> Result<()> {
    let options = shared.borrow().options.clone();
    let tensors = match options.tracked {
        true => call.tracked_outputs(),
        false => call.outputs(),
    };
    let tensors = tensors.into_iter().map(|tensor| options.apply(tensor));
    let tensors = tensors.collect::<Result<Vec<_>>>()?;
    let mut state = shared.borrow_mut();
    let feature = Feature { tensors };
    let calls = state.found.calls.entry(call.path().to_owned());
    calls.or_default().push(feature);
    let found = &state.found.calls;
    if state.stops && state.wanted.iter().all(|path| found.contains_key(path)) {
        let extractor = number(shared);
        return Err(Error::custom(Stop { extractor }));
    }
    Ok(())
}

/// A pass that may be ended early, which begins without features and leaves none behind however it ends.
struct Pass<'p>(&'p RefCell<ExtractorState>);

impl<'p> Pass<'p> {
    fn begin(shared: &'p RefCell<ExtractorState>) -> Self {
        let mut state = shared.borrow_mut();
        state.stops = state.options.stop_early;
        state.found = Features::default();
        Self(shared)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.0.borrow_mut();
        state.stops = false;
        state.found = Features::default();
    }
}

impl<M: ?Sized> fmt::Debug for FeatureExtractor<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.shared.borrow();
        f.debug_tuple("FeatureExtractor")
            .field(&shared.wanted)
            .finish()
    }
}

/// The output of one call of a module.
///
/// # Example
///
/// ```
/// use module_nn::inspect::Feature;
/// use module_nn::prelude::*;
///
/// let model = GRU::new(4, 8)?;
/// let extractor = FeatureExtractor::new(&model, "")?;
/// model.call(Tensor::randn([5, 2, 4], DType::F32)?)?;
/// model.call(Tensor::randn([3, 2, 4], DType::F32)?)?;
/// // Each call has a feature: the outputs of all steps, and the last state.
/// let features = extractor.take();
/// let calls: &[Feature] = features.calls("");
/// assert_eq!(calls.len(), 2);
/// assert_eq!(calls[1].tensors[0].shape().to_string(), "[3, 2, 8]");
/// assert_eq!(calls[1].tensors[1].shape().to_string(), "[1, 2, 8]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Feature {
    /// The tensors of the output, in order.
    pub tensors: Vec<Tensor>,
}

/// The features that a [`FeatureExtractor`] kept, by path.
///
/// # Example
///
/// ```
/// use module_nn::inspect::Features;
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
/// // Features in double precision, with their graph, for a loss on them.
/// let extractor = FeatureExtractor::new(&model, "*")?.tracked(true).to_dtype(DType::F64);
/// let extractor = extractor.to_device(&Device::cpu());
/// let features: Features = extractor.extract(Tensor::randn([3, 4], DType::F32)?)?;
/// features.get("0")?.square()?.mean(..)?.backward()?;
/// assert!(model.get_parameter("0.weight")?.grad().is_some());
/// assert_eq!(features.len(), 2);
/// for (path, calls) in features.iter() {
///     assert_eq!((calls.len(), features.get(path)?.dtype()), (1, DType::F64));
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Features {
    calls: IndexMap<String, Vec<Feature>>,
}

impl Features {
    /// The first output tensor of a module that was called once.
    ///
    /// # Errors
    ///
    /// An unknown path, an output without tensors, or several calls, for which [`calls`](Self::calls) has each one.
    pub fn get(&self, path: &str) -> Result<&Tensor> {
        let wrong = |problem: String| Error::argument("Features::get", "path", path, problem);
        let known = || self.paths().collect::<Vec<_>>().join(", ");
        match self.calls(path) {
            [] => Err(wrong(format!("has no feature; there are: {}", known()))),
            [only] => {
                let first = only.tensors.first();
                first.ok_or_else(|| wrong("gave no tensor".to_owned()))
            }
            several => {
                let count = several.len();
                Err(wrong(format!("was called {count} times; `calls` has each")))
            }
        }
    }

    /// The outputs of each call of a module, in order; empty for a module that was not called or not selected.
    pub fn calls(&self, path: &str) -> &[Feature] {
        self.calls.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// The paths of modules that were called, in the order in which their first calls ended.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.calls.keys().map(String::as_str)
    }

    /// The paths with their calls.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Feature])> {
        let calls = self.calls.iter();
        calls.map(|(path, calls)| (path.as_str(), calls.as_slice()))
    }

    /// How many modules were called.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether no module was called.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}
