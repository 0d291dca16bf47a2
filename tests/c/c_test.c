/* The interface for C: what works, what is refused and with which words, and several threads at once. */

#define _POSIX_C_SOURCE 200809L

#include "tessera/c/tessera.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define EXPECT(condition)                                                                            \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      fprintf(stderr, "%s:%d: %s\n  message: %s\n", __FILE__, __LINE__, #condition, tsr_error_message()); \
      ++failures;                                                                                    \
    }                                                                                                \
  } while (0)

static tsr_array* image(const tsr_network* network, float value) {
  tsr_port port;
  EXPECT(tsr_network_input(network, 0, &port) == TSR_OK);
  EXPECT(port.type == TSR_FLOAT32 && port.rank == 4);
  tsr_array* array = NULL;
  EXPECT(tsr_array_create(port.type, port.dims, (size_t)port.rank, NULL, 0, &array) == TSR_OK);
  float* values = tsr_array_data(array);
  for (size_t i = 0; i < tsr_array_byte_count(array) / sizeof(float); ++i) values[i] = value;
  return array;
}

static void test_a_network_runs(const tsr_network* network) {
  tsr_session_options options;
  tsr_session_options_init(&options);
  options.threads = 1;
  tsr_session* session = NULL;
  EXPECT(tsr_session_create(network, &options, &session) == TSR_OK);
  const tsr_array* inputs[] = {image(network, 0.5f)};
  tsr_array* outputs[1] = {NULL};
  EXPECT(tsr_session_run(session, inputs, 1, outputs, 1) == TSR_OK);
  EXPECT(tsr_array_type(outputs[0]) == TSR_FLOAT32);
  EXPECT(tsr_array_rank(outputs[0]) == 2 && tsr_array_dims(outputs[0])[1] == 1000);
  EXPECT(tsr_array_byte_count(outputs[0]) == 1000 * sizeof(float));
  const float* scores = tsr_array_bytes(outputs[0]);
  int different = 0;
  for (int i = 1; i < 1000; ++i) different += scores[i] != scores[0];
  EXPECT(different > 900);
  tsr_array_free(outputs[0]);

  outputs[0] = NULL;
  EXPECT(tsr_session_run(session, inputs, 0, outputs, 1) == TSR_INVALID_ARGUMENT);
  EXPECT(tsr_session_run(session, NULL, 1, outputs, 1) == TSR_INVALID_ARGUMENT);
  EXPECT(strcmp(tsr_error_message(), "inputs is NULL") == 0);
  EXPECT(tsr_session_run(session, inputs, 1, outputs, 2) == TSR_INVALID_ARGUMENT);
  EXPECT(strcmp(tsr_error_message(), "there is room for 2 outputs, and the network has 1") == 0);
  EXPECT(outputs[0] == NULL);
  tsr_array_free((tsr_array*)inputs[0]);
  tsr_session_free(session);
}

static void test_mistakes_are_explained(void) {
  tsr_network* network = NULL;
  EXPECT(tsr_network_zoo("resnet81", 1, &network) == TSR_NOT_FOUND);
  EXPECT(strstr(tsr_error_message(), "resnet18") != NULL);
  EXPECT(network == NULL);
  EXPECT(tsr_network_zoo("resnet18", 1, NULL) == TSR_INVALID_ARGUMENT);
  EXPECT(strcmp(tsr_error_message(), "network is NULL") == 0);
  EXPECT(tsr_network_load(NULL, NULL, 0, &network) == TSR_INVALID_ARGUMENT);
  EXPECT(tsr_network_load("/nowhere/m.onnx", NULL, 0, &network) != TSR_OK);
  EXPECT(strstr(tsr_error_message(), "/nowhere/m.onnx") != NULL);

  const int64_t dims[] = {2, 3};
  tsr_array* array = NULL;
  const float three[] = {1, 2, 3};
  EXPECT(tsr_array_create(TSR_FLOAT32, dims, 2, three, sizeof three, &array) == TSR_INVALID_ARGUMENT);
  EXPECT(strcmp(tsr_error_message(), "[2, 3] float32 takes 24 bytes, 12 were given") == 0);
  EXPECT(tsr_array_create((tsr_type)99, dims, 2, NULL, 0, &array) == TSR_INVALID_ARGUMENT);
  EXPECT(array == NULL);
  EXPECT(strcmp(tsr_status_name(TSR_NOT_FOUND), "not_found") == 0);
  EXPECT(strcmp(tsr_status_name(TSR_OK), "ok") == 0);
  tsr_array_free(NULL);
  tsr_network_free(NULL);
  tsr_session_free(NULL);
  tsr_plan_free(NULL);
  tsr_simulation_free(NULL);
}

