#include "tessera/graph/zoo/zoo.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/graph/zoo/models.h"

#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr std::array kModels{
    ZooModel{"convnext_tiny", "ConvNeXt-T, 1000 classes: 7x7 depthwise, layer norms, GELU", 3, 224, 224,
             make_convnext_tiny},
    ZooModel{"efficientnet_like",
             "network of EfficientNet-B0's shape, 1000 classes: squeeze and excite, 5x5 depthwise, SiLU", 3, 224, 224,
             make_efficientnet_like},
    ZooModel{"mobilenet_v2", "MobileNetV2 1.0, 1000 classes: depthwise convolutions, inverted residuals", 3, 224, 224,
             make_mobilenet_v2},
    ZooModel{"resnet18", "ResNet-18, 1000 classes: basic blocks", 3, 224, 224, make_resnet18},
    ZooModel{"resnet50", "ResNet-50 v1.5, 1000 classes: bottlenecks with the stride in the 3x3", 3, 224, 224,
             make_resnet50},
    ZooModel{"shallow_unet", "shallow U-Net, 1 class: 16 to 64 channels, nearest upsampling", 4, 1056, 160,
             make_shallow_unet},
    ZooModel{"swin_t", "Swin-T, 1000 classes: attention in shifted windows of 7x7", 3, 224, 224, make_swin_t},
    ZooModel{"unet", "U-Net, 2 classes: 32 to 512 channels, transposed convolutions", 3, 256, 256, make_unet},
    ZooModel{"vanilla_unet", "U-Net of brain segmentation, 1 class: 32 to 512 channels, sigmoid", 3, 480, 640,
             make_vanilla_unet},
    ZooModel{"vgg16", "VGG-16, 1000 classes: 3x3 convolutions and three large dense layers, no batch norm", 3, 224, 224,
             make_vgg16},
    ZooModel{"vit_b_16", "ViT-B/16, 1000 classes: 12 blocks of attention over 197 tokens", 3, 224, 224, make_vit_b_16},
    ZooModel{"yolo_like", "detector of YOLOv8n's shape, 80 classes: C2f blocks, SPPF, PAN neck, heads at three strides",
             3, 640, 640, make_yolo_like},
};

}  // namespace

std::span<const ZooModel> zoo() { return kModels; }

Graph make_zoo_model(std::string_view name, std::int64_t batch) {
  check(batch >= 1, Code::invalid_argument, "a batch of {} cannot be run, at least 1 is needed", batch);
  std::vector<std::string> names;
  for (const ZooModel& model : kModels) {
    if (model.name == name) return model.make(model, batch);
    names.emplace_back(model.name);
  }
  fail(Code::not_found, Hint{fmt::format("the zoo has {}", fmt::join(names, ", "))},
       "there is no network '{}' in the zoo{}", name, did_you_mean(name, names));
}

}  // namespace tessera
