// What explain says of kernel rows: every condition has its words, and the values shown are the step's.
#include <doctest/doctest.h>

#include <set>

#include "ops/legal.h"
#include "ops/op.h"

using namespace corten;

TEST_CASE("explain: conditions are cut at && outside parentheses") {
  CHECK(parts_of("true") == std::vector<std::string_view>{"true"});
  CHECK(parts_of("a(p) && !(b && c) && d > 2") == std::vector<std::string_view>{"a(p)", "!(b && c)", "d > 2"});
}

TEST_CASE("explain: every side of a condition is noted") {
  const Condition c = Condition() && true && false && 4u && 0;
  CHECK(c.sides == 4);
  CHECK(c.failed == 0b1010);
  CHECK_FALSE(bool(c));
  CHECK(bool(Condition() && true));
}

TEST_CASE("explain: all conditions of kernels.def have words, and no others do") {
  size_t conditions = 0;
  for (const Op* op : all_ops()) {
    std::set<std::string_view> asked;
    for (const KernelRow& row : op->kernels)
      for (const std::string_view part : parts_of(row.condition))
        if (part != "true") asked.insert(part);
    std::set<std::string_view> explained;
    for (const Term& t : op->terms) {
      CHECK_MESSAGE(explained.insert(t.condition).second, op->name << ": twice: " << t.condition);
      CHECK_FALSE(t.needs.empty());
    }
    for (std::string_view part : asked) CHECK_MESSAGE(explained.count(part), op->name << ": no words for " << part);
    for (std::string_view part : explained) CHECK_MESSAGE(asked.count(part), op->name << ": no row asks for " << part);
    conditions += asked.size();
  }
  CHECK(conditions > 20);
}

TEST_CASE("explain: facts stand beside the words") {
  const Term terms[] = {{"p.groups == 1", "one group", "groups, channels", "use one"}};
  const Unmet u = unmet_term(terms, "p.groups == 1", {{"kernel", "3x3"}, {"channels", "8 to 8"}, {"groups", "2"}});
  CHECK(u.needs == "one group");
  CHECK(u.actual == "groups 2, channels 8 to 8");
  CHECK(u.advice == "use one");
}
