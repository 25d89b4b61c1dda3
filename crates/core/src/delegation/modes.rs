//! How loose modes are. Nobody may have somebody else do what they may not do themselves.

/// From the strictest on: what only reads, what asks, what edits by itself, what asks nobody.
const ORDER: [&[&str]; 4] = [
    &["plan", "read-only"],
    &["ask", "default"],
    &["implement", "acceptEdits", "accept-edits", "auto", "build", "code"],
    &["bypass", "bypassPermissions", "bypass-permissions", "full-access", "dontAsk"],
];

/// How loose a mode is; not known of those that people have made. Without a mode agents ask.
pub fn looseness(mode: Option<&str>) -> Option<usize> {
    let mode = mode.unwrap_or("default");
    ORDER.iter().position(|modes| modes.contains(&mode))
}

/// Whether a session in one mode may do what one in the other may not. What is not known is, unless it is the same.
pub fn is_looser(child: Option<&str>, parent: Option<&str>) -> bool {
    if child == parent {
        return false;
    }
    match (looseness(child), looseness(parent)) {
        (Some(child), Some(parent)) => child > parent,
        // The strictest is never looser.
        (Some(0), None) => false,
        _ => true,
    }
}
