//! A PostgreSQL server of the system's packages, in a folder that is gone with the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The password of its one user, `scumble`.
pub const PASSWORD: &str = "not 'so' secret: \\";

/// A server that runs.
pub struct Postgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    child: Child,
    port: String,
}

/// Where the system keeps the programs of a server.
fn programs() -> Option<PathBuf> {
    let installed = fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path().join("bin"));
    installed.filter(|folder| folder.join("initdb").exists()).max()
}

/// A program, by a user who is not root: a server refuses to be run by that one.
fn command(program: &Path) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

impl Postgres {
    /// Starts a server; none, with a word, where there is none to start.
    pub fn start() -> Option<Self> {
        Self::with(|_| vec!["-c".to_string(), "listen_addresses=".to_string()])
    }

    /// The same on a port of `localhost` too, with a certificate for that name; its authority is `ca.pem` in
    /// [`Postgres::folder`].
    pub fn start_with_tls(port: u16) -> Option<Self> {
        Self::with(|folder| {
            certificates(folder);
            let set = |name: &str, value: String| ["-c".to_string(), format!("{name}={value}")];
            let file = |name: &str| folder.join(name).display().to_string();
            let all = [
                set("listen_addresses", "localhost".to_string()),
                set("port", port.to_string()),
                set("ssl", "on".to_string()),
                set("ssl_cert_file", file("server.pem")),
                set("ssl_key_file", file("server.key")),
            ];
            all.concat()
        })
    }

    /// Starts a server with settings of its own, which may depend on its folder.
    fn with(settings: impl Fn(&Path) -> Vec<String>) -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("no PostgreSQL (apt-get install postgresql): nothing was run on it");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        // The server's user must find its way in.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), open).unwrap();
        fs::write(folder.path().join("password"), PASSWORD).unwrap();
        let data = folder.path().join("data");
        let made = command(&programs.join("initdb"))
            .args(["-A", "scram-sha-256", "-U", "scumble", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D"])
            .arg(&data)
            .arg(format!("--pwfile={}", folder.path().join("password").display()))
            .output()
            .unwrap();
        if !made.status.success() {
            eprintln!("no PostgreSQL (initdb: {}): nothing was run on it", String::from_utf8_lossy(&made.stderr));
            return None;
        }
        let child = command(&programs.join("postgres"))
            .args(["-F", "-c", "jit=off", "-p", "5439", "-k"])
            .arg(folder.path())
            .args(settings(folder.path()))
            .arg("-D")
            .arg(&data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The last port that is set holds.
        let port = settings(folder.path()).iter().find_map(|one| one.strip_prefix("port=").map(str::to_string));
        let server = Self { folder, programs, child, port: port.unwrap_or("5439".to_string()) };
        for _ in 0..300 {
            if server.psql().args(["-c", "SELECT 1"]).output().is_ok_and(|out| out.status.success()) {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not answer");
    }

    /// `psql`, logged in.
    pub fn psql(&self) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.env("PGPASSWORD", PASSWORD).args([
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-p",
            self.port.as_str(),
            "-U",
            "scumble",
            "-d",
            "postgres",
            "-h",
        ]);
        psql.arg(self.folder.path());
        psql
    }

    /// Runs statements.
    pub fn run(&self, sql: &str) {
        let file = self.folder.path().join("statements.sql");
        fs::write(&file, sql).unwrap();
        let done = self.psql().arg("-f").arg(&file).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The address of a table.
    pub fn source(&self, table: &str) -> String {
        format!("postgres://scumble@/postgres?host={}&port=5439&table={table}", self.folder.path().display())
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file with the password.
    pub fn password_file(&self) -> PathBuf {
        self.folder.path().join("password")
    }

    /// Stops it at once, as a machine does that loses its power.
    pub fn stop(&mut self) {
        let data = self.folder.path().join("data");
        let _ = command(&self.programs.join("pg_ctl")).args(["stop", "-m", "immediate", "-D"]).arg(data).output();
        let _ = self.child.wait();
    }
}

/// An authority, and a certificate of its for `localhost`, whose key nobody but the server reads.
fn certificates(folder: &Path) {
    let openssl = |arguments: &str| {
        let done = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
    };
    if folder.join("server.pem").exists() {
        return;
    }
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
    openssl(&format!("req -x509 {key} -keyout other.key -out other.pem -days 2 -subj /CN=other"));
    openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"));
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost").unwrap();
    openssl("x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile names");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(folder.join("server.key"), private).unwrap();
    // Where it is root who tests, another user runs the server.
    let _ = Command::new("chown").arg("postgres").arg(folder.join("server.key")).output();
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
        // What its user wrote in the folder is not ours to remove; they are.
        let _ = command(Path::new("/bin/rm")).arg("-rf").arg(self.folder.path().join("data")).output();
    }
}
