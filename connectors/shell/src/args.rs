// SPDX-License-Identifier: Apache-2.0
//! Parses the command line: options, subcommands, and the session that they describe.

use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use tokio::runtime::Handle;

use crate::{
    app::AppCommand,
    choices::{OnError, Timer},
    data,
    drive::DriveCommand,
    engine_args::EngineArgs,
    explain_json::ExplainArgs,
    failure::{Failure, Result},
    output::{Format, Output},
    session::Session,
    tpch::TpchCommand,
};

/// What `--help` and the manual page end with.
const EXAMPLES: &str = "\
Examples:
  nearscan                                      the interactive shell
  nearscan data/*.parquet                       the same, with a table of each file
  nearscan -c \"FROM 'lineitem.parquet' LIMIT 5\"
  nearscan -f report.sql -o report.csv lineitem.parquet
  nearscan --format json -c 'SELECT 1 AS one' | jq .
  nearscan --drive emulated: --timer -c \"SELECT count(*) FROM 'lineitem.parquet'\"
  nearscan tpch run --scale-factor 1 --query 6
  nearscan completions bash > ~/.local/share/bash-completion/completions/nearscan
  nearscan man | man -l -

Files:
  ~/.config/nearscan/init.sql      runs when the interactive shell starts
  ~/.local/state/nearscan/history  its statements, without secrets

Environment:
  NO_COLOR                 no colours
  NEARSCAN_PAGER, PAGER    the pager of long results";

/// SQL over Parquet files, with scans, filters and aggregates pushed down to the drive
///
/// Without -c, -f and a script on standard input, nearscan reads statements from the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "nearscan",
    version,
    subcommand_negates_reqs = true,
    after_long_help = EXAMPLES
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Files, folders or URLs to query: lineitem.parquet becomes table lineitem, a folder one table
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) data: Vec<PathBuf>,

    /// Run a statement or several and exit; may repeat
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    commands: Vec<String>,

    /// Run a script and exit; may repeat
    #[arg(short = 'f', long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Form of results [default: table on a terminal, what FILE of --output says, else csv]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,

    /// Write results to a file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Print the time of each statement to standard error
    #[arg(long)]
    pub(crate) timer: bool,

    /// Do not run the start-up file of the interactive shell
    #[arg(long)]
    pub(crate) no_init: bool,

    /// Go on after a statement that failed; the exit status is still 1
    #[arg(long)]
    pub(crate) continue_on_error: bool,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,

    /// The arguments of -c and -f, in order.
    #[arg(skip)]
    inputs: Vec<Input>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Make TPC-H data, run its queries and check the answers
    #[command(subcommand)]
    Tpch(TpchCommand),
    /// Show which drives there are, and what one of them can run
    #[command(subcommand)]
    Drive(DriveCommand),
    /// Install applications on the storage server of --drive, call and watch them
    #[command(subcommand)]
    App(AppCommand),
    /// Print the plan of a statement, and what was decided about each scan, as JSON
    ExplainJson(ExplainArgs),
    /// Print a script that lets a shell complete the arguments of nearscan
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

/// Something to run before exiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Command(String),
    File(PathBuf),
}

impl Cli {
    /// Reads the arguments of the process; prints what is wrong with them, or help, and exits.
    pub(crate) fn read() -> Self {
        let matches = Self::command().get_matches();
        Self::from_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    fn from_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut cli = Self::from_arg_matches(matches)?;
        let at = |name| matches.indices_of(name).into_iter().flatten();
        let commands = cli.commands.iter().cloned().map(Input::Command);
        let files = cli.files.iter().cloned().map(Input::File);
        let mut inputs: Vec<(usize, Input)> = at("commands").zip(commands).collect();
        inputs.extend(at("files").zip(files));
        inputs.sort_by_key(|(index, _)| *index);
        cli.inputs = inputs.into_iter().map(|(_, input)| input).collect();
        Ok(cli)
    }

    /// Makes the engine, its tables and the output that the command line requests.
    pub(crate) async fn session(&self, queries: &Handle) -> Result<Session> {
        let output = Output::open(self.format, self.output.as_deref())?;
        let engine = self.engine.open().await.map_err(|error| Failure::usage(&error))?;
        data::register(&engine, &self.data).await?;
        let mut session = Session::over(engine, output, self.engine.progress, queries);
        session.timer = if self.timer { Timer::On } else { Timer::Off };
        session.on_error = if self.continue_on_error { OnError::Continue } else { OnError::Stop };
        Ok(session)
    }

    /// The arguments of `-c` and `-f`, in the order of the command line.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        self.inputs.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// The words of random command lines.
    const WORDS: &str = "-c -f --command --file --command=SELECT -fx.sql -c= --format csv -o \
        --format=json --output --timer --timer=on --no-init --set nearscan.pushdown.mode=off \
        a=b=c = --memory-limit 4GiB 1e300 -1 nan --threads 0 18446744073709551616 \
        --temp-directory --progress auto --drive emulated: --continue-on-error --help --version \
        -- - --- tpch run generate --scale-factor 0.01 --query 6 drive list serve check bench \
        kernels io --depth --block-bytes explain-json x.parquet -co -cf";

    fn word() -> impl Strategy<Value = String> {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        prop_oneof![4 => select(words).prop_map(str::to_owned), 1 => ".{0,9}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn any_arguments_are_parsed_or_refused_with_a_message(
            words in vec(word(), 0..9)
        ) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match read(&words) {
                Err(error) => prop_assert!(!error.to_string().is_empty()),
                Ok(cli) => {
                    // Each -c and -f is there once, those of a kind in their order.
                    let inputs = cli.inputs();
                    let of = |input: &Input| match input {
                        Input::Command(text) => Some(text.clone()),
                        Input::File(_) => None,
                    };
                    let commands: Vec<String> = inputs.iter().filter_map(of).collect();
                    prop_assert_eq!(&commands, &cli.commands);
                    prop_assert_eq!(inputs.len(), cli.commands.len() + cli.files.len());
                }
            }
        }
    }

    fn read(arguments: &[&str]) -> Result<Cli, clap::Error> {
        let arguments = std::iter::once(&"nearscan").chain(arguments);
        Cli::from_matches(&Cli::command().try_get_matches_from(arguments)?)
    }

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn commands_and_files_keep_their_order() {
        let cli = read(&["-c", "a", "-f", "b", "x.parquet", "--command", "c", "-f", "d"]);
        let command = |text: &str| Input::Command(text.to_owned());
        let file = |text: &str| Input::File(text.into());
        let cli = cli.unwrap();
        assert_eq!(cli.inputs(), [command("a"), file("b"), command("c"), file("d")]);
        assert_eq!(cli.data, [PathBuf::from("x.parquet")]);
    }

    #[test]
    fn engine_options_may_follow_a_subcommand() {
        let arguments = ["tpch", "run", "--scale-factor", "1", "--drive", "emulated"];
        let cli = read(&[&arguments[..], &["--set", "nearscan.pushdown.mode=force"]].concat());
        let engine = cli.unwrap().engine;
        assert_eq!(engine.drive, ["emulated"]);
        assert_eq!(engine.set, [("nearscan.pushdown.mode".to_owned(), "force".to_owned())]);
    }

    #[test]
    fn refuses_invalid_values() {
        for arguments in [
            ["--set", "mode"],
            ["--set", "=1"],
            ["--memory-limit", "much"],
            ["--memory-limit", "0"],
            ["--threads", "0"],
            ["--format", "xml"],
        ] {
            assert!(read(&arguments).is_err(), "{arguments:?}");
        }
    }
}
