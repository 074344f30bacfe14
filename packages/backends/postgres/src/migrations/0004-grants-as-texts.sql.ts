/** Version 4: exchange() is settle_and_fetch(), which answers a grant's events as a few texts; and claimable() looks at many groups at once. */
export const GRANTS_AS_TEXTS = `
CREATE TYPE @.grant_row AS (answer text, sequences text, ids text, times text, types text, keys text, metadata text, payloads text);`;
