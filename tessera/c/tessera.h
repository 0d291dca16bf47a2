#pragma once

/* Tessera for programs in C, and for languages that call C: networks are loaded, run on this machine's CPU, planned for
   a machine, and simulated on it.

     tsr_network* network;
     tsr_session* session;
     if (tsr_network_load("model.onnx", NULL, 0, &network) || tsr_session_create(network, NULL, &session))
       fprintf(stderr, "error: %s\nhint: %s\n", tsr_error_message(), tsr_error_hint());

   - What can fail returns a tsr_status, 0 where all went well. What went wrong is then in tsr_error_message(). A failed
     call changes nothing, and leaves what its last argument points to as it was.
   - What a function stores a pointer to belongs to the caller, who hands it to the function ..._free once. NULL may be
     freed. Strings and arrays of numbers that are pointed to inside of an object live as long as the object.
   - Everything may be called from several threads at once, as long as nobody frees or writes to what another one uses.
     Messages are kept for each thread.
   - In C++ include <tessera/tessera.h> instead. */

#include "tessera/core/export.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsr_status {
  TSR_OK = 0,
  TSR_INVALID_ARGUMENT, /* a value that makes no sense, alone or together with others */
  TSR_NOT_FOUND,        /* a name or file that does not exist */
  TSR_OUT_OF_MEMORY,    /* the simulated or real memory is too small */
  TSR_UNSUPPORTED,      /* meaningful, but not something that exists here */
  TSR_PARSE,            /* text or bytes that are not what they claim to be */
  TSR_IO,               /* the operating system said no */
  TSR_INTERNAL          /* our fault */
} tsr_status;

/* Of the last call that failed in this thread, until the next one fails; never NULL. */
TSR_API const char* tsr_error_message(void); /* what happened, with the values found */
TSR_API const char* tsr_error_context(void); /* what was being done, a line for each step; may be empty */
TSR_API const char* tsr_error_hint(void);    /* what to do about it; may be empty */
TSR_API const char* tsr_status_name(tsr_status status);

TSR_API const char* tsr_version(void);

/* --- Arrays ------------------------------------------------------------------------------------------------------ */

typedef enum tsr_type {
  TSR_BOOL, /* a byte, 0 or 1 */
  TSR_UINT8,
  TSR_INT8,
  TSR_FLOAT8_E5M2,
  TSR_FLOAT8_E4M3,
  TSR_INT16,
  TSR_UINT16,
  TSR_FLOAT16,
  TSR_BFLOAT16,
  TSR_INT32,
  TSR_UINT32,
  TSR_FLOAT32,
  TSR_FLOAT64,
  TSR_INT64,
  TSR_UINT64,
  TSR_FLOAT8_E5M2FNUZ,
  TSR_FLOAT8_E4M3FNUZ,
  TSR_FLOAT8_E8M0,
  TSR_FLOAT4_E2M1, /* this and those below: a byte each */
  TSR_INT4,
  TSR_UINT4,
  TSR_INT2,
  TSR_UINT2
} tsr_type;

/* Row-major elements in memory. */
typedef struct tsr_array tsr_array;

/* A copy of `bytes`, of which there have to be as many as the type and the dimensions say; NULL: zeros. */
TSR_API tsr_status tsr_array_create(tsr_type type, const int64_t* dims, size_t rank, const void* bytes,
                                    size_t byte_count, tsr_array** array);
TSR_API tsr_type tsr_array_type(const tsr_array* array);
TSR_API size_t tsr_array_rank(const tsr_array* array);
TSR_API const int64_t* tsr_array_dims(const tsr_array* array);
TSR_API size_t tsr_array_byte_count(const tsr_array* array);
TSR_API const void* tsr_array_bytes(const tsr_array* array);
TSR_API void* tsr_array_data(tsr_array* array); /* to be written to */
TSR_API void tsr_array_free(tsr_array* array);

/* --- Networks ---------------------------------------------------------------------------------------------------- */

typedef struct tsr_network tsr_network;

