use std::fmt::{self, Write as _};

use super::model_info::{ModelInfo, Modes, flags};
use super::rows::{Row, rows};
use super::table::TextTable;
use super::tensor_info::TensorInfo;
use super::trace::Trace;
use super::units::{bytes, group_digits, scale, time};
use crate::{Call, ModuleExt, Result, Tensors, no_grad};

/// The structure of a model and the cost of a forward pass, as [torchinfo](https://github.com/TylerYep/torchinfo) prints
/// them.
///
/// The pass runs in evaluation mode under `no_grad`; afterwards every module has its original mode.
///
/// # Errors
///
/// Those of the model.
///
/// # Example
///
/// ```
/// use module_nn::inspect::{Column, summary};
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new());
/// let summary = summary(&model, Tensor::randn([2, 4], DType::F32)?)?;
/// assert_eq!((summary.num_parameters(), summary.mult_adds()), (40, 80));
/// let text = summary.depth(1).columns([Column::Output, Column::Parameters]).to_string();
/// let rows: Vec<&str> = text.lines().skip(3).take(3).collect();
/// assert_eq!(
///     rows,
///     [
///         "Sequential              [2, 8]        --",
///         "├─Linear: 1-1           [2, 8]        40",
///         "├─ReLU: 1-2             [2, 8]        --",
///     ]
/// );
/// # Ok::<(), Error>(())
/// ```
pub fn summary<I: Tensors, M>(model: &M, input: I) -> Result<Summary>
where
    M: Call<I, Output: Tensors> + ?Sized,
{
    let module = model.as_module();
    let about = ModelInfo::of(module);
    let trace = {
        let _modes = Modes(flags(module));
        model.eval();
        no_grad(|| Trace::record(model, input))?
    };
    let rows = rows(module, &trace);
    Ok(Summary {
        rows,
        about,
        trace,
        depth: 3,
        columns: Column::DEFAULT.to_vec(),
    })
}

/// The result of [`summary`], which prints as a table.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(4, 2)?;
/// model.weight().freeze();
/// let summary: Summary = summary(&model, Tensor::zeros([1, 4], DType::F32)?)?;
/// assert_eq!((summary.num_parameters(), summary.num_trainable()), (10, 2));
///
/// // Sizes in bytes, and what is frozen, tied or never called.
/// assert_eq!((summary.input_bytes(), summary.parameter_bytes()), (16, 40));
/// assert_eq!((summary.forward_backward_bytes(), summary.state_bytes()), (16, 40));
/// assert_eq!((summary.frozen(), summary.ties().len()), (&["weight".to_owned()][..], 0));
/// assert!(summary.never_called().is_empty());
/// assert_eq!(summary.trace().calls().len(), 1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    rows: Vec<Row>,
    about: ModelInfo,
    trace: Trace,
    depth: usize,
    columns: Vec<Column>,
}

/// A column of a [`Summary`], after the first one, the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Column {
    /// The path of the module.
    Path,
    /// The shapes of the input tensors.
    Input,
    /// The shapes of the output tensors.
    Output,
    /// The kernel size, if the module prints one.
    Kernel,
    /// Its parameters, except those in rows below it; in brackets if they are frozen.
    Parameters,
    /// Their share of all parameters.
    Share,
    /// Its multiply-adds: see [`Trace::mult_adds`].
    MultAdds,
    /// Whether all, some or none of its parameters are trainable.
    Trainable,
    /// Whether it was in training mode before the summary.
    Mode,
    /// How long the call took.
    Time,
}

impl Column {
    const DEFAULT: [Self; 8] = [
        Self::Path,
        Self::Input,
        Self::Output,
        Self::Kernel,
        Self::Parameters,
        Self::Share,
        Self::MultAdds,
        Self::Trainable,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Path => "Path",
            Self::Input => "Input Shape",
            Self::Output => "Output Shape",
            Self::Kernel => "Kernel Shape",
            Self::Parameters => "Param #",
            Self::Share => "Param %",
            Self::MultAdds => "Mult-Adds",
            Self::Trainable => "Trainable",
            Self::Mode => "Mode",
            Self::Time => "Time",
        }
    }
}