static void test_options_of_another_version_are_refused(const tsr_network* network) {
  tsr_session_options options;
  memset(&options, 0, sizeof options);
  tsr_session* session = NULL;
  EXPECT(tsr_session_create(network, &options, &session) == TSR_INVALID_ARGUMENT);
  EXPECT(strstr(tsr_error_hint(), "_init") != NULL);
  tsr_session_options_init(&options);
  options.threads = -1;
  EXPECT(tsr_session_create(network, &options, &session) == TSR_INVALID_ARGUMENT);
  EXPECT(strcmp(tsr_error_message(), "-1 threads cannot run anything") == 0);
  EXPECT(session == NULL);
}

static void test_a_network_is_planned_and_simulated(const tsr_network* network, const char* folder) {
  tsr_plan_options options;
  tsr_plan_options_init(&options);
  options.budget_s = 5;
  tsr_plan* plan = NULL;
  EXPECT(tsr_plan_create(network, "wormhole_n51", &options, &plan) == TSR_NOT_FOUND);
  EXPECT(strstr(tsr_error_message(), "wormhole_n150") != NULL);
  EXPECT(tsr_plan_create(network, "wormhole_n150", &options, &plan) == TSR_OK);
  const tsr_plan_times times = tsr_plan_get_times(plan);
  EXPECT(times.frames == 1 && times.device_s > 0 && times.device_s < 1);
  EXPECT(tsr_plan_step_count(plan) > 20);
  tsr_plan_step step;
  EXPECT(tsr_plan_get_step(plan, 0, &step) == TSR_OK && step.node[0] != 0);
  EXPECT(tsr_plan_get_step(plan, 100000, &step) == TSR_INVALID_ARGUMENT);
  EXPECT(strstr(tsr_plan_json(plan), "tessera plan") != NULL);
  EXPECT(strstr(tsr_plan_text(plan), step.node) != NULL);

  char file[4096];
  snprintf(file, sizeof file, "%s/plan.json", folder);
  EXPECT(tsr_plan_save(plan, file) == TSR_OK);
  tsr_plan* again = NULL;
  EXPECT(tsr_plan_load(file, network, &again) == TSR_OK);
  EXPECT(tsr_plan_step_count(again) == tsr_plan_step_count(plan));
  EXPECT(tsr_plan_save(plan, "/nowhere/plan.json") == TSR_IO || tsr_plan_save(plan, "/nowhere/plan.json") == TSR_NOT_FOUND);

  tsr_simulation* simulation = NULL;
  EXPECT(tsr_plan_simulate(again, NULL, 0, 0, &simulation) == TSR_OK);
  EXPECT(tsr_simulation_seconds(simulation) > 0);
  EXPECT(tsr_simulation_output_count(simulation) == 0 && tsr_simulation_output(simulation, 0) == NULL);
  EXPECT(strlen(tsr_simulation_text(simulation)) > 100);
  tsr_simulation_free(simulation);
  tsr_plan_free(again);
  tsr_plan_free(plan);
}

struct Work {
  const tsr_session* session;
  const tsr_array* input;
  int number;
  int failed;
  float first;
};

static void* run_and_fail(void* argument) {
  struct Work* work = argument;
  for (int i = 0; i < 3; ++i) {
    tsr_array* output = NULL;
    if (tsr_session_run(work->session, &work->input, 1, &output, 1) != TSR_OK) {
      ++work->failed;
      continue;
    }
    work->first = *(const float*)tsr_array_bytes(output);
    tsr_array_free(output);
    /* Each thread keeps the words of its own mistake. */
    char name[32];
    tsr_network* none = NULL;
    snprintf(name, sizeof name, "network_%d", work->number);
    if (tsr_network_zoo(name, 1, &none) != TSR_NOT_FOUND || strstr(tsr_error_message(), name) == NULL) ++work->failed;
  }
  return NULL;
}

