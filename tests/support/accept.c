/* Makes the task that accepts connections panic, once the file that TEST_ACCEPT names is there: accepting fails as if there were no descriptors left, and
   the clock that is read to tell so fails too, which the standard library takes for impossible. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Thread_local int clock_fails = 0;

int accept4(int listener, struct sockaddr *address, socklen_t *size, int flags) {
    const char *path = getenv("TEST_ACCEPT");
    if (path == NULL || access(path, F_OK) != 0) return (int)syscall(SYS_accept4, listener, address, size, flags);
    clock_fails = 1;
    errno = EMFILE;
    return -1;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!clock_fails) return (int)syscall(SYS_clock_gettime, clock, now);
    clock_fails = 0;
    errno = EINVAL;
    return -1;
}