/* An input or output. A dimension that the network leaves open is -1; a rank that it leaves open is -1. */
typedef struct tsr_port {
  const char* name;
  tsr_type type;
  int rank;
  const int64_t* dims;
} tsr_port;

/* The shape of an input that the network leaves open. */
typedef struct tsr_shape {
  const char* name;
  const int64_t* dims;
  size_t rank;
} tsr_shape;

/* An ONNX file. */
TSR_API tsr_status tsr_network_load(const char* file, const tsr_shape* shapes, size_t shape_count,
                                    tsr_network** network);
/* A well-known network with seeded weights: "resnet50". */
TSR_API tsr_status tsr_network_zoo(const char* name, int64_t batch, tsr_network** network);
TSR_API size_t tsr_network_input_count(const tsr_network* network);
TSR_API size_t tsr_network_output_count(const tsr_network* network);
TSR_API tsr_status tsr_network_input(const tsr_network* network, size_t index, tsr_port* port);
TSR_API tsr_status tsr_network_output(const tsr_network* network, size_t index, tsr_port* port);
TSR_API void tsr_network_free(tsr_network* network);

/* --- On this machine's CPU --------------------------------------------------------------------------------------- */

typedef struct tsr_session tsr_session;

typedef struct tsr_session_options {
  size_t struct_size;         /* tsr_session_options_init() sets it */
  int threads;                /* 0: all that the process may use */
  tsr_type storage;           /* of values: TSR_FLOAT32, TSR_BFLOAT16 or TSR_FLOAT16 */
  int exact;                  /* 1: no kernels that round more than the definition */
  int64_t memory_limit_bytes; /* of a run; 0: 7/8 of what the machine, or its cgroup, has */
} tsr_session_options;

TSR_API void tsr_session_options_init(tsr_session_options* options);
/* `options` may be NULL. The network may be freed before the session. */
TSR_API tsr_status tsr_session_create(const tsr_network* network, const tsr_session_options* options,
                                      tsr_session** session);
/* One array for each input, in order; stores one for each output. The counts are those of the network. */
TSR_API tsr_status tsr_session_run(const tsr_session* session, const tsr_array* const* inputs, size_t input_count,
                                   tsr_array** outputs, size_t output_count);
TSR_API void tsr_session_free(tsr_session* session);

/* --- Planned for a machine, and simulated on it ------------------------------------------------------------------ */

typedef struct tsr_plan tsr_plan;
typedef struct tsr_simulation tsr_simulation;

typedef struct tsr_plan_options {
  size_t struct_size; /* tsr_plan_options_init() sets it */
  double budget_s;    /* of searching, at most; 0: as the target has it */
  double min_pcc;     /* least correlation of the outputs with float32; 0: none */
  int partial;        /* 1: what the machine has no operator for runs on the host */
} tsr_plan_options;

/* Times are predicted. */
typedef struct tsr_plan_times {
  int64_t frames;
  double device_s;     /* of a batch */
  double end_to_end_s; /* with the host; 0: not known */
} tsr_plan_times;

typedef struct tsr_plan_step {
  const char* node;
  const char* op;
  const char* config;
  const char* bound; /* the resource that it waits for */
  double time_s;
} tsr_plan_step;

TSR_API void tsr_plan_options_init(tsr_plan_options* options);
/* `device`: "cpu", the name of a machine ("wormhole_n150"), or a machine file. `options` may be NULL. */
TSR_API tsr_status tsr_plan_create(const tsr_network* network, const char* device, const tsr_plan_options* options,
                                   tsr_plan** plan);
/* A plan file, for the network that it was made for. */
TSR_API tsr_status tsr_plan_load(const char* file, const tsr_network* network, tsr_plan** plan);
TSR_API tsr_plan_times tsr_plan_get_times(const tsr_plan* plan);
TSR_API size_t tsr_plan_step_count(const tsr_plan* plan);
TSR_API tsr_status tsr_plan_get_step(const tsr_plan* plan, size_t index, tsr_plan_step* step);
TSR_API const char* tsr_plan_text(const tsr_plan* plan); /* every step and a summary, as tables */
TSR_API const char* tsr_plan_json(const tsr_plan* plan);
TSR_API tsr_status tsr_plan_save(const tsr_plan* plan, const char* file);
/* .html, .md, .csv, .json or .txt, as the name says. */
TSR_API tsr_status tsr_plan_save_report(const tsr_plan* plan, const char* file);
TSR_API void tsr_plan_free(tsr_plan* plan);

