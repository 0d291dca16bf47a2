#include <stdio.h>
#include <tessera/c/tessera.h>

static int report(const char* what) {
  fprintf(stderr, "%s: %s\nhint: %s\n", what, tsr_error_message(), tsr_error_hint());
  return 1;
}

int main(void) {
  /* On this CPU. tsr_network_load("model.onnx", NULL, 0, &network) does the same for a file. */
  tsr_network* network;
  if (tsr_network_zoo("resnet18", 1, &network)) return report("network");
  tsr_session* session;
  if (tsr_session_create(network, NULL, &session)) return report("session");

  tsr_port port;
  tsr_array* image;
  if (tsr_network_input(network, 0, &port)) return report("input");
  if (tsr_array_create(port.type, port.dims, (size_t)port.rank, NULL, 0, &image)) return report("image");
  const tsr_array* inputs[] = {image};
  tsr_array* scores;
  if (tsr_session_run(session, inputs, 1, &scores, 1)) return report("run");
  printf("%d scores\n", (int)tsr_array_dims(scores)[1]);

  /* On a card that nobody has here. */
  tsr_plan* plan;
  if (tsr_plan_create(network, "wormhole_n150", NULL, &plan)) return report("plan");
  printf("%.0f us on a Wormhole n150, predicted\n", tsr_plan_get_times(plan).device_s * 1e6);

  tsr_plan_free(plan);
  tsr_array_free(scores);
  tsr_array_free(image);
  tsr_session_free(session);
  tsr_network_free(network);
  return 0;
}
