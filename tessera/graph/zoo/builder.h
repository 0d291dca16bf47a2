#pragma once

// Builds the networks of the zoo layer by layer. It follows the mean square of every value, so that each layer's
// weights and statistics suit what reaches it: outputs of layers have a variance of about 1.

#include "tessera/graph/graph.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera {

struct ZooConv {
  std::int64_t channels = 0;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
};

class ZooBuilder {
 public:
  explicit ZooBuilder(std::string_view name) { graph_.name = name; }

  ValueId input(const std::string& name, const Shape& shape);
  std::int64_t channels(ValueId x) const { return (*graph_.value(x).type.dims)[1]; }

  // Padded so that a stride of 1 keeps the extents.
  ValueId conv(const std::string& name, ValueId x, const ZooConv& conv, bool bias = true);
  // gain: standard deviation of what comes out.
  ValueId batch_norm(const std::string& name, ValueId x, double gain = 1);
  ValueId conv_bn(const std::string& name, ValueId x, const ZooConv& conv, double gain = 1);
  ValueId conv_bn_relu(const std::string& name, ValueId x, const ZooConv& conv);
  ValueId conv_bn_relu6(const std::string& name, ValueId x, const ZooConv& conv);
  ValueId conv_bn_silu(const std::string& name, ValueId x, const ZooConv& conv);
  // Patches that do not overlap, one pixel each.
  ValueId patches(const std::string& name, ValueId x, std::int64_t channels, std::int64_t size);
  // Kernel 2, stride 2: twice the extents.
  ValueId up_conv(const std::string& name, ValueId x, std::int64_t channels);
  ValueId upsample(const std::string& name, ValueId x);  // nearest, twice the extents

  ValueId relu(const std::string& name, ValueId x);
  ValueId relu6(const std::string& name, ValueId x);
  ValueId silu(const std::string& name, ValueId x);  // as exporters write it: x * sigmoid(x)
  ValueId sigmoid(const std::string& name, ValueId x);
  ValueId gate(const std::string& name, ValueId x, ValueId by);  // x * by, one factor for each channel
  ValueId add(const std::string& name, ValueId a, ValueId b);
  ValueId concat(const std::string& name, const std::vector<ValueId>& parts);  // channels
  std::vector<ValueId> halves(const std::string& name, ValueId x);             // of the channels
  ValueId max_pool(const std::string& name, ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  ValueId global_average(const std::string& name, ValueId x);
  ValueId flatten(const std::string& name, ValueId x);
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs);

  // --- tokens: the last dimension is that of channels
  // -----------------------------------------------------------------

  Shape shape(ValueId x) const { return graph_.value(x).type.shape(); }
  ValueId layer_norm(const std::string& name, ValueId x);
  // As exporters write it: a product with a matrix, then a sum. gain: standard deviation of what comes out.
  ValueId linear(const std::string& name, ValueId x, std::int64_t outputs, double gain = 1, bool bias = true);
  ValueId gelu(const std::string& name, ValueId x);  // as exporters write it, with erf
  ValueId scale(const std::string& name, ValueId x, const Shape& shape, double factor);  // by constants around it
  ValueId reshape(const std::string& name, ValueId x, const std::vector<std::int64_t>& extents);
  ValueId transpose(const std::string& name, ValueId x, const std::vector<std::int64_t>& perm);
  ValueId slice(const std::string& name, ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                std::int64_t step = 1);
  ValueId join(const std::string& name, const std::vector<ValueId>& parts, std::int64_t axis);
  ValueId mean(const std::string& name, ValueId x, std::int64_t axis);
  ValueId pick(const std::string& name, ValueId x, std::int64_t axis, std::int64_t position);  // the axis goes
  // A parameter as it stands, and one that is added to x.
  ValueId parameter(const std::string& name, const Shape& shape, double deviation);
  ValueId constant(const std::string& name, Array array) {
    return keep(graph_.add_constant(name, std::move(array)), 1);
  }
  ValueId repeated(const std::string& name, ValueId x, const std::vector<std::int64_t>& extents);
  ValueId plus(const std::string& name, ValueId x, ValueId parameter);
  // Attention of tokens N T C with itself. bias: of every head, heads T T; mask: of every window, windows T T, where N
  // is a multiple of windows.
  ValueId self_attention(const std::string& name, ValueId x, std::int64_t heads, double gain, ValueId bias = kNoValue,
                         ValueId mask = kNoValue);

  Graph finish(std::vector<ValueId> outputs);

 private:
  ValueId keep(ValueId id, double mean_square) {
    mean_square_[id] = mean_square;
    return id;
  }
  ValueId keep_rectified(ValueId id, ValueId from);
  // Seeded by the name: a layer's weights do not depend on the layers before it.
  ValueId normal(const std::string& name, const Shape& shape, double deviation);
  ValueId uniform(const std::string& name, const Shape& shape, double least, double most);

  Graph graph_;
  std::map<ValueId, double> mean_square_;
  std::set<ValueId> rectified_;  // values that are not centred: rectifying them again takes little away
};

}  // namespace tessera
