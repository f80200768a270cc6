#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "compiler/target.h"
#include "ir/codes.h"

namespace corten::cli {

namespace {

// An option or an argument, as far as shells care.
struct Word {
  std::vector<std::string> names;  // "-t", "--target"; none: an argument
  std::string about;
  bool takes_value = true;
  std::vector<std::string> choices;  // of the value; none: see `files`
  enum { nothing, files, folders } value = nothing;
};

struct Command {
  std::string name, about;
  std::vector<Word> options, arguments;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::istringstream in(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// By the name of the value's type: a kind of name, or TEXT:{full,concise}, as CLI::IsMember describes it.
void values_of(const std::string& type, Word& w) {
  const size_t open = type.find('{');
  if (open != std::string::npos) w.choices = split(type.substr(open + 1, type.find('}') - open - 1), ',');
  if (type.starts_with("FILE")) w.value = Word::files;
  if (type.starts_with("DIR")) w.value = Word::folders;
  if (type.starts_with("TARGET"))
    for (const Target& t : all_targets()) w.choices.emplace_back(t.name);
  if (type.starts_with("CODE"))
    for (const CodeInfo& c : all_codes()) w.choices.emplace_back(c.text);
}

Command command_of(const CLI::App& app) {
  Command c{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* o : app.get_options()) {
    Word w;
    for (const std::string& name : o->get_snames()) w.names.push_back("-" + name);
    for (const std::string& name : o->get_lnames()) w.names.push_back("--" + name);
    w.about = o->get_description(), w.takes_value = o->get_type_size_max() > 0;
    if (w.takes_value) values_of(o->get_type_name(), w);
    (w.names.empty() ? c.arguments : c.options).push_back(w);
  }
  return c;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::string option_names(const Command& c) {
  std::string all;
  for (const Word& w : c.options) all += (all.empty() ? "" : " ") + joined(w.names, " ");
  return all;
}

// ---- bash

constexpr const char* kBash = R"(# Completions of corten for bash. Source this file, or put it where bash-completion looks.
_corten() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command= word
  if [ "$cur" = "=" ]; then
    cur=
  elif [ "$prev" = "=" ]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in {commands}) command=$word && break ;; esac
  done
  _corten_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }}
  _corten_paths() {{
    mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
    compopt -o filenames 2>/dev/null
  }}
  case $command:$prev in
{values}  esac
  case $command in
{rest}  esac
}}
complete -F _corten corten
)";

std::string bash_values(const Word& w) {
  if (!w.choices.empty()) return fmt::format("_corten_words \"{}\"", joined(w.choices, " "));
  return w.value == Word::files ? "_corten_paths -f" : w.value == Word::folders ? "_corten_paths -d" : ":";
}

std::string bash(const Command& top, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  std::string values, rest;
  std::vector<Command> all = commands;
  all.push_back(top), all.back().name.clear();
  for (const Command& c : all) {
    for (const Word& w : c.options) {
      std::vector<std::string> patterns;
      for (const std::string& name : w.names) patterns.push_back(c.name + ":" + name);
      if (w.takes_value) values += fmt::format("    {}) {} && return ;;\n", joined(patterns, " | "), bash_values(w));
    }
    if (c.name.empty()) continue;
    names.push_back(c.name);
    const std::string argument = c.arguments.empty() ? ":" : bash_values(c.arguments[0]);
    rest += fmt::format("    {}) [[ $cur == -* ]] && _corten_words \"{}\" || {} ;;\n", c.name, option_names(c), argument);
  }
  rest += fmt::format("    *) [[ $cur == -* ]] && _corten_words \"{}\" || _corten_words \"{}\" ;;\n", option_names(top),
                      joined(names, " "));
  return fmt::format(fmt::runtime(kBash), fmt::arg("commands", joined(names, " | ")), fmt::arg("values", values),
                     fmt::arg("rest", rest));
}

// ---- zsh

