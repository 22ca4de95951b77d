//! The door for PostgreSQL's clients: `psql`, drivers, and what is built on them, ask private questions with what they
//! already have.
//!
//! ```text
//! line → login (exchange) → session → statement → bound, catalogue → answer
//! ```
//! `line` reads and writes messages, `login` lets somebody in whose token is proved, `session` answers them;
//! `statement` classifies a text, `bound` puts parameters into it, `catalogue` answers queries about the tables'
//! declarations, and `answer` calls the service. Nothing here reads a table or computes a cost. A session exists
//! for somebody who is known and in no other way.

mod answer;
mod bound;
mod cancel;
mod catalogue;
mod exchange;
mod line;
mod login;
mod parameter;
mod refused;
mod session;
mod settings;
mod shown;
mod statement;
mod value;

use crate::addresses::AddressSlots;
use crate::listen::each_connection;
use crate::people::PersonSlots;
use crate::service::Service;
use cancel::CancelRegistry;
use line::{ConnectionError, MessageStream};
use login::StartupRequest;
use refused::{SqlError, code};
use rustls::ServerConfig;
use session::PostgresSession;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// A login may take this long, with its encryption; failed ones are answered late, and that counts.
const LOGIN: Duration = Duration::from_secs(30);

/// What this door is opened with.
pub(crate) struct PostgresEndpoint {
    pub service: Arc<Service>,
    pub tls: Option<Arc<ServerConfig>>,
    /// The connections that there may be at once.
    pub places: Arc<AddressSlots>,
    /// Those of each person.
    pub people: Arc<PersonSlots>,
    /// The times of answers are rounded up to a multiple of this.
    pub answer_time: Option<Duration>,
}

/// What all connections share.
struct PostgresContext {
    service: Arc<Service>,
    tls: Option<TlsAcceptor>,
    answer_time: Option<Duration>,
    cancels: CancelRegistry,
    people: Arc<PersonSlots>,
}

impl PostgresEndpoint {
    /// Serves until `stop` says so; then lets what has begun come to its end.
    pub async fn serve(self, listener: TcpListener, stop: watch::Receiver<bool>) {
        let tls = self.tls.map(|config| {
            // Clients of version 17 say what they speak; who does not say so is welcome too.
            let mut config = ServerConfig::clone(&config);
            config.alpn_protocols = vec![b"postgresql".to_vec()];
            TlsAcceptor::from(Arc::new(config))
        });
        let (service, answer_time, people) = (self.service, self.answer_time, self.people);
        let shared =
            Arc::new(PostgresContext { service, tls, answer_time, cancels: CancelRegistry::default(), people });
        let serve = |stream, from| {
            let (shared, stop) = (Arc::clone(&shared), stop.clone());
            async move { shared.connected(stream, from, stop).await }
        };
        let turn_away = |stream| turn_away(stream, shared.tls.is_some());
        each_connection(listener, &self.places, stop.clone(), turn_away, serve).await;
    }
}

impl PostgresContext {
    async fn connected(&self, stream: TcpStream, from: IpAddr, stop: watch::Receiver<bool>) {
        let mut line = MessageStream::new(stream);
        let wish = timeout(LOGIN, login::wish(&mut line, self.tls.is_some(), false)).await;
        match (wish, &self.tls) {
            (Ok(Ok(StartupRequest::Tls)), Some(acceptor)) => {
                // What came before the handshake is not taken for what comes inside it.
                let Some(stream) = line.into_stream() else { return };
                let Ok(Ok(stream)) = timeout(LOGIN, acceptor.accept(stream)).await else { return };
                let mut line = MessageStream::new(stream);
                match timeout(LOGIN, login::wish(&mut line, true, true)).await {
                    Ok(wish) => self.granted(line, wish, from, stop).await,
                    Err(_) => line.end(None).await,
                }
            }
            (Ok(wish), _) => self.granted(line, wish, from, stop).await,
            (Err(_), _) => line.end(None).await,
        }
    }

    async fn granted<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        mut line: MessageStream<S>,
        wish: Result<StartupRequest, ConnectionError>,
        from: IpAddr,
        stop: watch::Receiver<bool>,
    ) {
        let parameters = match wish {
            Ok(StartupRequest::Login(parameters)) => parameters,
            Ok(StartupRequest::Cancel(process, secret)) => {
                self.cancels.cancel(process, &secret);
                return line.end(None).await;
            }
            Ok(StartupRequest::Tls) | Err(ConnectionError::Gone) => return line.end(None).await,
            Err(ConnectionError::Refused(refused)) => return line.end(Some(refused)).await,
        };
        let login = login::login(&mut line, &parameters, &self.service, from, &self.cancels, &self.people);
        match timeout(LOGIN, login).await {
            Ok(Ok(known)) => {
                tracing::info!("{} connected as PostgreSQL's clients do", known.name);
                PostgresSession::new(line, known, Arc::clone(&self.service), self.answer_time).serve(stop).await;
            }
            Ok(Err(ConnectionError::Refused(refused))) => line.end(Some(refused)).await,
            Ok(Err(ConnectionError::Gone)) => line.end(None).await,
            Err(_) => line.end(Some(SqlError::fatal(code::LOGIN, "the login took too long"))).await,
        }
    }
}

/// Sends that there are too many connections, and hardly waits for a client that does not read.
fn turn_away(stream: TcpStream, is_secure: bool) {
    // A TLS client gets nothing in plain text: the connection just ends.
    if is_secure {
        return;
    }
    tokio::spawn(async move {
        let mut line = MessageStream::new(stream);
        let sentence = "too many connections; try again soon";
        let _ = timeout(Duration::from_secs(1), line.end(Some(SqlError::fatal(code::CONNECTIONS, sentence)))).await;
    });
}

#[cfg(test)]
mod tests;
