//! Texts of `postgresql.conf` and `pg_hba.conf`. Pure.
//!
//! The settings of a spec come first and ours last, where the last of a name wins; the
//! names in [`OWNED`] must therefore be refused in a spec, not silently overridden.

use super::node::Transport;

/// The settings that belong to the runner: it must reach the server and read its log.
pub const OWNED: [&str; 10] = [
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "unix_socket_permissions",
    "logging_collector",
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "external_pid_file",
];

/// How a server is reached.
#[derive(Clone, Copy, Debug)]
pub struct Reach<'a> {
    /// The private folder of its socket.
    pub socket_folder: &'a str,
    /// The port, which also names the socket file.
    pub port: u16,
    /// Whether it listens on 127.0.0.1 too.
    pub transport: Transport,
}

/// What is appended to the `postgresql.conf` that `initdb` wrote: `settings` in their
/// order, then our own lines.
pub fn postgresql_conf(settings: &[(String, String)], reach: &Reach<'_>) -> String {
    let listen = match reach.transport {
        Transport::Unix => "",
        Transport::Tcp => "127.0.0.1",
    };
    let port = reach.port.to_string();
    let own = [
        ("listen_addresses", listen),
        ("port", &port),
        ("unix_socket_directories", reach.socket_folder),
        ("logging_collector", "off"),
    ];
    let mut text = String::from("\n# settings of the spec\n");
    for (name, value) in settings {
        text.push_str(&line(name, value));
    }
    text.push_str("\n# how the runner reaches this server\n");
    for (name, value) in own {
        text.push_str(&line(name, value));
    }
    text
}

/// One line: the value always quoted, since units and signs are syntax errors without.
fn line(name: &str, value: &str) -> String {
    format!("{name} = {}\n", quoted(value))
}

/// A value in single quotes as `guc-file.l` reads it: quotes and backslashes doubled, line
/// ends and tabs as escapes (a raw line end would end the setting).
fn quoted(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('\'');
    for c in value.chars() {
        match c {
            '\'' => text.push_str("''"),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c => text.push(c),
        }
    }
    text.push('\'');
    text
}

/// The `pg_hba.conf`: whoever can enter the socket's 0700 folder is trusted; 127.0.0.1 needs
/// the random password, since every local user can connect there.
pub fn pg_hba_conf(transport: Transport) -> String {
    let mut text = String::from(
        "# TYPE  DATABASE     USER  ADDRESS       METHOD\n\
         local   all          all                 trust\n\
         local   replication  all                 trust\n",
    );
    if transport == Transport::Tcp {
        text.push_str(
            "host    all          all   127.0.0.1/32  scram-sha-256\n\
             host    replication  all   127.0.0.1/32  scram-sha-256\n",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REACH: Reach<'_> = Reach { socket_folder: "/tmp/runner-x/s", port: 5433, transport: Transport::Unix };

    #[test]
    fn values_are_quoted_and_ours_come_last() {
        let settings = [
            ("search_path".to_owned(), r#""$user", it's\x"#.to_owned()),
            ("shared_buffers".to_owned(), "256MB".to_owned()),
        ];
        let text = postgresql_conf(&settings, &REACH);
        let lines: Vec<&str> = text.lines().filter(|l| l.contains('=')).collect();
        assert_eq!(lines[0], r#"search_path = '"$user", it''s\\x'"#);
        assert_eq!(lines[1], "shared_buffers = '256MB'");
        assert_eq!(lines[2], "listen_addresses = ''");
        assert_eq!(lines[3], "port = '5433'");
    }

    #[test]
    fn tcp_is_opened_only_when_asked_and_only_with_a_password() {
        assert!(!pg_hba_conf(Transport::Unix).contains("host "));
        let tcp = pg_hba_conf(Transport::Tcp);
        assert!(tcp.lines().filter(|l| l.starts_with("host")).all(|l| l.contains("scram")));
    }

    proptest! {
        #[test]
        fn a_value_can_never_leave_its_line_or_its_quotes(value in "[ -~\n\r\té'\\\\]{0,30}") {
            let text = quoted(&value);
            prop_assert!(!text.contains('\n'));
            // Read back as the server's scanner does.
            let inner = &text[1..text.len() - 1];
            let mut back = String::new();
            let mut chars = inner.chars();
            while let Some(c) = chars.next() {
                back.push(match c {
                    '\'' => { prop_assert_eq!(chars.next(), Some('\'')); '\'' }
                    '\\' => match chars.next() { Some('n') => '\n', Some('r') => '\r', Some(c) => c, None => '?' },
                    c => c,
                });
            }
            prop_assert_eq!(back, value);
        }
    }
}
