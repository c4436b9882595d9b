//! The systemd units in `docs/`, and the command lines of the same program in `docs/zwave.md`.

use host_desktop::options::Parsed;
use host_zwave::options::Options;

use crate::{page, root};

/// Where the pages say that the Z-Wave controller is installed.
const ZWAVE: &str = "/usr/local/bin/hearthwave-zwave";

/// The options of a command line, which have to be valid ones.
fn parse(line: &str, arguments: &str) -> Options {
    match Options::parse(arguments.split_whitespace().map(Into::into)) {
        Ok(Parsed::Run(options)) => options,
        Ok(Parsed::Print(_)) => panic!("{line}: it does not run anything"),
        Err(error) => panic!("{line}: {error}"),
    }
}

#[test]
fn units_start_programs_with_options_that_they_take() {
    let mut started = 0;
    for entry in std::fs::read_dir(root().join("docs")).expect("docs") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "service") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        for command in text.lines().filter_map(|line| line.strip_prefix("ExecStart=")) {
            let (program, arguments) = command.split_once(' ').expect("arguments");
            if !program.contains("hearthwave") {
                continue;
            }
            assert_eq!(program, ZWAVE, "{}: this test does not know the program", path.display());
            let options = parse(command, arguments);
            assert!(options.server.is_some(), "{command}: a simulated home");
            started += 1;
        }
    }
    assert!(started > 0, "no unit starts a program of ours");
}

#[test]
fn the_page_about_zwave_has_options_that_the_program_takes() {
    let text = page("zwave.md");
    let lines: Vec<_> =
        text.lines().filter(|line| line.trim_start().starts_with("hearthwave-zwave ")).collect();
    assert!(!lines.is_empty());
    for line in lines {
        parse(line, line.trim_start().trim_start_matches("hearthwave-zwave "));
    }
    // A unit with ProtectHome=yes and DynamicUser=yes reads no file below /home.
    let unit = page("hearthwave-zwave.service");
    for text in [&text, &unit] {
        let files: Vec<_> = text.split("--scenes ").skip(1).collect();
        assert!(
            !files.is_empty() && files.iter().all(|file| file.starts_with("/etc/hearthwave/scenes.json"))
        );
    }
}
