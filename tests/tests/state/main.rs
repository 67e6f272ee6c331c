//! State dicts and checkpoints: writing, reading and refusing.

mod bitsandbytes_files;
mod checkpoint_formats;
mod checkpoints;
mod damaged_checkpoints;
mod damaged_gguf;
mod damaged_safetensors;
mod gguf_files;
mod interchange;
mod killed;
mod state_dict;
mod stored_dtypes;
mod torch_objects;

use module_tests::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
