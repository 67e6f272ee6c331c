//! Models that others published, which load the checkpoints of their libraries key for key.
//!
//! Each file is one model, to be copied: a configuration that is the library's own, and the model, which is
//! [`Pretrained`](pretrained::Pretrained): `new` builds it with fresh weights, and `from_pretrained` reads a directory with
//! both. What a configuration asks for and the model does not have is an error, never ignored.
//!
//! What several files need stands in [`pretrained`] and [`initialize`], and what models of one library share in [`timm`] and
//! [`transformers`].

pub mod bert;
pub mod clip;
pub mod convnext;
pub mod dcgan;
pub mod ddpm;
pub mod gpt2;
pub mod initialize;
pub mod llama;
pub mod mobilenet_v3;
pub mod pretrained;
pub mod resnet;
pub mod t5;
pub mod timm;
pub mod transformers;
pub mod unet;
pub mod vae;
pub mod vision_transformer;
pub mod whisper;
pub mod word_language_model;
