//! Connections, and how the program stops.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use module_nn::{Error, Result};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::available_model;
use crate::options::Options;
use crate::routes::router;
use crate::service::Service;

/// Serves until the system says to stop (SIGTERM, or Ctrl-C), and returns when what was accepted is answered.
///
/// # Errors
///
/// A model that does not load, an address that is taken, requests that were not answered before `drain_timeout`.
pub fn run(options: Options) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new().map_err(Error::custom)?;
    runtime.block_on(async {
        // Asked for first, so that a stop while the model loads is heard too.
        let stop = stop_signal().map_err(Error::custom)?;
        let (dir, name) = match &options.model {
            Some(dir) => (dir.clone(), "the model"),
            None => available_model(),
        };
        let listen = options.listen.clone();
        let service = Arc::new(Service::from_dir(&dir, options)?);
        let listener = TcpListener::bind(&listen).await;
        let listener = listener.map_err(|error| Error::custom(format!("{listen}: {error}")))?;
        let address = listener.local_addr().map_err(Error::custom)?;
        println!("{name} of {}", dir.display());
        println!("listening on http://{address}");
        serve(listener, service, stop).await.map_err(Error::custom)
    })
}

/// Serves until `stop` is there, and returns when what was accepted is answered.
///
/// # Errors
///
/// Requests that were not answered before `drain_timeout`.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let router = router(Arc::clone(&service));
    let connections = Arc::new(Semaphore::new(service.options.max_connections));
    let mut http = http1::Builder::new();
    let http = http
        .timer(TokioTimer::new())
        .header_read_timeout(service.options.header_timeout);
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accept = async {
            // The semaphore is never closed.
            let permit = Arc::clone(&connections).acquire_owned().await.ok();
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            accepted = accept => accepted,
            () = &mut stop => break,
        };
        let Ok((stream, _)) = accepted else {
            // Say, too many open files: others will close theirs.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Answers are written in one piece; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let answers = TowerToHyperService::new(router.clone());
        let connection = http.serve_connection(TokioIo::new(stream), answers);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // What a client does wrong is its own affair.
            let _ = connection.await;
            drop(permit);
        });
    }
    // Nobody connects any more, and what was asked is answered.
    drop(listener);
    let limit = service.options.drain_timeout;
    if tokio::time::timeout(limit, graceful.shutdown())
        .await
        .is_err()
    {
        let problem = format!("requests were not answered within {limit:?}");
        return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
    }
    let closed = tokio::task::spawn_blocking(move || service.close()).await;
    closed.map_err(io::Error::other)
}

#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let [mut terminate, mut interrupt] = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    ];
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without signals the program is ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    })
}
