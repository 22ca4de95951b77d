//! The password of a server: from `PGPASSWORD`, from the file that `password_file` names, or from `~/.pgpass`, as
//! `psql` has it.

use crate::project::Server;
use std::path::{Path, PathBuf};

/// The password; none where nobody has written one down.
pub(crate) fn password(server: &Server) -> Option<String> {
    if let Some(path) = &server.password_file {
        let text = std::fs::read_to_string(path).ok()?;
        return text.lines().next().map(str::to_string).filter(|password| !password.is_empty());
    }
    let given = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty());
    given.or_else(|| listed(&std::fs::read_to_string(kept()?).ok()?, server))
}

/// The file of passwords, if nobody else may read it.
fn kept() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let path = std::env::var_os("PGPASSFILE").map(PathBuf::from).or_else(home)?;
    #[cfg_attr(not(unix), allow(unused_variables))]
    let found = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 != 0 {
        return None;
    }
    Some(path)
}

/// The first line `host:port:database:user:password` that fits; `*` fits everything, a backslash stands before a colon
/// that is meant.
fn listed(text: &str, server: &Server) -> Option<String> {
    let host = if server.is_socket() { "localhost" } else { &server.host };
    let port = server.port.to_string();
    let wanted = [host, &port, &server.database, &server.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let fits = |(field, wanted): (&String, &&str)| field == "*" || field == *wanted;
        // A socket is known by its folder too.
        let is_folder = fields.first().is_some_and(|host| *host == server.host);
        let mut places = fields.iter().zip(&wanted);
        let host_fits = places.next().is_some_and(fits) || is_folder;
        (fields.len() == 5 && host_fits && places.all(fits)).then(|| fields[4].clone())
    })
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut rest = line.chars();
    while let Some(one) = rest.next() {
        match one {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.iter_mut().last().into_iter().for_each(|field| field.extend(rest.next())),
            other => fields.iter_mut().last().into_iter().for_each(|field| field.push(other)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_as_psql_finds_them() {
        let server = |host: &str, user: &str| Server {
            user: user.to_string(),
            host: host.to_string(),
            port: 5433,
            database: "health".to_string(),
            schema: None,
            table: "visits".to_string(),
            is_verified: false,
            root_certificates: None,
            timeout: 1,
            password_file: None,
        };
        let text = "# a comment\nother:5433:health:ana:no\nhere:5433:*:ana:a\\:b\\\\c:d\nlocalhost:*:health:ben:socket\n*:1:*:*:no\n";
        assert_eq!(listed(text, &server("here", "ana")).as_deref(), Some("a:b\\c:d"));
        assert_eq!(listed(text, &server("/run/pg", "ben")).as_deref(), Some("socket"));
        assert_eq!(listed(text, &server("here", "ben")), None);
    }
}
