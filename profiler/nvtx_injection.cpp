// SPDX-License-Identifier: Apache-2.0
// The entry points that CUDA and NVTX look for in the library that CUDA_INJECTION64_PATH and
// NVTX_INJECTION64_PATH name.
#include <elf.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cwchar>
#include <string>
#include <string_view>

#include "profiler/injection.h"

namespace lanescope::profiler {
namespace {

// Gives the text, in code points, as UTF-8.
std::string Narrow(const wchar_t* text) {
  std::string out;
  for (; text != nullptr && *text != 0 && out.size() < 4096; ++text) {
    const auto code = static_cast<uint32_t>(*text);
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      out += static_cast<char>(0xe0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      out += static_cast<char>(0xf0 | (code >> 18 & 7));
      out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return out;
}

std::string_view View(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// Domains and registered strings are handed out as pointers to these, which live as long as the process.
struct Domain {
  uint32_t number = 0;
};
struct RegisteredString {
  std::string text;
};

uint32_t NumberOf(nvtxDomainHandle_t domain) {
  return domain == nullptr ? 0 : reinterpret_cast<const Domain*>(domain)->number;
}

// The attributes with their text as a string of bytes; `storage` keeps what had to be converted.
NvtxRecorder::Attributes Read(const nvtxEventAttributes_t* from, std::string* storage) {
  NvtxRecorder::Attributes to;
  // The part of the structure that is read here is as old as NVTX 3.
  constexpr uint16_t kSize = sizeof(nvtxEventAttributes_t);
  if (from == nullptr || from->size < kSize) return to;
  to.category = from->category;
  to.has_color = from->colorType == NVTX_COLOR_ARGB;
  to.color = from->color;
  switch (from->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      to.text = View(from->message.ascii);
      break;
    case NVTX_MESSAGE_TYPE_UNICODE:
      *storage = Narrow(from->message.unicode);
      to.text = *storage;
      break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (from->message.registered != nullptr) {
        to.text = reinterpret_cast<const RegisteredString*>(from->message.registered)->text;
      }
      break;
    default:
      break;
  }
  return to;
}

NvtxRecorder::Attributes Text(std::string_view text) {
  NvtxRecorder::Attributes attributes;
  attributes.text = text;
  return attributes;
}

// Calls `work` with the recorder; `otherwise` where there is none. Nothing throws into the program.
template <typename Work, typename Result>
Result With(Work work, Result otherwise) noexcept {
  try {
    if (Injection* injection = Injection::Get()) {
      injection->Start();
      return work(injection->nvtx());
    }
  } catch (...) {
    // Without memory the range is lost.
  }
  return otherwise;
}

int NVTX_API PushEx(const nvtxEventAttributes_t* attributes) {
  return With(
      [&](NvtxRecorder& nvtx) {
        std::string storage;
        return nvtx.Push(0, Read(attributes, &storage));
      },
      NVTX_NO_PUSH_POP_TRACKING);
}
int NVTX_API PushA(const char* text) {
  return With([&](NvtxRecorder& nvtx) { return nvtx.Push(0, Text(View(text))); }, NVTX_NO_PUSH_POP_TRACKING);
}
int NVTX_API PushW(const wchar_t* text) {
  return With([&](NvtxRecorder& nvtx) { return nvtx.Push(0, Text(Narrow(text))); },
              NVTX_NO_PUSH_POP_TRACKING);
}
int NVTX_API Pop() {
  return With([](NvtxRecorder& nvtx) { return nvtx.Pop(0); }, NVTX_NO_PUSH_POP_TRACKING);
}
nvtxRangeId_t NVTX_API StartEx(const nvtxEventAttributes_t* attributes) {
  return With(
      [&](NvtxRecorder& nvtx) {
        std::string storage;
        return nvtx.Start(0, Read(attributes, &storage));
      },
      uint64_t{0});
}
nvtxRangeId_t NVTX_API StartA(const char* text) {
  return With([&](NvtxRecorder& nvtx) { return nvtx.Start(0, Text(View(text))); }, uint64_t{0});
}
nvtxRangeId_t NVTX_API StartW(const wchar_t* text) {
  return With([&](NvtxRecorder& nvtx) { return nvtx.Start(0, Text(Narrow(text))); }, uint64_t{0});
}
void NVTX_API End(nvtxRangeId_t range) {
  With([&](NvtxRecorder& nvtx) { return nvtx.End(range), 0; }, 0);
}
void NVTX_API MarkEx(const nvtxEventAttributes_t* attributes) {
  With(
      [&](NvtxRecorder& nvtx) {
        std::string storage;
        nvtx.Mark(0, Read(attributes, &storage));
        return 0;
      },
      0);
}
void NVTX_API MarkA(const char* text) {
  With([&](NvtxRecorder& nvtx) { return nvtx.Mark(0, Text(View(text))), 0; }, 0);
}
void NVTX_API MarkW(const wchar_t* text) {
  With([&](NvtxRecorder& nvtx) { return nvtx.Mark(0, Text(Narrow(text))), 0; }, 0);
}
void NVTX_API NameThreadA(uint32_t thread, const char* name) {
  With([&](NvtxRecorder& nvtx) { return nvtx.NameThread(thread, View(name)), 0; }, 0);
}
void NVTX_API NameThreadW(uint32_t thread, const wchar_t* name) {
  With([&](NvtxRecorder& nvtx) { return nvtx.NameThread(thread, Narrow(name)), 0; }, 0);
}

int NVTX_API DomainPushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return With(
      [&](NvtxRecorder& nvtx) {
        std::string storage;
        return nvtx.Push(NumberOf(domain), Read(attributes, &storage));
      },
      NVTX_NO_PUSH_POP_TRACKING);
}
int NVTX_API DomainPop(nvtxDomainHandle_t domain) {
  return With([&](NvtxRecorder& nvtx) { return nvtx.Pop(NumberOf(domain)); }, NVTX_NO_PUSH_POP_TRACKING);
}
nvtxRangeId_t NVTX_API DomainStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return With(
      [&](NvtxRecorder& nvtx) {
        std::string storage;
        return nvtx.Start(NumberOf(domain), Read(attributes, &storage));
      },
      uint64_t{0});
}
void NVTX_API DomainEnd(nvtxDomainHandle_t, nvtxRangeId_t range) { End(range); }
void NVTX_API DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  With(
      [&](NvtxRecorder& nvtx) {
        std::string storage;
        nvtx.Mark(NumberOf(domain), Read(attributes, &storage));
        return 0;
      },
      0);
}
nvtxDomainHandle_t MakeDomain(std::string_view name) {
  auto* domain = With([&](NvtxRecorder& nvtx) { return new Domain{nvtx.CreateDomain(name)}; },
                      static_cast<Domain*>(nullptr));
  return reinterpret_cast<nvtxDomainHandle_t>(domain);
}
nvtxDomainHandle_t NVTX_API DomainCreateA(const char* name) { return MakeDomain(View(name)); }
nvtxDomainHandle_t NVTX_API DomainCreateW(const wchar_t* name) { return MakeDomain(Narrow(name)); }
nvtxStringHandle_t MakeString(std::string text) {
  auto* string = With([&](NvtxRecorder&) { return new RegisteredString{std::move(text)}; },
                      static_cast<RegisteredString*>(nullptr));
  return reinterpret_cast<nvtxStringHandle_t>(string);
}
nvtxStringHandle_t NVTX_API RegisterStringA(nvtxDomainHandle_t, const char* text) {
  return MakeString(std::string(View(text)));
}
nvtxStringHandle_t NVTX_API RegisterStringW(nvtxDomainHandle_t, const wchar_t* text) {
  return MakeString(Narrow(text));
}

struct Entry {
  unsigned id;
  NvtxFunctionPointer function;
};
template <typename Function>
Entry MakeEntry(unsigned id, Function* function) {
  return {id, reinterpret_cast<NvtxFunctionPointer>(function)};
}

// Entries of a table that an older or newer NVTX does not have are left alone.
void Fill(const NvtxExportTableCallbacks* callbacks, NvtxCallbackModule module,
          std::initializer_list<Entry> entries) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) return;
  for (const Entry& entry : entries) {
    if (entry.id < size && table[entry.id] != nullptr) *table[entry.id] = entry.function;
  }
}

