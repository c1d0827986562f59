/* Loaded before the C library into a process that is to die at a write: it counts what the process writes below one
   folder, and kills the process before the one whose number it was given, or in the middle of it.

   What a process has written stays written when it is killed, so that waiting for the disk is no moment of its own; it is
   left out, which makes the tests fast. What goes past the C library is not seen. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int armed;
static int torn;
static long number;
static char below[PATH_MAX];
static int told = -1;
static atomic_long count;

__attribute__((constructor)) static void arm(void) {
    char self[PATH_MAX];
    const char *victim = getenv("KILLED_VICTIM"), *folder = getenv("KILLED_BELOW"), *at = getenv("KILLED_AT");
    const char *list = getenv("KILLED_LIST");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!victim || !folder || !at || length < 0) return;
    self[length] = 0;
    /* Programs that it starts, such as git, are not the victim. */
    if (strcmp(self, victim) != 0) return;
    snprintf(below, sizeof below, "%s", folder);
    number = atol(at);
    torn = getenv("KILLED_TORN") != NULL;
    if (list) told = (int)syscall(SYS_openat, AT_FDCWD, list, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    /* Nor are those of its own kind that it starts. */
    unsetenv("KILLED_VICTIM");
    armed = 1;
}

static int is_below(const char *path) {
    char whole[PATH_MAX];
    if (!armed || !path) return 0;
    if (path[0] == '/') return strncmp(path, below, strlen(below)) == 0;
    return getcwd(whole, sizeof whole) && strncmp(whole, below, strlen(below)) == 0;
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return path[0] == '/' && strncmp(path, below, strlen(below)) == 0;
}

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

/* Whether this one is to be done by half. */
static int at(const char *what, const char *path, int may_be_torn) {
    long now = atomic_fetch_add(&count, 1) + 1;
    if (told >= 0) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%s %s\n", what, path);
        if (syscall(SYS_write, told, line, length) < 0) abort();
    }
    if (now != number) return 0;
    if (torn && may_be_torn) return 1;
    die();
    return 0;
}

/* What it answers with, wherever it has moved its output to. */
static int is_pipe(int fd) {
    struct stat about;
    return fd != 2 && fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
}

static int at_fd(int fd, const char *what, size_t size) {
    char path[PATH_MAX];
    if (!armed) return 0;
    if (fd == 1 || is_pipe(fd)) return at("say", "-", 0);
    return path_of(fd, path) ? at(what, path, size > 1) : 0;
}

#define REAL(type, name) \
    static __typeof__(type) real; \
    if (!real) real = (type)dlsym(RTLD_NEXT, name)

static void opens(const char *path, int flags) {
    if (!is_below(path) || !(flags & (O_CREAT | O_TRUNC))) return;
    if (flags & O_TRUNC || access(path, F_OK) != 0) at("open", path, 0);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        opens(path, flags); \
        REAL(int (*)(const char *, int, ...), #name); \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        opens(path, flags); \
        REAL(int (*)(int, const char *, int, ...), #name); \
        return real(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *bytes, size_t size) {
    int half = at_fd(fd, "write", size);
    REAL(ssize_t (*)(int, const void *, size_t), "write");
    ssize_t written = real(fd, bytes, half ? size / 2 : size);
    if (half) die();
    return written;
}

ssize_t writev(int fd, const struct iovec *parts, int many) {
    at_fd(fd, "writev", 0);
    REAL(ssize_t (*)(int, const struct iovec *, int), "writev");
    return real(fd, parts, many);
}

#define PWRITE(name) \
    ssize_t name(int fd, const void *bytes, size_t size, off_t place) { \
        at_fd(fd, "pwrite", 0); \
        REAL(ssize_t (*)(int, const void *, size_t, off_t), #name); \
        return real(fd, bytes, size, place); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define TRUNCATE(name) \
    int name(int fd, off_t size) { \
        at_fd(fd, "ftruncate", 0); \
        REAL(int (*)(int, off_t), #name); \
        return real(fd, size); \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define ONE(name, declared, called, path) \
    int name declared { \
        if (is_below(path)) at(#name, path, 0); \
        REAL(int (*) declared, #name); \
        return real called; \
    }
ONE(unlink, (const char *path), (path), path)
ONE(unlinkat, (int folder, const char *path, int flags), (folder, path, flags), path)
ONE(rmdir, (const char *path), (path), path)
ONE(mkdir, (const char *path, mode_t mode), (path, mode), path)
ONE(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), path)
ONE(chmod, (const char *path, mode_t mode), (path, mode), path)
ONE(rename, (const char *from, const char *to), (from, to), to)
ONE(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), to)
ONE(renameat2, (int a, const char *from, int b, const char *to, unsigned how), (a, from, b, to, how), to)
ONE(link, (const char *from, const char *to), (from, to), to)
ONE(linkat, (int a, const char *from, int b, const char *to, int how), (a, from, b, to, how), to)
ONE(symlink, (const char *from, const char *to), (from, to), to)

int fsync(int fd) {
    if (armed) return 0;
    REAL(int (*)(int), "fsync");
    return real(fd);
}

int fdatasync(int fd) {
    if (armed) return 0;
    REAL(int (*)(int), "fdatasync");
    return real(fd);
}
