/**
 * What a batch of events leaves behind is collected young, and so cheaply, where there is room for it: with V8's own 16 MB, a member that
 * works without a pause spends a quarter of its time on collecting.
 */
const YOUNG_SPACE = "semi-space-size";
const YOUNG_SPACE_MB = 32;

/**
 * Options for a child's Node: the parent's own, but for the port of an inspector, which is one process's; with more room for young
 * objects, unless that was decided there or in NODE_OPTIONS.
 */
export const nodeOptions = (parent: readonly string[], environment: string | undefined): string[] => {
  const own = parent.filter((option) => !option.startsWith("--inspect"));
  const isDecided = [...own, environment ?? ""].some((option) => option.includes(YOUNG_SPACE));
  return isDecided ? own : [...own, `--max-${YOUNG_SPACE}=${YOUNG_SPACE_MB}`];
};
