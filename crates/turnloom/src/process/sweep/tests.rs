use super::*;

fn check(environ: &str, daemon: Option<&str>, session: Option<&str>) {
    let expected = Cookies { daemon: daemon.map(str::as_bytes), session: session.map(str::as_bytes) };
    assert_eq!(Cookies::in_environment(environ.as_bytes()), expected, "{environ:?}");
}

#[test]
fn cookies_are_whole_entries() {
    check("", None, None);
    check("PATH=/bin\0TURNLOOM_SESSION=s\0TURNLOOM_DAEMON=d\0", Some("d"), Some("s"));
    check("TURNLOOM_DAEMON=d\0TURNLOOM_SESSION=s", Some("d"), Some("s"));
    check("TURNLOOM_SESSION=s-longer\0", None, Some("s-longer"));
    check("TURNLOOM_SESSION_ID=s\0MY_TURNLOOM_SESSION=s\0TURNLOOM_SESSION\0", None, None);
    check("TEXT=TURNLOOM_SESSION=s\0", None, None);
    check("TURNLOOM_SESSION=a=b\nc\0", None, Some("a=b\nc"));
    check("TURNLOOM_SESSION=\0", None, Some(""));
}

#[test]
fn nobody_is_found_for_a_run_that_never_was() {
    assert_eq!(sweep_daemon(&Instance::random()), Swept::Clean);
}
