/** Marks a text as Lua; backslashes in it are Lua's own. */
export const lua = (parts: TemplateStringsArray, ...values: readonly (string | number)[]): string => String.raw(parts, ...values);
