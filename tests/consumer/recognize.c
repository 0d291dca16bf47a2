#include <stdio.h>
#include <tessera/c/tessera.h>

int main(int argc, char** argv) {
  tsr_recognizer* digits;
  tsr_answers* answers;
  if (argc != 2 || tsr_recognizer_create("digits", NULL, &digits) || tsr_recognizer_run(digits, argv[1], &answers)) {
    fprintf(stderr, "%s\nhint: %s\n", tsr_error_message(), tsr_error_hint());
    return 1;
  }
  for (size_t i = 0; i < tsr_answers_count(answers); ++i) {
    tsr_answer answer;
    tsr_answers_get(answers, i, &answer);
    printf("%s %.2f\n", answer.label, answer.score); /* 7 0.98 */
  }
  tsr_answers_free(answers);
  tsr_recognizer_free(digits);
  return 0;
}
