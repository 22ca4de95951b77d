//! `scumble setup completions` and `scumble setup manual`: what an installation adds, written from the commands
//! themselves.

use crate::failure::Failure;
use crate::help;
use crate::output::print;
use clap::Args;
use clap_complete::Shell;
use scumble_engine::project::Project;
use std::path::PathBuf;

/// Which shell.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup completions bash > scumble.bash")]
pub struct CompletionArguments {
    /// The shell
    shell: Shell,
}

/// Where the manual goes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup manual --out .")]
pub struct ManualArguments {
    /// Write one page for each command into this directory
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

/// Which project.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup names")]
pub struct NamesArguments {
    /// The project file
    #[arg(default_value = "scumble.toml")]
    file: PathBuf,
}

/// Prints a script that the shell reads.
pub fn completions(arguments: &CompletionArguments) -> Result<(), Failure> {
    // The generator panics on a stream that fails, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::program(), "scumble", &mut script);
    print(&with_names(arguments.shell, &String::from_utf8_lossy(&script)))
}

/// Prints the names of all releases, a line each; nothing where there is no project.
pub fn names(arguments: &NamesArguments) -> Result<(), Failure> {
    let Ok(project) = Project::open(&arguments.file) else { return Ok(()) };
    print(&project.releases.iter().map(|request| format!("{}\n", request.name)).collect::<String>())
}

/// The flags whose values are names of releases.
const NAMED: [&str; 3] = ["--only", "--again", "--suggest-bounds"];

/// The script, in which the names of the project's releases complete the flags that take them. Of shells that are not
/// known here it is as it was.
fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{BASH_NAMES}{}", in_bash(script)),
        Shell::Zsh => {
            let names = |line: &str| match NAMED.iter().any(|flag| line.contains(&format!("{flag}=["))) {
                true => line.replace(":NAME:_default'", ":NAME:_scumble_names'"),
                false => line.to_string(),
            };
            let (first, rest) = script.split_once('\n').unwrap_or((script, ""));
            format!("{first}\n{ZSH_NAMES}{}", by_line(rest, names))
        }
        Shell::Fish => {
            let is_named = |line: &str| NAMED.iter().any(|flag| line.contains(&format!(" -l {} -d ", &flag[2..])));
            let takes_one = |line: &str| line.ends_with(" -r") && is_named(line);
            by_line(script, |line| match takes_one(line) {
                true => format!("{line} -f -a '(scumble setup names 2>/dev/null)'"),
                false => line.to_string(),
            })
        }
        _ => script.to_string(),
    }
}

fn by_line(script: &str, made: impl Fn(&str) -> String) -> String {
    script.lines().map(|line| made(line) + "\n").collect()
}

/// In each branch for one of the flags, names in the place of files.
fn in_bash(script: &str) -> String {
    let (mut made, mut is_named) = (String::new(), false);
    for line in script.lines() {
        let word = line.trim();
        if let Some(flag) = word.strip_suffix(')').filter(|flag| flag.starts_with('-')) {
            is_named = NAMED.contains(&flag);
        }
        let is_value = is_named && word.starts_with("COMPREPLY=($(compgen -f");
        made.push_str(if is_value { "                    _scumble_names \"${cur}\"" } else { line });
        made.push('\n');
    }
    made
}

/// Names may have spaces. They are completed as the shell would quote them, or as they are if a quotation mark was
/// typed before them. The project file is the one that the command line names.
const BASH_NAMES: &str = r#"_scumble_names() {
    local name shown word file=scumble.toml begun="$1" quoted=
    for word in "${COMP_WORDS[@]:1}"; do
        if [[ "$word" == *.toml && -f "$word" ]]; then file="$word"; fi
    done
    case "$begun" in [\'\"]*) begun="${begun:1}" quoted=yes ;; esac
    COMPREPLY=()
    while IFS= read -r name; do
        if [[ -n "$quoted" ]]; then shown="$name"; else printf -v shown '%q' "$name"; fi
        if [[ "$shown" == "$begun"* ]]; then COMPREPLY+=("$shown"); fi
    done < <(scumble setup names "$file" 2>/dev/null)
}

"#;

const ZSH_NAMES: &str = r#"
_scumble_names() {
    local -a names
    names=("${(@f)$(scumble setup names 2>/dev/null)}")
    compadd -a names
}
"#;

/// Prints the page of the program, or writes the pages of all commands.
pub fn manual(arguments: &ManualArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.out {
        return clap_mangen::generate_to(help::program(), folder)
            .map_err(|error| Failure::Input(format!("the manual cannot be written to {}: {error}", folder.display())));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(help::program()).render(&mut page)?;
    print(&String::from_utf8_lossy(&page))
}