/* On random inputs where `inputs` is NULL. values = 0: memory and time only, without outputs, much faster. */
TSR_API tsr_status tsr_plan_simulate(const tsr_plan* plan, const tsr_array* const* inputs, size_t input_count,
                                     int values, tsr_simulation** simulation);
TSR_API double tsr_simulation_seconds(const tsr_simulation* simulation); /* of a batch on the device, simulated */
TSR_API const char* tsr_simulation_text(const tsr_simulation* simulation);
TSR_API size_t tsr_simulation_output_count(const tsr_simulation* simulation);
TSR_API const tsr_array* tsr_simulation_output(const tsr_simulation* simulation,
                                               size_t index); /* NULL: there is none */
TSR_API void tsr_simulation_free(tsr_simulation* simulation);

/* --- Pictures in, answers out ------------------------------------------------------------------------------------ */

typedef struct tsr_recognizer tsr_recognizer;
typedef struct tsr_answers tsr_answers;

typedef enum tsr_task { TSR_CLASSIFY, TSR_DETECT, TSR_SEGMENT } tsr_task;

typedef struct tsr_recognizer_options {
  size_t struct_size;        /* tsr_recognizer_options_init() sets it */
  const char* preprocessing; /* a preset ("imagenet", "yolo") or a TOML file; NULL: as the model says, else guessed */
  int64_t top;               /* classes that are listed */
  double least_score;        /* of boxes */
  double most_overlap;       /* of two boxes of one class: intersection over union */
  int threads;               /* 0: all that the process may use */
} tsr_recognizer_options;

/* A class of a picture, a box on it, or the part of it that a class covers. */
typedef struct tsr_answer {
  int64_t index;     /* of the class */
  const char* label; /* empty: nobody has named it */
  double score;      /* of a class: its probability; of a box: 0 to 1; of a mask: the fraction of the picture */
  double left, top, right, bottom; /* of a box, in pixels from the upper left corner; else 0 */
} tsr_answer;

TSR_API void tsr_recognizer_options_init(tsr_recognizer_options* options);
/* `model`: an ONNX file, or a network by name ("digits"). `options` may be NULL. */
TSR_API tsr_status tsr_recognizer_create(const char* model, const tsr_recognizer_options* options,
                                         tsr_recognizer** recognizer);
/* A PNG or JPEG file. */
TSR_API tsr_status tsr_recognizer_run(const tsr_recognizer* recognizer, const char* picture, tsr_answers** answers);
/* Red, green and blue of 8 bits each, row by row from the top: width * height * 3 bytes. */
TSR_API tsr_status tsr_recognizer_run_rgb(const tsr_recognizer* recognizer, const uint8_t* rgb, int64_t width,
                                          int64_t height, tsr_answers** answers);
TSR_API void tsr_recognizer_free(tsr_recognizer* recognizer);

TSR_API tsr_task tsr_answers_task(const tsr_answers* answers);
TSR_API size_t tsr_answers_count(const tsr_answers* answers); /* the surest, or the largest, first */
TSR_API tsr_status tsr_answers_get(const tsr_answers* answers, size_t index, tsr_answer* answer);
TSR_API const char* tsr_answers_text(const tsr_answers* answers); /* "7 (0.98)" */
TSR_API const char* tsr_answers_json(const tsr_answers* answers);
/* The picture with what was found, as .png, .jpg or .jpeg. */
TSR_API tsr_status tsr_answers_save_picture(const tsr_answers* answers, const char* file);
TSR_API void tsr_answers_free(tsr_answers* answers);

#ifdef __cplusplus
}
#endif
