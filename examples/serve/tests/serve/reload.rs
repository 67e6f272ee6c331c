//! Other weights while the service runs: all of them, or the old ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::{Method, StatusCode};
use module_examples::models::bert::Bert;
use module_examples::models::pretrained::Pretrained;
use module_nn::prelude::*;
use module_serve::client::read_json;
use module_serve::service::Service;

use crate::deadline::run_async_in_time;
use crate::support::{
    Client, Mode, Running, difference, embeddings, options, owned, refusal, start_gated, tiny,
};

/// A copy of the tiny model, removed with it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("serve-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for file in std::fs::read_dir(tiny()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), dir.join(file.file_name())).unwrap();
        }
        Self(dir)
    }

    fn weights(&self) -> PathBuf {
        self.0.join("model.safetensors")
    }

    /// Puts other weights in the place of those that are there.
    fn save(&self, change: impl Fn(&str, &Tensor) -> Option<Tensor>) {
        let state = StateDict::load(tiny().join("model.safetensors")).unwrap();
        let mut changed = StateDict::new();
        for (key, value) in state.iter() {
            if let Some(value) = change(key, value) {
                let _ = changed.insert(key, value);
            }
        }
        changed.save(self.weights()).unwrap();
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn reload(client: &mut Client) -> hyper::Response<hyper::body::Bytes> {
    client.send(Method::POST, "/reload", "").await.unwrap()
}

/// The tiny model's own weights, and others.
fn half(key: &str, value: &Tensor) -> Option<Tensor> {
    let changed = key.contains("attention");
    Some(if changed {
        value.mul(-0.5).unwrap()
    } else {
        value.clone()
    })
}

const TEXTS: [&str; 3] = [
    "a cat sleeps",
    "on monday",
    "how do i bake bread without yeast?",
];

#[test]
fn reloads_under_load_lose_no_request_and_mix_no_weights() {
    run_async_in_time(async || {
        let dir = Dir::new("load");
        let running = Running::start(Service::from_dir(&dir.0, options())).await;
        let mut client = running.client().await;
        let texts = owned(&TEXTS);
        let (odd, _) = embeddings(&client.embed(&texts).await.unwrap());
        dir.save(half);
        assert_eq!(reload(&mut client).await.status(), StatusCode::OK);
        let (even, version) = embeddings(&client.embed(&texts).await.unwrap());
        assert_eq!(version, 2);
        assert!(
            difference(&odd, &even) > 0.01,
            "the weights make a difference"
        );

        let ended = Arc::new(AtomicBool::new(false));
        let load = (0..4).map(|_| {
            let (address, texts) = (running.address, texts.clone());
            let (odd, even, ended) = (odd.clone(), even.clone(), Arc::clone(&ended));
            tokio::spawn(async move {
                let mut client = Client::connect(address).await;
                let mut versions = Vec::new();
                while !ended.load(Ordering::Relaxed) {
                    let (rows, version) = embeddings(&client.embed(&texts).await.unwrap());
                    let expected = if version % 2 == 1 { &odd } else { &even };
                    let far = difference(&rows, expected);
                    assert!(far <= 1e-6, "version {version}: {far:e}");
                    versions.push(version);
                }
                versions
            })
        });
        let load: Vec<_> = load.collect();
        for version in 3..13 {
            match version % 2 {
                1 => dir.save(|_, value| Some(value.clone())),
                _ => dir.save(half),
            }
            let answer = read_json(&reload(&mut client).await).unwrap();
            assert_eq!(answer["version"], version);
        }
        ended.store(true, Ordering::Relaxed);
        let mut versions = Vec::new();
        for seen in load {
            versions.extend(seen.await.unwrap());
        }
        versions.sort_unstable();
        versions.dedup();
        assert!(
            versions.len() > 3,
            "answers of several versions: {versions:?}"
        );
        assert_eq!(
            client.metric("embed_weights_version").await.unwrap(),
            Some(12.0)
        );
    });
}

#[test]
fn a_reload_that_fails_changes_nothing() {
    run_async_in_time(async || {
        let dir = Dir::new("failed");
        let running = Running::start(Service::from_dir(&dir.0, options())).await;
        let mut client = running.client().await;
        let texts = owned(&TEXTS);
        let before = embeddings(&client.embed(&texts).await.unwrap());

        let whole = std::fs::read(dir.weights()).unwrap();
        type Damage<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>, &'a str);
        let of = |change: fn(&str, &Tensor) -> Option<Tensor>| {
            let dir = &dir;
            Box::new(move |_: &Path| dir.save(change))
        };
        let damages: [Damage<'_>; 7] = [
            (
                "cut off",
                Box::new(|file| std::fs::write(file, &whole[..whole.len() / 2]).unwrap()),
                "model.safetensors",
            ),
            (
                "garbage",
                Box::new(|file| std::fs::write(file, [7; 5000]).unwrap()),
                "model.safetensors",
            ),
            (
                "empty",
                Box::new(|file| std::fs::write(file, []).unwrap()),
                "model.safetensors",
            ),
            (
                "no file",
                Box::new(|file| std::fs::remove_file(file).unwrap()),
                "holds none of",
            ),
            (
                "a key less",
                of(|key, value| {
                    (!key.contains("layer.1.output.dense.bias")).then(|| value.clone())
                }),
                "encoder.layer.1.output.dense.bias",
            ),
            (
                "another shape",
                of(|key, value| {
                    Some(if key.contains("pooler.dense.weight") {
                        value.narrow(0, 0..8).unwrap()
                    } else {
                        value.clone()
                    })
                }),
                "pooler.dense.weight",
            ),
            (
                "not a number",
                of(|key, value| {
                    Some(if key.contains("word") {
                        value.mul(f64::NAN).unwrap()
                    } else {
                        value.clone()
                    })
                }),
                "NaN",
            ),
        ];
        let count = damages.len();
        for (name, damage, quoted) in damages {
            damage(&dir.weights());
            let answer = reload(&mut client).await;
            assert_eq!(
                refusal(&answer),
                (500, "reload_failed".to_owned()),
                "{name}"
            );
            let message = read_json(&answer).unwrap()["error"]["message"].to_string();
            assert!(message.contains(quoted), "{name}: {message}");
            let after = embeddings(&client.embed(&texts).await.unwrap());
            assert_eq!(after, before, "{name}");
            std::fs::write(dir.weights(), &whole).unwrap();
        }
        assert_eq!(reload(&mut client).await.status(), StatusCode::OK);
        assert_eq!(
            embeddings(&client.embed(&texts).await.unwrap()),
            (before.0, 2)
        );
        for (result, expected) in [("done", 1), ("failed", count)] {
            let name = format!("embed_reloads_total{{result=\"{result}\"}}");
            let counted = client.metric(&name).await.unwrap();
            assert_eq!(counted, Some(expected as f64), "{name}");
        }
    });
}

#[test]
fn weights_of_another_width_are_refused() {
    run_async_in_time(async || {
        let dir = Dir::new("width");
        let running = Running::start(Service::from_dir(&dir.0, options())).await;
        // A whole model of half the width, with its own configuration.
        let config = std::fs::read_to_string(dir.0.join("config.json")).unwrap();
        let narrow = config.replace("\"hidden_size\": 16", "\"hidden_size\": 8");
        assert_ne!(narrow, config);
        std::fs::write(dir.0.join("config.json"), &narrow).unwrap();
        let config = serde_json::from_str(&narrow).unwrap();
        let model = Bert::new(&config).unwrap();
        model.save(dir.weights()).unwrap();
        let answer = reload(&mut running.client().await).await;
        assert_eq!(refusal(&answer), (500, "reload_failed".to_owned()));
        let message = read_json(&answer).unwrap()["error"]["message"].to_string();
        assert!(
            message.contains("in 8 numbers, those that serve in 16"),
            "{message}"
        );
    });
}

#[test]
fn one_reload_at_a_time_and_requests_go_on() {
    run_async_in_time(async || {
        let (running, gate) = start_gated(options()).await;
        // The probe of the new weights waits at the gate.
        gate.set(Mode::Closed);
        let address = running.address;
        let first = tokio::spawn(async move { reload(&mut Client::connect(address).await).await });
        gate.wait_for_batch().await;
        let mut client = running.client().await;
        let second = reload(&mut client).await;
        assert_eq!(refusal(&second), (409, "reload_busy".to_owned()));
        let health = read_json(&client.get("/health").await.unwrap()).unwrap();
        assert_eq!(health["version"], 1);
        gate.set(Mode::Open);
        assert_eq!(first.await.unwrap().status(), StatusCode::OK);
        assert_eq!(
            embeddings(&client.embed(&owned(&["a"])).await.unwrap()).1,
            2
        );
    });
}
