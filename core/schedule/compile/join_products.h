// SPDX-License-Identifier: Apache-2.0
// Puts matrix products into the launch of the row-wise nodes between them (core/schedule/row_products.h).
// Private to the pass Fuse.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/fusion_groups.h"
#include "core/schedule/row_products.h"

namespace lanescope::compile {

class ProductJoiner {
 public:
  ProductJoiner(const Draft& draft, FusionGroups* groups);

  // The products whose matrices are those of the group, which works by rows of `run` elements of `elements`,
  // become a part of it, where the device has kernels for that and it moves fewer elements than it costs.
  // False where none does.
  bool Join(CommandId group, int64_t elements, int64_t run);

  // The commands that read the memory of a value's root.
  std::span<const CommandId> UsersOf(ValueId root) const { return users_[root]; }
  bool IsFetched(ValueId root) const { return is_fetched_[root] != 0; }
  // Which operand of the command, a product, is of this root and stands for these matrices. None where it is
  // no product that a launch can run, or reads them in another way.
  std::optional<int> OperandOf(CommandId product, ValueId root, const MatrixBatch& matrices) const;

 private:
  bool IsProduct(CommandId c) const;
  bool IsWithin(CommandId c, CommandId group) const { return groups_.Of(c) == group; }
  bool ShareQueue(CommandId a, CommandId b) const;
  bool WritesVariable(CommandId group) const;
  ValueId OutputOf(CommandId c) const { return draft_.Outputs(draft_.command(c))[0]; }
  const Shape& ShapeOf(ValueId value) const { return draft_.value(value).shape; }
  int64_t CopiedElements(CommandId product, int matrices) const;

  // Products that make matrices which the group alone reads, and which read what the group makes.
  std::vector<CommandId> FindMakers(CommandId group, int64_t elements, int64_t run,
                                    MatrixBatch* matrices) const;
  struct Reader {
    CommandId product;
    int operand;
  };
  std::vector<Reader> FindReaders(CommandId group, const MatrixBatch& matrices) const;
  bool HaveKernel(const std::vector<CommandId>& makers, const std::vector<Reader>& readers,
                  const MatrixBatch& matrices) const;
  bool Pays(CommandId group, const MatrixBatch& matrices, const std::vector<CommandId>& makers,
            const std::vector<Reader>& readers) const;
  bool JoinOne(CommandId member, CommandId product, int operand);

  const Draft& draft_;
  FusionGroups& groups_;
  IdVector<ValueId, std::vector<CommandId>> users_;  // by root
  IdVector<ValueId, char> is_fetched_;               // by root
};

}  // namespace lanescope::compile
