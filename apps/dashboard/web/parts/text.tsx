/** Small pieces of text. */
import type { ComponentChildren, JSX } from "preact";
import { duration, instant, visible } from "../format.ts";
import { now } from "../state/time.ts";

/** Text from the store: shown as it is, set apart, able to do nothing. */
export const Stored = ({ text, mono = false }: { readonly text: string; readonly mono?: boolean }): JSX.Element => (
  <bdi class={mono ? "stored mono" : "stored"}>{visible(text)}</bdi>
);

export const Nothing = (): JSX.Element => <span class="muted">–</span>;

/** A number or a dash, which also says that there is none. */
export const Figure = ({
  value,
  show,
}: {
  readonly value: number | null;
  readonly show: (value: number) => string;
}): JSX.Element => (value === null ? <Nothing /> : <span class="number">{show(value)}</span>);

/** How long ago; the whole instant on hover. */
export const Ago = ({ atMs }: { readonly atMs: number | null }): JSX.Element =>
  atMs === null ? (
    <Nothing />
  ) : (
    <time class="number" dateTime={new Date(atMs).toISOString()} title={instant(atMs)}>
      {duration(Math.max(0, now.value - atMs))}
    </time>
  );

/** How long until; `over` once that has come. */
export const Until = ({ atMs, over }: { readonly atMs: number; readonly over: string }): JSX.Element => (
  <time class="number" dateTime={new Date(atMs).toISOString()} title={instant(atMs)}>
    {atMs <= now.value ? over : `in ${duration(Math.ceil((atMs - now.value) / 1_000) * 1_000)}`}
  </time>
);

export const Instant = ({ atMs }: { readonly atMs: number }): JSX.Element => (
  <time class="number" dateTime={new Date(atMs).toISOString()} title={`${duration(Math.max(0, now.value - atMs))} ago`}>
    {instant(atMs)}
  </time>
);

export type Tone = "ok" | "busy" | "warn" | "bad" | "quiet";

export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }): JSX.Element => (
  <span class={`badge ${tone}`}>{children}</span>
);
