//! Published models, which load the checkpoints of their libraries key for key.
//!
//! Each file is one model, to be copied: a configuration with the library's fields, and the model, which implements
//! [`Pretrained`](pretrained::Pretrained): `new` builds it with fresh weights, and `from_pretrained` reads a directory with
//! both. A configuration that requires something the model does not have is an error and is never ignored.
//!
//! [`pretrained`] and [`initialize`] hold code that several files need; [`timm`] and [`transformers`] hold code that models
//! of one library share.

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
