//! `check --adapter` through the program: its exit codes. `src/check/adapter/tests.rs` has the rules.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::{ended, run_in};

#[test]
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
fn the_exit_code_tells_a_broken_rule_from_silence() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let broken = format!("http://{}", server.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut connection in server.incoming().flatten() {
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        }
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty"), "\n").unwrap();
    for (url, further, expected, text) in [
        (broken.as_str(), &[][..], 3, "fails    absence: "),
        // No server listens on the port of tcpmux.
        ("http://127.0.0.1:1", &[], 2, "does not answer: no connection"),
        ("ftp://127.0.0.1", &[], 3, "--adapter is an http or https URL"),
        ("http://a:b@127.0.0.1", &[], 3, "without credentials"),
        (&broken, &["--state", "3"], 3, "a state is a JSON object"),
        (&broken, &["--state", "{}", "--state", "{}", "--state", "{}"], 3, "may be given twice"),
        (&broken, &["--token-file", "empty"], 3, "empty: a token is one line"),
        (&broken, &["--token-file", "missing"], 3, "missing: "),
        (&broken, &["-o", "json"], 3, "cannot be used with"),
        (&broken, &["targets"], 3, "cannot be used with"),
    ] {
        let arguments = [&["check", "--adapter", url, "--resource", "widgets"], further].concat();
        let (code, printed, said) = ended(run_in(folder.path(), &arguments, ""));
        assert!(code == expected && format!("{printed}{said}").contains(text), "{arguments:?} {code}: {printed}{said}");
    }
}