impl Summary {
    /// The number of levels printed below the model; 3 by default.
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// The columns after the first.
    #[must_use]
    pub fn columns(self, columns: impl IntoIterator<Item = Column>) -> Self {
        let columns = columns.into_iter().collect();
        Self { columns, ..self }
    }

    /// The recorded pass.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The number of parameters; tied ones count once.
    pub fn num_parameters(&self) -> usize {
        self.about.parameters
    }

    /// The number of trainable parameters.
    pub fn num_trainable(&self) -> usize {
        self.about.trainable
    }

    /// [`Trace::mult_adds`] of the pass.
    pub fn mult_adds(&self) -> u64 {
        self.trace.mult_adds()
    }

    /// The bytes of the input.
    pub fn input_bytes(&self) -> usize {
        self.trace.inputs().iter().map(TensorInfo::bytes).sum()
    }

    /// torchinfo's estimate for activations: twice the first outputs of modules with parameters and without submodules, to
    /// account for their gradients.
    pub fn forward_backward_bytes(&self) -> usize {
        let calls = self.trace.calls().iter();
        let counted = calls.filter(|call| call.is_counted && !call.parameters.is_empty());
        let outputs = counted.filter_map(|call| call.outputs.first());
        outputs.map(|output| 2 * output.bytes()).sum()
    }

    /// torchinfo's count of the parameters' bytes: those of called modules without submodules.
    pub fn parameter_bytes(&self) -> usize {
        let calls = self.trace.calls().iter();
        let counted = calls.filter(|call| call.is_counted && !call.is_repeat);
        let parameters = counted.flat_map(|call| &call.parameters);
        parameters.map(|parameter| parameter.tensor.bytes()).sum()
    }

    /// The bytes of all parameters and buffers; tied ones count once.
    pub fn state_bytes(&self) -> usize {
        self.about.bytes
    }

    /// The paths of modules that the pass did not call, neither themselves nor anything in them.
    pub fn never_called(&self) -> Vec<&str> {
        let rows = self.rows.iter().filter(|row| !row.reached);
        rows.map(|row| row.path.as_str()).collect()
    }

    /// The names of parameters that are not trainable.
    pub fn frozen(&self) -> &[String] {
        &self.about.frozen
    }

    /// The names of each parameter with several names.
    pub fn ties(&self) -> &[Vec<String>] {
        &self.about.ties
    }

    fn cell(&self, row: &Row, column: Column) -> String {
        let nothing = || "--".to_owned();
        let deepest = row.depth == self.depth;
        let whole = row.is_leaf || deepest;
        let parameters = if whole { row.parameters } else { row.left };
        let number = |number: u64| {
            if number == 0 {
                nothing()
            } else {
                group_digits(number)
            }
        };
        match column {
            Column::Path => row.path.clone(),
            Column::Input => shapes(&row.inputs),
            Column::Output => shapes(&row.outputs),
            Column::Kernel => row.kernel.clone().unwrap_or_else(nothing),
            Column::Parameters | Column::Share if row.is_repeat && row.parameters > 0 => {
                "(recursive)".to_owned()
            }
            Column::Parameters if parameters > 0 && row.trainable == 0 => {
                format!("({})", group_digits(parameters as u64))
            }
            Column::Parameters => number(parameters as u64),
            Column::Share if parameters > 0 => {
                let share = parameters as f64 / self.about.parameters as f64;
                format!("{:.2}%", 100.0 * share)
            }
            Column::Share => nothing(),
            Column::MultAdds => number(if whole { row.mult_adds } else { 0 }),
            Column::Trainable => match (row.trainable, row.parameters) {
                (_, 0) => nothing(),
                (0, _) => "False".to_owned(),
                (some, all) if some == all => "True".to_owned(),
                _ => "Partial".to_owned(),
            },
            Column::Mode => match row.training {
                Some(true) => "train".to_owned(),
                Some(false) => "eval".to_owned(),
                None => nothing(),
            },
            Column::Time => row.time.map_or_else(nothing, time),
        }
    }

