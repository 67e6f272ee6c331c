use super::proto::Message;

/// The value of a hyperparameter.
///
/// # Example
///
/// ```
/// use module_nn::log::HParam;
///
/// let hparams: [(&str, HParam); 3] = [("lr", 0.1.into()), ("optimizer", "SGD".into()), ("nesterov", true.into())];
/// assert_eq!(hparams[0].1, HParam::Number(0.1));
/// assert_eq!(hparams[1].1, HParam::Text("SGD".to_owned()));
/// assert_eq!(hparams[2].1, HParam::Bool(true));
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HParam {
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// A boolean.
    Bool(bool),
}

macro_rules! hparam_from {
    ($($type:ty => $value:ident $hparam:expr;)*) => {$(
        impl From<$type> for HParam {
            fn from($value: $type) -> Self {
                $hparam
            }
        }
    )*};
}

hparam_from! {
    f64 => value Self::Number(value);
    f32 => value Self::Number(value.into());
    i32 => value Self::Number(value.into());
    i64 => value Self::Number(value as f64);
    usize => value Self::Number(value as f64);
    bool => value Self::Bool(value);
    String => value Self::Text(value);
    &str => value Self::Text(value.to_owned());
}

impl HParam {
    /// The message `google.protobuf.Value`, and the number of the type.
    fn message(&self) -> (Message, u64) {
        match self {
            Self::Number(value) => (Message::new().double(2, *value), 3),
            Self::Text(value) => (Message::new().text(3, value), 1),
            Self::Bool(value) => (Message::new().varint(4, (*value).into()), 2),
        }
    }
}

/// The summaries of the experiment, of the start of a run, and of its end.
pub(super) fn summaries(hparams: &[(&str, HParam)], metrics: &[(&str, f64)]) -> [Message; 3] {
    const STATUS_SUCCESS: u64 = 1;
    let (mut experiment, mut start) = (Message::new(), Message::new());
    for (name, value) in hparams {
        let (value, kind) = value.message();
        let info = Message::new().text(1, name).varint(4, kind);
        experiment = experiment.message(4, &info);
        start = start.message(1, &Message::new().text(1, name).message(2, &value));
    }
    for (name, _) in metrics {
        let name = Message::new().text(2, name);
        experiment = experiment.message(5, &Message::new().message(1, &name));
    }
    let end = Message::new().varint(1, STATUS_SUCCESS);
    [
        summary("_hparams_/experiment", 2, &experiment),
        summary("_hparams_/session_start_info", 3, &start),
        summary("_hparams_/session_end_info", 4, &end),
    ]
}

/// A summary whose value is in the data of the plugin `hparams`.
fn summary(tag: &str, field: u64, content: &Message) -> Message {
    const VERSION: u64 = 0;
    let data = Message::new().varint(1, VERSION).message(field, content);
    let plugin = Message::new().text(1, "hparams").bytes(2, data.as_bytes());
    let metadata = Message::new().message(1, &plugin);
    let value = Message::new().text(1, tag).message(9, &metadata);
    Message::new().message(1, &value)
}