static void test_threads_share_a_session(const tsr_network* network) {
  enum { kThreads = 3 };
  tsr_session* session = NULL;
  EXPECT(tsr_session_create(network, NULL, &session) == TSR_OK);
  tsr_array* input = image(network, 0.25f);
  pthread_t threads[kThreads];
  struct Work work[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    work[i] = (struct Work){session, input, i, 0, 0};
    EXPECT(pthread_create(&threads[i], NULL, run_and_fail, &work[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    EXPECT(work[i].failed == 0);
    EXPECT(work[i].first == work[0].first);
  }
  tsr_array_free(input);
  tsr_session_free(session);
}

static void test_a_picture_is_recognized(const char* pictures, const char* folder) {
  tsr_recognizer* digits = NULL;
  EXPECT(tsr_recognizer_create("digits", NULL, &digits) == TSR_OK);
  char file[4096];
  snprintf(file, sizeof file, "%s/three.jpg", pictures);
  tsr_answers* answers = NULL;
  EXPECT(tsr_recognizer_run(digits, file, &answers) == TSR_OK);
  EXPECT(tsr_answers_task(answers) == TSR_CLASSIFY && tsr_answers_count(answers) == 5);
  tsr_answer best, second;
  EXPECT(tsr_answers_get(answers, 0, &best) == TSR_OK && tsr_answers_get(answers, 1, &second) == TSR_OK);
  EXPECT(best.index == 3 && strcmp(best.label, "3") == 0 && best.score > 0.5 && best.score > second.score);
  EXPECT(best.left == 0 && best.bottom == 0);
  EXPECT(tsr_answers_get(answers, 5, &best) == TSR_INVALID_ARGUMENT);
  EXPECT(strcmp(tsr_error_message(), "there is no answer 5: there are 5") == 0);
  EXPECT(strncmp(tsr_answers_text(answers), "3 (", 3) == 0);
  EXPECT(strstr(tsr_answers_json(answers), "\"task\"") != NULL);
  snprintf(file, sizeof file, "%s/answer.png", folder);
  EXPECT(tsr_answers_save_picture(answers, file) == TSR_OK);
  tsr_answers* again = NULL;
  EXPECT(tsr_recognizer_run(digits, file, &again) == TSR_OK); /* what was written is a picture */
  tsr_answers_free(again);
  tsr_answers_free(answers);

  /* Pixels in memory: black as the picture of nothing. */
  enum { kSide = 20 };
  const uint8_t rgb[kSide * kSide * 3] = {0};
  EXPECT(tsr_recognizer_run_rgb(digits, rgb, kSide, kSide, &answers) == TSR_OK);
  EXPECT(tsr_answers_count(answers) == 5);
  tsr_answers_free(answers);
  answers = NULL;
  EXPECT(tsr_recognizer_run_rgb(digits, rgb, kSide, 0, &answers) == TSR_INVALID_ARGUMENT);
  EXPECT(tsr_recognizer_run_rgb(digits, rgb, INT64_MAX, INT64_MAX, &answers) == TSR_INVALID_ARGUMENT);
  EXPECT(tsr_recognizer_run_rgb(digits, NULL, kSide, kSide, &answers) == TSR_INVALID_ARGUMENT);
  EXPECT(strcmp(tsr_error_message(), "rgb is NULL") == 0);
  EXPECT(tsr_recognizer_run(digits, "/nowhere/seven.png", &answers) != TSR_OK);
  EXPECT(strstr(tsr_error_message(), "/nowhere/seven.png") != NULL);
  EXPECT(answers == NULL);
  tsr_recognizer_free(digits);

  tsr_recognizer_options options;
  tsr_recognizer_options_init(&options);
  options.top = 2;
  options.preprocessing = "imagent";
  EXPECT(tsr_recognizer_create("digits", &options, &digits) != TSR_OK);
  EXPECT(strstr(tsr_error_message(), "imagent") != NULL);
  options.preprocessing = NULL;
  options.least_score = 2;
  EXPECT(tsr_recognizer_create("digits", &options, &digits) == TSR_INVALID_ARGUMENT);
  options.least_score = 0.25;
  EXPECT(tsr_recognizer_create("digits", &options, &digits) == TSR_OK);
  EXPECT(tsr_recognizer_run_rgb(digits, rgb, kSide, kSide, &answers) == TSR_OK);
  EXPECT(tsr_answers_count(answers) == 2);
  tsr_answers_free(answers);
  tsr_recognizer_free(digits);
  tsr_recognizer_free(NULL);
  tsr_answers_free(NULL);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s FOLDER PICTURES\n", argv[0]);
    return 2;
  }
  tsr_network* network = NULL;
  EXPECT(tsr_network_zoo("resnet18", 1, &network) == TSR_OK);
  EXPECT(tsr_network_input_count(network) == 1 && tsr_network_output_count(network) == 1);
  EXPECT(strlen(tsr_version()) > 0);
  test_a_network_runs(network);
  test_mistakes_are_explained();
  test_options_of_another_version_are_refused(network);
  test_a_network_is_planned_and_simulated(network, argv[1]);
  test_threads_share_a_session(network);
  test_a_picture_is_recognized(argv[2], argv[1]);
  tsr_network_free(network);
  if (failures != 0) fprintf(stderr, "%d expectations failed\n", failures);
  return failures == 0 ? 0 : 1;
}
