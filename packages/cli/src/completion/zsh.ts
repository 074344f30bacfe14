import type { CommandWords, OptionWords } from "./words.ts";

export const zsh = (commands: readonly CommandWords[]): string => `#compdef rheo
# rheo for zsh: rheo completion zsh > "\${fpath[1]}/_rheo"
_rheo() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map(({ name, options }) => `    ${name}) _arguments ${options.map(optionOf).join(" ")} '*:argument:_files' ;;`).join("\n")}
  esac
}
if [ "$funcstack[1]" = "_rheo" ]; then _rheo "$@"; else compdef _rheo rheo; fi
`;

/** `:`, `[` and `]` have a meaning inside. */
const optionOf = ({ name, description, takesValue }: OptionWords): string =>
  quoted(`${name}[${description.replace(/[[\]:\\]/g, "\\$&")}]${takesValue ? ":value:_files" : ""}`);

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
