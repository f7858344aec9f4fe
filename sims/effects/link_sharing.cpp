// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/link_sharing.h"

namespace lanescope::sims {
namespace {

void ReadLinkSharing(CostFileReader* /*file*/, EffectSet* effects) { effects->Put(LinkSharing()); }
void WriteLinkSharing(const EffectSet& /*effects*/, CostFileWriter* /*file*/) {}

}  // namespace

constinit const EffectKind LinkSharing::kKind = {.name = "link sharing",
                                                 .of = "links",
                                                 .about = "copies at the same time share links and buses",
                                                 .source = "the machine file",
                                                 .in_durations = true,
                                                 .read = ReadLinkSharing,
                                                 .write = WriteLinkSharing};

}  // namespace lanescope::sims
