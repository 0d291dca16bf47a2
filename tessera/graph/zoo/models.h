#pragma once

// The makers behind zoo(); each takes the entry it is called for and a batch.

#include "tessera/graph/zoo/zoo.h"

namespace tessera {

Graph make_resnet18(const ZooModel& model, std::int64_t batch);
Graph make_resnet50(const ZooModel& model, std::int64_t batch);
Graph make_mobilenet_v2(const ZooModel& model, std::int64_t batch);
Graph make_vgg16(const ZooModel& model, std::int64_t batch);
Graph make_unet(const ZooModel& model, std::int64_t batch);
Graph make_vanilla_unet(const ZooModel& model, std::int64_t batch);
Graph make_shallow_unet(const ZooModel& model, std::int64_t batch);
Graph make_efficientnet_like(const ZooModel& model, std::int64_t batch);
Graph make_convnext_tiny(const ZooModel& model, std::int64_t batch);
Graph make_swin_t(const ZooModel& model, std::int64_t batch);
Graph make_vit_b_16(const ZooModel& model, std::int64_t batch);
Graph make_yolo_like(const ZooModel& model, std::int64_t batch);

}  // namespace tessera
