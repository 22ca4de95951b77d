//! Connections: this many at once and no more, headers in time, TLS where there is a certificate, and a quiet end.

use crate::http::Peer;
use crate::metrics::Metrics;
use crate::service::Service;
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// The headers of a request are here after so long, and a connection that asks nothing ends after so long.
const HEADERS: Duration = Duration::from_secs(15);
/// So long may a handshake of TLS take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// No headers of a request are longer, in bytes.
const BUFFER: usize = 16 << 10;
/// The answer to connections that are too many.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nContent-Length: 130\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{ \"type\": \"urn:scumble:problem:busy\", \"title\": \"The server is busy\", \"status\": 503, \"detail\": \"too many connections, try again\" }\n";

/// What is served on a port.
pub(crate) struct Door {
    pub router: Router,
    pub service: Arc<Service>,
    pub tls: Option<Arc<ServerConfig>>,
    /// This many connections at once.
    pub most: usize,
}

impl Door {
    /// Serves until `stop` says so; then lets what has begun come to its end.
    pub async fn serve(self, listener: TcpListener, mut stop: watch::Receiver<bool>) {
        let places = Arc::new(Semaphore::new(self.most));
        // Every connection holds one end: when all are gone, the other end says so.
        let (alive, mut gone) = mpsc::channel::<()>(1);
        let acceptor = self.tls.clone().map(TlsAcceptor::from);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, say: whoever waits is served when some are closed.
                    if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                turn_away(stream, self.tls.is_some(), &self.service.metrics);
                continue;
            };
            self.service.metrics.connected();
            let one = One { router: self.router.clone(), address, stop: stop.clone(), place, _alive: alive.clone() };
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let _ = stream.set_nodelay(true);
                match acceptor {
                    None => one.serve(stream).await,
                    Some(acceptor) => {
                        let shaken = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
                        if let Ok(Ok(stream)) = shaken {
                            one.serve(stream).await;
                        }
                    }
                }
            });
        }
        drop(listener);
        drop(alive);
        let _ = gone.recv().await;
    }
}

/// One connection.
struct One {
    router: Router,
    address: SocketAddr,
    stop: watch::Receiver<bool>,
    place: OwnedSemaphorePermit,
    _alive: mpsc::Sender<()>,
}

impl One {
    async fn serve(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let (router, peer) = (self.router, Peer(self.address.ip()));
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            router.clone().oneshot(request)
        });
        let mut builder = Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(BUFFER).keep_alive(true);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut is_ending = false;
        loop {
            tokio::select! {
                // How a connection ends is its client's affair.
                _ = connection.as_mut() => break,
                () = stopped(&mut self.stop), if !is_ending => {
                    is_ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
        drop(self.place);
    }
}

/// Waits until the server stops.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error says that nobody could say so any more.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Says that there are too many, and waits hardly at all for whoever does not listen.
fn turn_away(mut stream: TcpStream, is_secure: bool, metrics: &Metrics) {
    metrics.turned_away();
    // Whoever comes with TLS is not spoken to in plain text: the connection ends, and that is all.
    if is_secure {
        return;
    }
    tokio::spawn(tokio::time::timeout(Duration::from_secs(1), async move {
        stream.write_all(TOO_MANY).await?;
        stream.shutdown().await?;
        // What was sent is read, or the sentence is lost on the way.
        let mut rest = [0u8; 1024];
        while stream.read(&mut rest).await? > 0 {}
        std::io::Result::Ok(())
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_for_too_many_has_the_length_that_it_says() {
        let text = std::str::from_utf8(TOO_MANY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{} in\n{head}", body.len());
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }
}
