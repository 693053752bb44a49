/* Loads the tracer as the driver does, and plays one scenario of driver calls: scenario TRACER FAKE NAME. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*call)(const char *, const void *, int, const char *, uint32_t);
static void (*kernel)(uint32_t, const char *, uint64_t);
static void (*copy)(uint32_t, uint8_t, uint64_t, uint64_t);

static int launch(const char *name, int result, uint32_t correlation) {
    struct {
        const void *function;
        unsigned sizes[6], shared;
        void *stream;
    } params = {name, {4096, 1, 1, 256, 1, 1}, 0, NULL};
    return call("cuLaunchKernel", &params, result, name, correlation);
}

static int move(const char *function, uint64_t bytes, uint32_t correlation) {
    struct {
        uint64_t to, from, bytes;
        void *stream;
    } params = {16, 32, bytes, NULL};
    return call(function, &params, 0, NULL, correlation);
}

static void *launch_some(void *name) {
    for (uint32_t at = 0; at < 500; at++) launch(name, 0, at);
    return NULL;
}

static int play(const char *name) {
    if (strcmp(name, "usual") == 0) {
        call("cuModuleLoadDataEx", NULL, 0, NULL, 1);
        move("cuMemcpyHtoD_v2", 4096, 2);
        launch("add_one", 0, 3);
        launch("add_one", 0, 4);
        launch("refused_one", 1, 5);
        call("cuGraphLaunch", NULL, 0, NULL, 6);
        move("cuMemcpyDtoHAsync_v2", 4096, 7);
        move("cuMemcpyAsync", 64, 8);
        kernel(3, "add_one", 1500);
        kernel(4, "add_one", 1600);
        kernel(6, "in_graph", 700);
        copy(2, 1, 4096, 900);
        copy(8, 2, 64, 100);
        return 0;
    }
    if (strcmp(name, "killed") == 0) {
        for (uint32_t at = 0; at < 100; at++) launch("add_one", 0, at);
        raise(SIGKILL);
    }
    if (strcmp(name, "left") == 0) {
        launch("add_one", 0, 1);
        _exit(0);
    }
    if (strcmp(name, "forked") == 0) {
        launch("parent", 0, 1);
        pid_t child = fork();
        if (!child) {
            launch("child", 0, 2);
            exit(0);
        }
        waitpid(child, NULL, 0);
        return 0;
    }
    if (strcmp(name, "threads") == 0) {
        pthread_t threads[4];
        char *names[] = {"one", "two", "three", "four"};
        for (int at = 0; at < 4; at++) pthread_create(&threads[at], NULL, launch_some, names[at]);
        for (int at = 0; at < 4; at++) pthread_join(threads[at], NULL);
        return 0;
    }
    if (strcmp(name, "managed") == 0) {
        call("cuMemAllocManaged", NULL, 0, NULL, 1);
        call("cuMemHostGetDevicePointer_v2", NULL, 0, NULL, 2);
        return call("cuLaunchHostFunc", NULL, 0, NULL, 3);
    }
    if (strcmp(name, "newline") == 0) {
        launch("evil\nE 0 0", 0, 1);
        return 0;
    }
    return 9;
}

int main(int count, char **arguments) {
    if (count != 4) return 8;
    void *tracer = dlopen(arguments[1], RTLD_NOW), *fake = dlopen(arguments[2], RTLD_NOW);
    if (!tracer || !fake) return fprintf(stderr, "%s\n", dlerror()), 7;
    *(void **)&call = dlsym(fake, "fake_call");
    *(void **)&kernel = dlsym(fake, "fake_kernel");
    *(void **)&copy = dlsym(fake, "fake_copy");
    int (*start)(void);
    *(void **)&start = dlsym(tracer, "InitializeInjection");
    start();
    start();
    return play(arguments[3]);
}