std::string quoted(std::string_view text, std::string_view special) {
  std::string s;
  for (char c : text) {
    if (special.find(c) != std::string_view::npos) s += '\\';
    s += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return s;
}

std::string zsh_value(const Word& w) {
  if (!w.choices.empty()) return fmt::format("value:({})", joined(w.choices, " "));
  return w.value == Word::files ? "file:_files" : w.value == Word::folders ? "folder:_files -/" : "value: ";
}

std::string zsh_option(const Word& w) {
  std::string spec = w.names.size() > 1 ? fmt::format("'({})'{{{}}}", joined(w.names, " "), joined(w.names, ",")) : w.names[0];
  spec += fmt::format("'[{}]{}'", quoted(w.about, "[]:"), w.takes_value ? ":" + zsh_value(w) : "");
  return spec;
}

std::string zsh_arguments(const Command& c) {
  std::string s = "_arguments -S";
  for (const Word& w : c.options) s += " \\\n        " + zsh_option(w);
  for (size_t i = 0; i < c.arguments.size(); i++) s += fmt::format(" \\\n        '{}:{}'", i + 1, zsh_value(c.arguments[i]));
  return s;
}

std::string zsh(const Command& top, const std::vector<Command>& commands) {
  std::string s =
      "#compdef corten\n# Completions of corten for zsh: as _corten in a folder of $fpath.\n_corten() {\n  local state line\n";
  s += "  local -a commands=(\n";
  for (const Command& c : commands) s += fmt::format("    '{}:{}'\n", c.name, quoted(c.about, ":"));
  s += "  )\n  _arguments -C";
  for (const Word& w : top.options) s += " \\\n    " + zsh_option(w);
  s += " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n    command) _describe command commands ;;\n";
  s += "    argument) case $words[1] in\n";
  for (const Command& c : commands) s += fmt::format("      {}) {} ;;\n", c.name, zsh_arguments(c));
  return s + "    esac ;;\n  esac\n}\ncompdef _corten corten\n";
}

// ---- fish

std::string fish_value(const Word& w) {
  if (!w.takes_value) return "";
  if (!w.choices.empty()) return fmt::format(" -x -a '{}'", joined(w.choices, " "));
  return w.value == Word::files ? " -r -F" : w.value == Word::folders ? " -x -a '(__fish_complete_directories)'" : " -x";
}

std::string fish_option(const std::string& when, const Word& w) {
  std::string s = fmt::format("complete -c corten -n '{}'", when);
  for (const std::string& name : w.names) s += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return s + fish_value(w) + fmt::format(" -d '{}'\n", quoted(w.about, ""));
}

std::string fish(const Command& top, const std::vector<Command>& commands) {
  std::string s = "# Completions of corten for fish: in ~/.config/fish/completions/corten.fish.\ncomplete -c corten -f\n";
  for (const Word& w : top.options) s += fish_option("__fish_use_subcommand", w);
  for (const Command& c : commands)
    s += fmt::format("complete -c corten -n __fish_use_subcommand -a {} -d '{}'\n", c.name, quoted(c.about, ""));
  for (const Command& c : commands) {
    const std::string when = "__fish_seen_subcommand_from " + c.name;
    for (const Word& w : c.options) s += fish_option(when, w);
    for (const Word& w : c.arguments)
      if (!fish_value(w).empty()) s += fmt::format("complete -c corten -n '{}'{}\n", when, fish_value(w));
  }
  return s;
}

}  // namespace

void add_completions(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("completions", "completions of this command for a shell, to be kept where it looks for them");
  c->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  c->footer("Example:\n  corten completions bash > ~/.local/share/bash-completion/completions/corten");
  c->callback([&app, shell] {
    std::vector<Command> commands;
    for (const CLI::App* s : app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
      commands.push_back(command_of(*s));
    const Command top = command_of(app);
    fmt::print("{}", *shell == "bash" ? bash(top, commands) : *shell == "zsh" ? zsh(top, commands) : fish(top, commands));
  });
}

}  // namespace corten::cli
