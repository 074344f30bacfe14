export const writePages = async (): Promise<void> => undefined;
