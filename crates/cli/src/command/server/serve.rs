//! `scumble serve`: a project for many, within its budget.

use crate::command::engine::ProjectArguments;
use crate::failure::{Failure, say};
use crate::output::print;
use clap::Args;
use scumble_server::{ListeningServer, Options};
use serde_json::json;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// What `serve` takes.
#[derive(Args)]
#[command(after_help = "The printed link makes the first person who opens it a curator, once. SIGTERM\n\
                  completes open requests and stops; a second one stops at once. Port 0 takes a\n\
                  free port. Behind a proxy, give --connections-each the number of --connections.\n\n\
                  Examples:\n  \
                  scumble serve\n  \
                  scumble serve --postgres 127.0.0.1:5433\n  \
                  scumble serve --listen 0.0.0.0:8443 --host example.org --tls-certificate a.pem --tls-key a.key")]
pub struct ServeArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Where PostgreSQL's clients connect (psql)
    #[arg(long, value_name = "ADDRESS")]
    postgres: Option<SocketAddr>,
    /// The certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// No TLS: the network can read everything
    #[arg(long)]
    insecure_http: bool,
    /// Another name of the server (repeatable)
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Round times of answers up: 1s, 250ms
    #[arg(long, value_name = "TIME", value_parser = duration)]
    answer_time: Option<Duration>,
    /// The most connections at once
    #[arg(long, value_name = "NUMBER", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// The most from one address [default: half]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections_each: Option<u32>,
    /// The folder for the outputs, instead of `out`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the address and the link as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &ServeArguments, quiet: bool) -> Result<(), Failure> {
    let options = Options {
        project: arguments.project.file.clone(),
        ledger: arguments.project.ledger.clone(),
        out: arguments.out.clone(),
        listen: arguments.listen,
        postgres: arguments.postgres,
        tls: arguments.tls_certificate.clone().zip(arguments.tls_key.clone()),
        insecure_http: arguments.insecure_http,
        hosts: arguments.host.clone(),
        answer_time: arguments.answer_time,
        connections: arguments.connections as usize,
        connections_each: arguments.connections_each.map(|number| number as usize),
        logs: !quiet,
    };
    Ok(scumble_server::serve(&options, |started| tell(started, &arguments.host, arguments.json, quiet))?)
}

/// Prints where it listens and how to log in. The server runs even where the output is closed.
fn tell(started: &ListeningServer, hosts: &[String], as_json: bool, quiet: bool) {
    let ListeningServer { address, postgres, link } = started;
    let also = postgres.map_or(String::new(), |address| {
        format!(
            "and on {address} for PostgreSQL's clients (psql \"host={} port={} dbname=scumble user=NAME\")\n",
            reached(address.ip(), hosts),
            address.port()
        )
    });
    let text = match (as_json, quiet) {
        (true, _) => {
            let postgres = postgres.map(|address| address.to_string());
            format!("{}\n", json!({ "address": address.to_string(), "postgres": postgres, "link": link }))
        }
        (false, true) => format!("{link}\n"),
        (false, false) => format!(
            "listening on {address}\n{also}open {link}\n(the first person to open the link becomes a curator; it \
                works once, within an hour)\n"
        ),
    };
    if print(&text).is_err() {
        say("the server's address could not be printed; the server keeps running");
    }
}

/// The name by which clients reach an address: nobody is called 0.0.0.0.
fn reached(address: IpAddr, hosts: &[String]) -> String {
    match address.is_unspecified() {
        true => hosts.first().cloned().unwrap_or_else(|| "localhost".to_string()),
        false => address.to_string(),
    }
}

/// A time as it is written: 2s, 250ms.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len()));
    let number: u64 = number.trim().parse().map_err(|_| "give a time such as 1s or 250ms".to_string())?;
    let time = match unit {
        "s" => Duration::from_secs(number),
        "ms" => Duration::from_millis(number),
        _ => return Err("give a time such as 1s or 250ms".to_string()),
    };
    match time.is_zero() || time > Duration::from_secs(600) {
        true => Err("give a time above 0 and up to 600s".to_string()),
        false => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_a_name_that_they_can_reach() {
        let hosts = ["stats.example.org".to_string()];
        let shown = |address: &str, hosts: &[String]| reached(address.parse().unwrap(), hosts);
        assert_eq!(shown("127.0.0.1", &hosts), "127.0.0.1");
        assert_eq!((shown("0.0.0.0", &hosts), shown("::", &[])), (hosts[0].clone(), "localhost".to_string()));
    }
}
