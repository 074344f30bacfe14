/** A store URL as it may be shown. */
export const withoutPasswords = (url: string): string =>
  url.replace(/(?<=:\/\/[^/@]*:)[^/]*(?=@)/, "***").replaceAll(/(?<=[?&]\w*password=)[^&]*/gi, "***");
