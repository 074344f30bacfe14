/** The only place here that reads the environment. */

/** The mutant to plant, by name, or null. */
export const chosenMutant = (): string | null => process.env.RHEO_MUTANT ?? null;

/** What a process needs in which a mutant is planted; null: none is. */
export const environmentOf = (mutant: string | null, more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => {
  const { RHEO_MUTANT: _mutant, ...inherited } = process.env;
  return mutant === null ? { ...inherited, ...more } : { ...inherited, ...more, RHEO_MUTANT: mutant };
};

/** Whether everything must be run, servers included. */
export const isStrict = (): boolean => process.env.CI === "true";
