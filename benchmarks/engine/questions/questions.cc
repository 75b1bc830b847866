#include "questions/questions.h"

namespace bench::engine {
namespace {

constexpr Question kQuestions[] = {
    {"throughput", "what an empty operation costs, from the first push to the last end",
     throughput},
    {"round_trip", "how long it takes to push one operation and wait for it", round_trip},
    {"push_alone", "what a push costs, and what the rest costs, one after the other", push_alone},
    {"memory", "how much a pending operation takes, and how often a push allocates", memory},
    {"grain", "how large operations must be for the workers to be busy", grain},
    {"variables", "what the number of variables does to throughput", variables},
    {"pending", "what the number of pending operations does to it", pending},
    {"workers", "what the number of workers does to it", workers},
    {"replay", "what an operation costs that was pushed before", replay},
};

}  // namespace

std::span<const Question> questions() { return kQuestions; }

}  // namespace bench::engine
