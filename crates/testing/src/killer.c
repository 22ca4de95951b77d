// Loaded before a program, this kills it at the n-th call that changes a file or sends a message (KILL_AT; 0 for none),
// and writes to KILL_COUNT how many there were. These are the calls by which the program and what is linked into it
// write, make, cut, rename and remove files and send messages; between two of them nothing changes that anybody could
// see but memory mapped from a file (SQLite's index of its log, which it makes anew). What the C library does inside
// itself does not pass here.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static atomic_long calls;
static void step(void) {
    static atomic_long at = -1;
    if (at < 0) at = getenv("KILL_AT") ? atol(getenv("KILL_AT")) : 0;
    if (atomic_fetch_add(&calls, 1) + 1 == at) kill(getpid(), SIGKILL);
}
#define FIND(name) static __typeof__(name) *next; if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);
#define NEXT(name) FIND(name) step();
// Opening makes or empties a file with these flags, and otherwise changes nothing.
#define OPEN(name, before, call) FIND(name) mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
    if (flags & (O_CREAT | O_TRUNC)) step(); return call;
int open(const char *a, int flags, ...) { OPEN(open, a, next(a, flags, mode)) }
int open64(const char *a, int flags, ...) { OPEN(open64, a, next(a, flags, mode)) }
int openat(int d, const char *a, int flags, ...) { OPEN(openat, a, next(d, a, flags, mode)) }
int openat64(int d, const char *a, int flags, ...) { OPEN(openat64, a, next(d, a, flags, mode)) }
int creat(const char *a, mode_t b) { NEXT(creat) return next(a, b); }
ssize_t pwritev(int a, const struct iovec *b, int c, off_t d) { NEXT(pwritev) return next(a, b, c, d); }
ssize_t pwritev64(int a, const struct iovec *b, int c, off64_t d) { NEXT(pwritev64) return next(a, b, c, d); }
ssize_t sendto(int a, const void *b, size_t c, int d, const struct sockaddr *e, socklen_t f) { NEXT(sendto) return next(a, b, c, d, e, f); }
ssize_t sendmsg(int a, const struct msghdr *b, int c) { NEXT(sendmsg) return next(a, b, c); }
ssize_t sendfile(int a, int b, off_t *c, size_t d);
ssize_t sendfile(int a, int b, off_t *c, size_t d) { NEXT(sendfile) return next(a, b, c, d); }
ssize_t sendfile64(int a, int b, off64_t *c, size_t d);
ssize_t sendfile64(int a, int b, off64_t *c, size_t d) { NEXT(sendfile64) return next(a, b, c, d); }
ssize_t copy_file_range(int a, off64_t *b, int c, off64_t *d, size_t e, unsigned f) { NEXT(copy_file_range) return next(a, b, c, d, e, f); }
int fallocate(int a, int b, off_t c, off_t d) { NEXT(fallocate) return next(a, b, c, d); }
int fallocate64(int a, int b, off64_t c, off64_t d) { NEXT(fallocate64) return next(a, b, c, d); }
int posix_fallocate(int a, off_t b, off_t c) { NEXT(posix_fallocate) return next(a, b, c); }
int posix_fallocate64(int a, off64_t b, off64_t c) { NEXT(posix_fallocate64) return next(a, b, c); }
int renameat(int a, const char *b, int c, const char *d) { NEXT(renameat) return next(a, b, c, d); }
int renameat2(int a, const char *b, int c, const char *d, unsigned e) { NEXT(renameat2) return next(a, b, c, d, e); }
int unlinkat(int a, const char *b, int c) { NEXT(unlinkat) return next(a, b, c); }
int symlink(const char *a, const char *b) { NEXT(symlink) return next(a, b); }
int mkdirat(int a, const char *b, mode_t c);
int mkdirat(int a, const char *b, mode_t c) { NEXT(mkdirat) return next(a, b, c); }
int rmdir(const char *a) { NEXT(rmdir) return next(a); }
ssize_t write(int a, const void *b, size_t c) { NEXT(write) return next(a, b, c); }
ssize_t writev(int a, const struct iovec *b, int c) { NEXT(writev) return next(a, b, c); }
ssize_t pwrite(int a, const void *b, size_t c, off_t d) { NEXT(pwrite) return next(a, b, c, d); }
ssize_t pwrite64(int a, const void *b, size_t c, off64_t d) { NEXT(pwrite64) return next(a, b, c, d); }
ssize_t send(int a, const void *b, size_t c, int d);
ssize_t send(int a, const void *b, size_t c, int d) { NEXT(send) return next(a, b, c, d); }
int ftruncate(int a, off_t b) { NEXT(ftruncate) return next(a, b); }
int ftruncate64(int a, off64_t b) { NEXT(ftruncate64) return next(a, b); }
int fsync(int a) { NEXT(fsync) return next(a); }
int fdatasync(int a) { NEXT(fdatasync) return next(a); }
int rename(const char *a, const char *b) { NEXT(rename) return next(a, b); }
int unlink(const char *a) { NEXT(unlink) return next(a); }
int link(const char *a, const char *b) { NEXT(link) return next(a, b); }
int linkat(int a, const char *b, int c, const char *d, int e) { NEXT(linkat) return next(a, b, c, d, e); }
int mkdir(const char *a, mode_t b);
int mkdir(const char *a, mode_t b) { NEXT(mkdir) return next(a, b); }
__attribute__((destructor)) static void ended(void) {
    // What follows is not the program's.
    long all = atomic_load(&calls);
    char *name = getenv("KILL_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) fprintf(file, "%ld", all), fclose(file);
}
