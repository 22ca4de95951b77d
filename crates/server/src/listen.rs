//! Connections: this many at once and no more, headers in time, TLS where there is a certificate, and a quiet end.

use crate::addresses::AddressSlots;
use crate::http::Peer;
use crate::service::Service;
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Sleep, sleep};
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

/// The answer to a connection on which nothing was asked.
const SILENT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/problem+json\r\nContent-Length: 127\r\nConnection: close\r\n\r\n{ \"type\": \"urn:scumble:problem:silent\", \"title\": \"Nothing was asked\", \"status\": 408, \"detail\": \"ask sooner after connecting\" }\n";

/// So long may a client take to read what it is sent, before it is left alone.
const READING: Duration = Duration::from_secs(30);

/// What is served on a port.
pub(crate) struct HttpEndpoint {
    pub router: Router,
    pub service: Arc<Service>,
    pub tls: Option<Arc<ServerConfig>>,
    /// The connections that there may be at once.
    pub places: Arc<AddressSlots>,
}

impl HttpEndpoint {
    /// Serves until `stop` says so; then lets what has begun come to its end.
    pub async fn serve(self, listener: TcpListener, stop: watch::Receiver<bool>) {
        let Self { router, service, tls, places } = self;
        let acceptor = tls.map(TlsAcceptor::from);
        let turn_away = |stream| {
            service.metrics.turned_away.add();
            // A TLS client gets nothing in plain text: the connection just ends.
            if acceptor.is_none() {
                tokio::spawn(say_and_close(stream, TOO_MANY));
            }
        };
        let serve = |stream, from| {
            service.metrics.connections.add();
            connected(stream, Peer(from), router.clone(), acceptor.clone(), stop.clone())
        };
        each_connection(listener, &places, stop.clone(), turn_away, serve).await;
    }
}

/// Serves each connection for which there is a place, until `stop` says so; then waits for those that are served.
pub(crate) async fn each_connection<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    places: &Arc<AddressSlots>,
    mut stop: watch::Receiver<bool>,
    turn_away: impl Fn(TcpStream),
    serve: impl Fn(TcpStream, IpAddr) -> F,
) {
    // Every connection holds one end: when all are gone, the other end says so.
    let (alive, mut gone) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many open files, say: waiting connections are served when some files are closed.
                if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
                    sleep(Duration::from_millis(50)).await;
                }
                continue;
            }
        };
        let Some(place) = places.place(address.ip()) else {
            turn_away(stream);
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (served, alive) = (serve(stream, address.ip()), alive.clone());
        tokio::spawn(async move {
            served.await;
            drop((place, alive));
        });
    }
    drop(listener);
    drop(alive);
    let _ = gone.recv().await;
}

/// One connection.
async fn connected(
    stream: TcpStream,
    peer: Peer,
    router: Router,
    acceptor: Option<TlsAcceptor>,
    mut stop: watch::Receiver<bool>,
) {
    // A silent client gets the reason before the connection ends. (With TLS nothing can be sent before the handshake.)
    if acceptor.is_none() && is_silent(&stream, HEADERS, &mut stop).await {
        return say_and_close(stream, SILENT).await;
    }
    let stream = WriteTimeoutStream::new(stream, READING);
    match acceptor {
        None => requests(stream, peer, router, stop).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                requests(stream, peer, router, stop).await;
            }
        }
    }
}

/// The requests of a connection.
async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
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
            () = stopped(&mut stop), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// A stream whose other end must read: what is held for a client that does not is not held for ever.
struct WriteTimeoutStream<S> {
    stream: S,
    patience: Duration,
    /// When it has waited long enough, while it waits.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeoutStream<S> {
    fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, until: None }
    }

    /// What came of writing, or that it took too long.
    fn waited<T>(&mut self, context: &mut Context<'_>, came: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if came.is_ready() {
            self.until = None;
            return came;
        }
        let patience = self.patience;
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(patience)));
        until.as_mut().poll(context).map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let came = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.waited(context, came)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let came = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.waited(context, came)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let came = Pin::new(&mut self.stream).poll_flush(context);
        self.waited(context, came)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let came = Pin::new(&mut self.stream).poll_shutdown(context);
        self.waited(context, came)
    }
}

/// Waits until the server stops.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error says that nobody could say so any more.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Sends one thing, and hardly waits for a client that does not read.
async fn say_and_close(mut stream: TcpStream, what: &[u8]) {
    let said = tokio::time::timeout(Duration::from_secs(1), async {
        stream.write_all(what).await?;
        stream.shutdown().await?;
        // The client's bytes are read, or the sentence is lost on the way.
        let mut rest = [0u8; 1024];
        while stream.read(&mut rest).await? > 0 {}
        std::io::Result::Ok(())
    });
    // A client that has left does not get it.
    let _ = said.await;
}

/// Whether nothing comes from a connection for so long. A server that stops does not wait for that.
async fn is_silent(stream: &TcpStream, most: Duration, stop: &mut watch::Receiver<bool>) -> bool {
    let mut first = [0];
    tokio::select! {
        came = tokio::time::timeout(most, stream.peek(&mut first)) => came.is_err(),
        () = stopped(stop) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_does_not_read_is_not_written_to_for_ever() {
        let (near, mut far) = tokio::io::duplex(64);
        // A machine that is busy with other tests is late by more than 50 milliseconds, which failed here.
        let mut near = WriteTimeoutStream::new(near, Duration::from_secs(1));
        // While the other end reads, it may take as long as it likes.
        let reading = tokio::spawn(async move {
            let mut some = [0; 64];
            for _ in 0..8 {
                sleep(Duration::from_millis(200)).await;
                far.read_exact(&mut some).await.unwrap();
            }
            far
        });
        near.write_all(&[7; 512]).await.unwrap();
        let _far = reading.await.unwrap();
        let failed = near.write_all(&[7; 512]).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn sentences_have_the_length_that_they_say() {
        for said in [TOO_MANY, SILENT] {
            let text = std::str::from_utf8(said).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{} in\n{head}", body.len());
            serde_json::from_str::<serde_json::Value>(body).unwrap();
        }
    }

    #[tokio::test]
    async fn whoever_says_nothing_is_told_why_the_connection_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut quiet = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (near, _) = listener.accept().await.unwrap();
        let (_end, mut stop) = watch::channel(false);
        assert!(is_silent(&near, Duration::from_millis(50), &mut stop).await);
        let (_, said) = tokio::join!(say_and_close(near, SILENT), async {
            let mut said = String::new();
            quiet.read_to_string(&mut said).await.unwrap();
            drop(quiet);
            said
        });
        assert!(said.starts_with("HTTP/1.1 408 Request Timeout"), "{said}");
        let mut quick = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (near, _) = listener.accept().await.unwrap();
        quick.write_all(b"G").await.unwrap();
        assert!(!is_silent(&near, Duration::from_secs(60), &mut stop).await);
    }
}
