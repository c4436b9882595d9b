//! The systemd units in `docs/`, and the options of the programs on their pages.

use host_desktop::options::Parsed;
use host_relay::options as relay;
use host_sim::options::sim;
use host_zwave::options::Options;

use crate::{page, root, rows};

/// Where the pages say that the Z-Wave controller is installed.
const ZWAVE: &str = "/usr/local/bin/hearthwave-zwave";

/// Where the pages say that the relay is installed.
const RELAY: &str = "/usr/local/bin/hearthwave-relay";

/// The options of a Z-Wave command line, which have to be valid.
fn parse(line: &str, arguments: &str) -> Options {
    match Options::parse(arguments.split_whitespace().map(Into::into)) {
        Ok(Parsed::Run(options)) => options,
        Ok(Parsed::Print(_)) => panic!("{line}: it does not run anything"),
        Err(error) => panic!("{line}: {error}"),
    }
}

/// The options of a relay's command line, which have to be valid with this environment.
fn parse_relay(line: &str, arguments: &str, variable: impl Fn(&str) -> Option<String>) -> relay::Options {
    match relay::parse(arguments.split_whitespace().map(Into::into), variable) {
        Ok(Parsed::Run(options)) => options,
        Ok(Parsed::Print(_)) => panic!("{line}: it does not run anything"),
        Err(error) => panic!("{line}: {error}"),
    }
}

#[test]
fn units_start_programs_with_valid_options() {
    let mut started = Vec::new();
    for entry in std::fs::read_dir(root().join("docs")).expect("docs") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "service") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        for command in text.lines().filter_map(|line| line.strip_prefix("ExecStart=")) {
            let (program, arguments) = command.split_once(' ').expect("arguments");
            match program {
                ZWAVE => assert!(parse(command, arguments).server.is_some(), "{command}: a simulated home"),
                RELAY => {
                    let options = parse_relay(command, arguments, |_| None);
                    assert!(options.relay.models.iter().count() > 0, "{command}: no provider");
                }
                program if program.contains("hearthwave") => {
                    panic!("{}: this test does not know the program", path.display())
                }
                _ => continue,
            }
            started.push(program.to_owned());
        }
    }
    started.sort();
    assert_eq!(started, [RELAY, ZWAVE]);
}

/// The names of the long options in a help text, in its order.
fn options_in(help: &str) -> Vec<&str> {
    help.lines().filter_map(|line| line.strip_prefix("  --")?.split_whitespace().next()).collect()
}

/// The names of the long options in the tables of a page.
fn options_on(page: &str) -> Vec<&str> {
    let rows = rows(page, &["option", "does"]).into_iter();
    rows.filter_map(|row| row[0].strip_prefix("`--")?.split([' ', '`']).next()).collect()
}

#[test]
fn pages_list_the_options_of_their_programs() {
    let help = || [std::ffi::OsString::from("--help")];
    for (name, printed) in [
        ("simulator.md", sim::Options::parse(help()).map(text_of)),
        ("relay.md", relay::parse(help(), |_| None).map(text_of)),
        ("zwave.md", Options::parse(help()).map(text_of)),
    ] {
        let (page, printed) = (page(name), printed.expect("the help"));
        let (mut shown, mut offered) = (options_on(&page), options_in(&printed));
        shown.sort_unstable();
        offered.sort_unstable();
        assert_eq!(shown, offered, "docs/{name} and --help list different options");
    }
}

/// A printed text.
fn text_of<T>(parsed: Parsed<T>) -> String {
    match parsed {
        Parsed::Print(text) => text,
        Parsed::Run(_) => panic!("it would run"),
    }
}

#[test]
fn commands_on_the_zwave_page_are_valid() {
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
        let files = text.split("--scenes ").skip(1);
        let files: Vec<_> = files.filter(|file| !file.starts_with("FILE`")).collect();
        assert!(
            !files.is_empty() && files.iter().all(|file| file.starts_with("/etc/hearthwave/scenes.json"))
        );
    }
}

#[test]
fn commands_on_the_relay_pages_are_valid() {
    for name in ["relay.md", "voice.md"] {
        let text = page(name);
        let lines: Vec<_> = text.lines().filter_map(|line| line.split_once("cargo relay --broker")).collect();
        assert!(!lines.is_empty(), "{name}");
        for (_, arguments) in lines {
            let arguments = format!("--broker{arguments}");
            // A certificate is read where it is used.
            let arguments =
                arguments.replace("mqtts://", "mqtt://").replace(" --ca ca.crt", "").replace('\'', "");
            parse_relay(&arguments, &arguments, |_| None);
        }
    }
}