// A program that is linked statically has no dynamic linker (PT_INTERP): this library came with a second C
// library, which knows nothing of the program's threads and memory. Nothing can be done safely there.
bool ProgramIsStatic() {
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  if (segments == nullptr) return true;
  return std::none_of(segments, segments + getauxval(AT_PHNUM),
                      [](const Elf64_Phdr& segment) { return segment.p_type == PT_INTERP; });
}

}  // namespace
}  // namespace lanescope::profiler

#define LANESCOPE_EXPORT extern "C" __attribute__((visibility("default")))

// The driver calls it inside cuInit. What goes wrong here is no concern of the program.
LANESCOPE_EXPORT int InitializeInjection() {
  if (lanescope::profiler::ProgramIsStatic()) return 1;
  try {
    if (lanescope::profiler::Injection* injection = lanescope::profiler::Injection::Get())
      injection->StartCuda();
  } catch (...) {
  }
  return 1;
}

LANESCOPE_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  using namespace lanescope::profiler;
  if (get_export_table == nullptr || ProgramIsStatic() || Injection::Get() == nullptr) return 0;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  Fill(callbacks, NVTX_CB_MODULE_CORE,
       {MakeEntry(NVTX_CBID_CORE_MarkEx, MarkEx), MakeEntry(NVTX_CBID_CORE_MarkA, MarkA),
        MakeEntry(NVTX_CBID_CORE_MarkW, MarkW), MakeEntry(NVTX_CBID_CORE_RangeStartEx, StartEx),
        MakeEntry(NVTX_CBID_CORE_RangeStartA, StartA), MakeEntry(NVTX_CBID_CORE_RangeStartW, StartW),
        MakeEntry(NVTX_CBID_CORE_RangeEnd, End), MakeEntry(NVTX_CBID_CORE_RangePushEx, PushEx),
        MakeEntry(NVTX_CBID_CORE_RangePushA, PushA), MakeEntry(NVTX_CBID_CORE_RangePushW, PushW),
        MakeEntry(NVTX_CBID_CORE_RangePop, Pop), MakeEntry(NVTX_CBID_CORE_NameOsThreadA, NameThreadA),
        MakeEntry(NVTX_CBID_CORE_NameOsThreadW, NameThreadW)});
  Fill(callbacks, NVTX_CB_MODULE_CORE2,
       {MakeEntry(NVTX_CBID_CORE2_DomainMarkEx, DomainMarkEx),
        MakeEntry(NVTX_CBID_CORE2_DomainRangeStartEx, DomainStartEx),
        MakeEntry(NVTX_CBID_CORE2_DomainRangeEnd, DomainEnd),
        MakeEntry(NVTX_CBID_CORE2_DomainRangePushEx, DomainPushEx),
        MakeEntry(NVTX_CBID_CORE2_DomainRangePop, DomainPop),
        MakeEntry(NVTX_CBID_CORE2_DomainRegisterStringA, RegisterStringA),
        MakeEntry(NVTX_CBID_CORE2_DomainRegisterStringW, RegisterStringW),
        MakeEntry(NVTX_CBID_CORE2_DomainCreateA, DomainCreateA),
        MakeEntry(NVTX_CBID_CORE2_DomainCreateW, DomainCreateW)});
  return 1;
}
