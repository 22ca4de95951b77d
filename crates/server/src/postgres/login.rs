//! From a connection to an authenticated person: encryption, names, and the proof of a token. No query is answered
//! without this.

use super::cancel::{CancelRegistration, CancelRegistry};
use super::exchange::{MECHANISM, ScramExchange};
use super::line::{self, BEFORE_LOGIN, ConnectionError, FirstMessage, MessageStream};
use super::refused::{SqlError, code};
use super::settings::{DATABASE, Settings};
use crate::people::{PersonSlot, PersonSlots};
use crate::service::Service;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::{Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey};
use scumble::noise::{BitSource, SecureSource};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Somebody who has proved to have a token.
pub(super) struct AuthenticatedPerson<'a> {
    /// Their name.
    pub name: String,
    /// What was kept of the token that they have.
    pub stored_key: [u8; 32],
    /// What their connection has set.
    pub settings: Settings,
    /// Where others can ask for the end of their query.
    pub cancel: CancelRegistration<'a>,
    /// Their connections are counted while they last.
    pub _counted: PersonSlot,
}

/// What the first messages ask for.
pub(super) enum StartupRequest {
    /// Encryption from here on.
    Tls,
    /// The end of somebody's query.
    Cancel(i32, Vec<u8>),
    /// To log in.
    Login(Vec<(String, String)>),
}

/// Reads the first messages of a connection, encrypted or not.
pub(super) async fn wish<S: AsyncRead + AsyncWrite + Unpin>(
    line: &mut MessageStream<S>,
    offers_tls: bool,
    is_encrypted: bool,
) -> Result<StartupRequest, ConnectionError> {
    // One question for each way of encryption, and then the start.
    for _ in 0..3 {
        let body = line.first().await?;
        match line::first(&body) {
            Some(FirstMessage::Tls) if offers_tls && !is_encrypted => {
                line.answer(b'S').await?;
                return Ok(StartupRequest::Tls);
            }
            Some(FirstMessage::Tls | FirstMessage::Gss) => line.answer(b'N').await?,
            Some(FirstMessage::Cancel(process, secret)) => return Ok(StartupRequest::Cancel(process, secret)),
            Some(FirstMessage::Startup { .. }) if offers_tls && !is_encrypted => {
                let sentence = "this server needs an encrypted connection: connect with sslmode=require or better";
                return Err(SqlError::fatal(code::LOGIN, sentence).into());
            }
            Some(FirstMessage::Startup { minor, parameters }) => {
                let unknown = parameters.iter().filter(|(name, _)| name.starts_with("_pq_."));
                let unknown: Vec<String> = unknown.map(|(name, _)| name.clone()).collect();
                if minor > 0 || !unknown.is_empty() {
                    // Version 3.0 is spoken, and no extension of it.
                    let negotiated = NegotiateProtocolVersion::new(3 << 16, unknown);
                    line.say(&PgWireBackendMessage::NegotiateProtocolVersion(negotiated))?;
                }
                return Ok(StartupRequest::Login(parameters));
            }
            None => break,
        }
    }
    Err(SqlError::fatal(code::PROTOCOL, "this is not the start of PostgreSQL's protocol, version 3").into())
}

