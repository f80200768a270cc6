// Pieces of HTML: text made safe, numbers made readable, tables that sort and search.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corten {

std::string escaped(std::string_view text);                          // for element content and quoted attributes
std::string json_in_script(const nlohmann::ordered_json&);           // for <script type="application/json">
std::string grouped(double value, int decimals = 0);                 // "1,234,567.5"
std::string grouped(std::optional<double> value, int decimals = 0);  // or a dash, said to be "unavailable"

// A cell's content and what its column is sorted by: the key, or its text if there is none.
struct Cell {
  std::string html;
  std::optional<double> key = {};
  bool number = false;
};
Cell words(std::string_view text);
Cell code(std::string_view text);
Cell figure(std::optional<double> value, int decimals = 0);

struct Column {
  std::string name;
  std::string how = {};  // unit, and measured, computed or estimated
};

// A table whose first column names the row. Its headers sort, unless it is fixed.
class Table {
 public:
  Table(std::string id, std::string caption, std::vector<Column> columns, bool sorts = true);
  void row(const std::vector<Cell>& cells, const std::string& id = {});
  bool empty() const { return rows_.empty(); }
  std::string html() const;  // in a frame that scrolls

 private:
  std::string id_, caption_, rows_;
  std::vector<Column> columns_;
  bool sorts_;
};

}  // namespace corten
