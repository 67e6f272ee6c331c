//! The macro that writes the call inputs of a recurrent layer.

/// The passes of a layer over a tensor or packed sequences, optionally with initial states, which have the type of the
/// final states. The layer flattens a [`Recurrent`](super::Recurrent) into its field `layers`.
///
/// ```text
/// impl_forward! { LSTM: (Tensor, Tensor) }
/// ```
macro_rules! impl_forward {
    ($layer:ident: $states:ty) => {
        $crate::layers::recurrent::impl_forward! { $layer: $states, $crate::Tensor => forward }
        $crate::layers::recurrent::impl_forward! {
            $layer: $states, $crate::rnn::PackedSequence => forward_packed
        }
    };
    ($layer:ident: $states:ty, $input:ty => $pass:ident) => {
        impl $crate::Forward<$input> for $layer {
            type Output = ($input, $states);

            fn forward(&self, input: $input) -> $crate::Result<Self::Output> {
                let (output, last) = self.layers.$pass(&input, None)?;
                Ok((output, last.into()))
            }
        }

        impl $crate::Forward<($input, $states)> for $layer {
            type Output = ($input, $states);

            fn forward(&self, (input, first): ($input, $states)) -> $crate::Result<Self::Output> {
                let (output, last) = self.layers.$pass(&input, Some(first.into()))?;
                Ok((output, last.into()))
            }
        }
    };
}
pub(crate) use impl_forward;