/// The exchange of proofs, and what is sent to a client at its start.
pub(super) async fn login<'a, S: AsyncRead + AsyncWrite + Unpin>(
    line: &mut MessageStream<S>,
    parameters: &[(String, String)],
    service: &Service,
    from: IpAddr,
    cancels: &'a CancelRegistry,
    people: &Arc<PersonSlots>,
) -> Result<AuthenticatedPerson<'a>, ConnectionError> {
    let given = |wanted: &str| parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let refused = |code, sentence: &str| ConnectionError::Refused(SqlError::fatal(code, sentence));
    let name = given("user").filter(|name| !name.is_empty() && name.len() <= 63);
    let name = name.ok_or_else(|| refused(code::LOGIN, "the user is a name from 'scumble setup access add'"))?;
    if given("replication").is_some_and(|wish| !["off", "false", "no", "0"].contains(&wish)) {
        return Err(refused(code::UNSUPPORTED, "replication is not supported"));
    }
    let is_somebody = service.scram(name).is_some();
    let challenge = service.challenge(name).map_err(|refusal| refused(code::MACHINE, refusal.sentence()))?;
    let Some(stored_key) = proved(line, challenge, is_somebody).await? else {
        service.failed(from).await;
        let sentence = format!(
            "password authentication failed for user \"{name}\": give the token of 'scumble setup access add {name}'"
        );
        return Err(refused(code::PASSWORD, &sentence));
    };
    // Said only to somebody who is known.
    if given("database").unwrap_or(name) != DATABASE {
        let sentence = format!("there is one database here, and it is called '{DATABASE}'");
        return Err(refused(code::DATABASE, &sentence));
    }
    let counted = people.count(name).ok_or_else(|| {
        refused(code::CONNECTIONS, &format!("{name} has all the connections that one person may have; close some"))
    })?;
    let mut settings = Settings::new(name);
    settings.at_start(parameters).map_err(|refused| SqlError { fatal: true, ..refused })?;
    let cancel = cancels.register().map_err(|_| refused(code::MACHINE, "there are no random bits"))?;
    greet(line, &settings, &cancel)?;
    line.send().await?;
    Ok(AuthenticatedPerson { name: name.to_string(), stored_key, settings, cancel, _counted: counted })
}

/// Whether the client has the token; what was kept of it.
async fn proved<S: AsyncRead + AsyncWrite + Unpin>(
    line: &mut MessageStream<S>,
    scram: crate::access::ScramVerifier,
    is_somebody: bool,
) -> Result<Option<[u8; 32]>, ConnectionError> {
    let stored_key = scram.stored_key;
    line.say(&PgWireBackendMessage::Authentication(Authentication::SASL(vec![MECHANISM.to_string()])))?;
    line.send().await?;
    let Some((method, data)) = line::initial_response(&password(line).await?) else { return Ok(None) };
    let nonce = nonce().map_err(|_| ConnectionError::Gone)?;
    let exchange = if method == MECHANISM { ScramExchange::begin(&data, scram, &nonce) } else { None };
    let Some(exchange) = exchange else { return Ok(None) };
    let first = exchange.first().as_bytes().to_vec();
    line.say(&PgWireBackendMessage::Authentication(Authentication::SASLContinue(first.into())))?;
    line.send().await?;
    let last = exchange.finish(&password(line).await?);
    let Some(last) = last.filter(|_| is_somebody) else { return Ok(None) };
    line.say(&PgWireBackendMessage::Authentication(Authentication::SASLFinal(last.into_bytes().into())))?;
    Ok(Some(stored_key))
}

/// The next message, which must be part of the proof.
async fn password<S: AsyncRead + AsyncWrite + Unpin>(line: &mut MessageStream<S>) -> Result<Vec<u8>, ConnectionError> {
    match line.next(BEFORE_LOGIN).await? {
        (b'p', body) => Ok(body),
        (b'X', _) => Err(ConnectionError::Gone),
        _ => Err(SqlError::fatal(code::PROTOCOL, "the proof of a token was expected").into()),
    }
}

/// 144 random bits in letters that a nonce may have.
fn nonce() -> Result<String, scumble::Error> {
    let mut bits = SecureSource::new()?;
    Ok((0..3).map(|_| format!("{:016x}", bits.next_u64())).collect())
}

/// That the client is in, what is set, and under which numbers others can ask for the end of its query.
fn greet<S: AsyncRead + AsyncWrite + Unpin>(
    line: &mut MessageStream<S>,
    settings: &Settings,
    cancel: &CancelRegistration<'_>,
) -> Result<(), ConnectionError> {
    line.say(&PgWireBackendMessage::Authentication(Authentication::Ok))?;
    for (name, value) in settings.reported() {
        line.say(&PgWireBackendMessage::ParameterStatus(ParameterStatus::new(name.to_string(), value)))?;
    }
    let key = BackendKeyData::new(cancel.process, SecretKey::I32(cancel.secret));
    line.say(&PgWireBackendMessage::BackendKeyData(key))?;
    line.say(&PgWireBackendMessage::ReadyForQuery(ReadyForQuery::new(TransactionStatus::Idle)))
}
