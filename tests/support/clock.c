/* A wall clock that a test can set: seconds to add stand in the file that TEST_CLOCK names. Every other clock is left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    const char *path = getenv("TEST_CLOCK");
    if (result != 0 || clock != CLOCK_REALTIME || path == NULL) return result;
    char text[32] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return result;
    if (read(file, text, sizeof text - 1) > 0) now->tv_sec += strtoll(text, NULL, 10);
    close(file);
    return result;
}
