import type { CommandWords } from "./words.ts";

/** For bash 3 and newer. */
export const bash = (commands: readonly CommandWords[]): string => `# rheo for bash: eval "$(rheo completion bash)"
_rheo() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")}"
  else
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, options }) => `      ${name}) words="${options.map((option) => option.name).join(" ")}" ;;`).join("\n")}
    esac
    case "$before" in
      --file|--ready-file) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    case "$current" in
      -*) ;;
      *) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _rheo rheo
`;
