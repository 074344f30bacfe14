/** Dark or light: as the system has it, or as the reader said. */
import { computed, signal } from "@preact/signals";

const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const KEY = "rheo-dashboard-theme";

const isTheme = (value: unknown): value is Theme => THEMES.some((theme) => theme === value);

const stored = (): Theme => {
  try {
    const value = localStorage.getItem(KEY);
    return isTheme(value) ? value : "auto";
  } catch {
    return "auto"; // storage is forbidden
  }
};

export const theme = signal<Theme>(stored());

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
system.addEventListener("change", ({ matches }) => {
  isSystemDark.value = matches;
});

/** How the page looks now. */
export const isDark = computed(() => (theme.value === "auto" ? isSystemDark.value : theme.value === "dark"));

export const applyTheme = (): void => {
  document.documentElement.dataset.theme = theme.value;
};

/** The next of auto, light, dark. */
export const switchTheme = (): void => {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
  applyTheme();
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // then it holds until the page is left
  }
};
