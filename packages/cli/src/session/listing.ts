/** Everything there is, page by page. */
import type { Group, Rheo } from "@rheo/core";

type Listed = Awaited<ReturnType<Rheo["listStreams"]>>[number];

/** As many as the library lists at a time. */
const PAGE = 1_000;

export const allStreams = (rheo: Rheo): Promise<readonly Listed[]> => allPages((page) => rheo.listStreams(page));
export const allGroups = (rheo: Rheo, stream: string): Promise<readonly Group[]> =>
  allPages((page) => rheo.listGroups(stream, page));

const allPages = async <Item extends { readonly name: string }>(
  list: (page: { readonly limit: number; readonly after?: string }) => Promise<readonly Item[]>,
): Promise<readonly Item[]> => {
  const items: Item[] = [];
  for (;;) {
    const after = items.at(-1)?.name;
    const page = await list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    items.push(...page);
    if (page.length < PAGE) return items;
  }
};
