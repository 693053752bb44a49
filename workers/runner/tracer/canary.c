/* Launches one kernel, so that a batch knows whether the tracer sees launches here. It opens the driver itself
 * and needs neither headers nor libraries of CUDA. Exit: 0 launched, 2 no driver, 3 a driver call failed. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

static const char PTX[] = ".version 6.0\n"
                          ".target sm_50\n"
                          ".address_size 64\n"
                          ".visible .entry ferroaudit_canary(.param .u64 out)\n"
                          "{\n"
                          "    .reg .b64 %rd<3>;\n"
                          "    .reg .b32 %r<2>;\n"
                          "    ld.param.u64 %rd1, [out];\n"
                          "    cvta.to.global.u64 %rd2, %rd1;\n"
                          "    mov.u32 %r1, 42;\n"
                          "    st.global.u32 [%rd2], %r1;\n"
                          "    ret;\n"
                          "}\n";

static void *driver;

/* Calls a driver function of up to eleven word-sized arguments, and says which one failed. */
#define CALL(name, ...)                                                                  \
    do {                                                                                 \
        *(void **)&call = dlsym(driver, name);                                           \
        int result = call ? call(__VA_ARGS__) : -1;                                      \
        if (result != 0) {                                                               \
            printf("canary: %s returned %d\n", name, result);                            \
            return 3;                                                                    \
        }                                                                                \
    } while (0)

int main(void) {
    int (*call)() = NULL;
    int device = 0;
    void *context = NULL, *module = NULL, *function = NULL;
    uint64_t memory = 0;
    unsigned value = 0;
    void *arguments[] = {&memory};

    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        printf("canary: %s\n", dlerror());
        return 2;
    }
    CALL("cuInit", 0u);
    CALL("cuDeviceGet", &device, 0);
    CALL("cuDevicePrimaryCtxRetain", &context, device);
    CALL("cuCtxSetCurrent", context);
    CALL("cuModuleLoadData", &module, PTX);
    CALL("cuModuleGetFunction", &function, module, "ferroaudit_canary");
    CALL("cuMemAlloc_v2", &memory, (size_t)4);
    CALL("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, (void *)NULL, arguments, (void **)NULL);
    CALL("cuMemcpyDtoH_v2", &value, memory, (size_t)4);
    CALL("cuMemFree_v2", memory);
    printf("canary: the device wrote %u\n", value);
    return value == 42 ? 0 : 3;
}