    fn table(&self) -> TextTable {
        let titles = self.columns.iter().map(|column| column.title().to_owned());
        let title = "Layer (type:depth-idx)".to_owned();
        let mut table = TextTable::new([title].into_iter().chain(titles));
        let mut numbers = Vec::new();
        for row in &self.rows {
            if numbers.len() <= row.depth {
                numbers.resize(row.depth + 1, 0_usize);
            }
            numbers[row.depth] += 1;
            if row.depth > self.depth {
                continue;
            }
            let mut name = match row.depth {
                0 => row.kind.to_owned(),
                1 => format!("├─{}: 1-{}", row.kind, numbers[1]),
                depth => {
                    let (indent, number) = ("│    ".repeat(depth - 1), numbers[depth]);
                    format!("{indent}└─{}: {depth}-{number}", row.kind)
                }
            };
            if !row.reached {
                name.push_str(" (never called)");
            }
            let cells = self.columns.iter().map(|column| self.cell(row, *column));
            table.push([name].into_iter().chain(cells));
        }
        table
    }
}

/// As torchinfo prints it, with columns as wide as needed; below it, additional information: all state, modes, frozen and
/// tied parameters, and uncalled modules.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.table();
        let line = "=".repeat(table.width());
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        let all = self.num_parameters();
        let trainable = self.num_trainable();
        let (unit, mult_adds) = scale(self.mult_adds());
        let sizes = [
            ("Input size", self.input_bytes()),
            ("Forward/backward pass size", self.forward_backward_bytes()),
            ("Params size", self.parameter_bytes()),
        ];
        writeln!(f, "{line}\n{}{line}", table.header())?;
        writeln!(f, "{}{line}", table.body())?;
        writeln!(f, "Total params: {}", group_digits(all as u64))?;
        writeln!(f, "Trainable params: {}", group_digits(trainable as u64))?;
        writeln!(
            f,
            "Non-trainable params: {}",
            group_digits((all - trainable) as u64)
        )?;
        writeln!(f, "Total mult-adds ({unit}): {mult_adds}\n{line}")?;
        for (name, bytes) in sizes {
            writeln!(f, "{name} (MB): {:.2}", megabytes(bytes))?;
        }
        let total: usize = sizes.iter().map(|(_, bytes)| bytes).sum();
        writeln!(
            f,
            "Estimated Total Size (MB): {:.2}\n{line}",
            megabytes(total)
        )?;
        let state = bytes(self.state_bytes());
        writeln!(f, "All parameters and buffers: {state}")?;
        writeln!(f, "Mode: {}", self.about.mode())?;
        writeln!(f, "Frozen: {}", list(&self.about.frozen))?;
        let ties: Vec<_> = self
            .about
            .ties
            .iter()
            .map(|names| names.join(" = "))
            .collect();
        writeln!(f, "Ties: {}", list(&ties))?;
        writeln!(f, "Never called: {}\n{line}", list(&self.never_called()))
    }
}

/// The first few of them.
fn list(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 5;
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let mut text = shown.join(", ");
    if names.len() > SHOWN {
        let _ = write!(text, " and {} more", names.len() - SHOWN);
    }
    text
}

fn shapes(tensors: &[TensorInfo]) -> String {
    let shapes: Vec<_> = tensors
        .iter()
        .map(|tensor| tensor.shape.to_string())
        .collect();
    if shapes.is_empty() {
        return "--".to_owned();
    }
    shapes.join(", ")
}
