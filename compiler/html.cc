#include "compiler/html.h"

#include <fmt/core.h>

#include <cmath>

namespace corten {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string json_in_script(const nlohmann::ordered_json& j) {
  std::string out;
  // Outside of strings JSON has none of these; inside, an escape says the same.
  for (char c : j.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", int(c));
    else
      out += c;
  }
  return out;
}

std::string grouped(double value, int decimals) {
  if (!std::isfinite(value)) return "not a number";
  std::string digits = fmt::format("{:.{}f}", std::abs(value), decimals);
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t at = point; at > 3;) digits.insert(at -= 3, ",");
  return (value < 0 && digits.find_first_not_of("0.,") != std::string::npos ? "\u2212" : "") + digits;
}

std::string grouped(std::optional<double> value, int decimals) {
  return value ? grouped(*value, decimals) : "<span title=\"unavailable\">\u2013<span class=\"unseen\"> unavailable</span></span>";
}

Cell words(std::string_view text) { return {escaped(text)}; }
Cell code(std::string_view text) { return {text.empty() ? "" : "<code>" + escaped(text) + "</code>"}; }
Cell figure(std::optional<double> value, int decimals) { return {grouped(value, decimals), value, true}; }

Table::Table(std::string id, std::string caption, std::vector<Column> columns, bool sorts)
    : id_(std::move(id)), caption_(std::move(caption)), columns_(std::move(columns)), sorts_(sorts) {}

void Table::row(const std::vector<Cell>& cells, const std::string& id) {
  rows_ += id.empty() ? "<tr>" : "<tr id=\"" + escaped(id) + "\" tabindex=\"-1\">";
  for (size_t i = 0; i < cells.size(); i++) {
    const Cell& c = cells[i];
    rows_ += i ? "<td" : "<th scope=\"row\"";
    if (c.number) rows_ += " class=\"number\"";
    if (c.key) rows_ += fmt::format(" data-key=\"{:.17g}\"", *c.key);
    rows_ += ">" + c.html + (i ? "</td>" : "</th>");
  }
  rows_ += "</tr>\n";
}

std::string Table::html() const {
  std::string head;
  for (const Column& c : columns_) {
    const std::string name = escaped(c.name);
    head +=
        sorts_ ? "<th scope=\"col\" aria-sort=\"none\"><button type=\"button\">" + name + "</button>" : "<th scope=\"col\">" + name;
    if (!c.how.empty()) head += "<small>" + escaped(c.how) + "</small>";
    head += "</th>";
  }
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table id=\"{1}\"{2}>\n<caption>{0}</caption>\n"
      "<thead><tr>{3}</tr></thead>\n<tbody>\n{4}</tbody>\n</table>\n</div>\n",
      escaped(caption_), escaped(id_), sorts_ ? " class=\"sorts\"" : "", head, rows_);
}

}  // namespace corten
