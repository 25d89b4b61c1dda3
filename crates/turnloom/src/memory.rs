//! Returns freed memory to the system. The C library keeps what was freed in case it is needed again; after a burst of sessions that is most of the
//! daemon's memory, and the daemon may then be idle for hours.

/// Gives what is free back to the operating system. It takes some milliseconds, so not on a thread that others wait for.
pub(crate) fn release_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "the C library's own call, which has no safe form")]
    // SAFETY: it takes no pointer, and may be called from any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
