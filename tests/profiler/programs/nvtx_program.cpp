// SPDX-License-Identifier: Apache-2.0
// A program with NVTX ranges and no GPU: what the injection library is loaded into. Each word of its command
// line is a thing to do.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

void Ranges(const char* name) {
  nvtxRangePushA(name);
  nvtxRangePushA("inner");
  nvtxRangePop();
  nvtxRangePop();
}

void Domains() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xff00ff00;
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxDomainRangePop(domain);
  nvtxRangePushW(L"wide \u00e9");
  nvtxRangePop();
  const nvtxRangeId_t range = nvtxRangeStartA("started");
  std::thread([range] { nvtxRangeEnd(range); }).join();
  nvtxMarkA("mark");
}

void Fork() {
  nvtxRangePushA("parent");
  const pid_t child = fork();
  if (child == 0) {
    Ranges("child");
    std::exit(0);
  }
  int how = 0;
  waitpid(child, &how, 0);
  nvtxRangePop();
}

// Does what CUDA does in cuInit.
void InitializeCuda() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  auto* initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) std::printf("injection %d\n", initialize());
}

void CloseDescriptors() {
  for (int descriptor = 3; descriptor < 1024; ++descriptor) close(descriptor);
}

// Two minutes at most.
void Await(const char* path) {
  for (int i = 0; i < 12000 && access(path, F_OK) != 0; ++i) usleep(10000);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "ranges") Ranges("outer");
    if (word == "window") Ranges("window");
    if (word == "domains") Domains();
    if (word == "fork") Fork();
    if (word == "cuda") InitializeCuda();
    if (word == "close") CloseDescriptors();
    if (word == "flush") usleep(600000);
    if (word == "wait") usleep(300000000);
    if (word == "print") std::printf("hello\n"), std::fflush(stdout);
    if (word == "abort") std::abort();
    if (word == "kill") kill(getpid(), SIGKILL);
    if (word == "exit7") return 7;
    if (word == "_exit") _exit(0);
    if (word.starts_with("await=")) Await(word.c_str() + 6);
  }
  return 0;
}
