/** Version 4: settle_and_fetch() takes the place of exchange(), and answers a grant's events as a few texts. */
export const GRANTS_AS_TEXTS = `
CREATE TYPE @.grant_row AS (answer text, sequences text, ids text, times text, types text, keys text, metadata text, payloads text);`;
