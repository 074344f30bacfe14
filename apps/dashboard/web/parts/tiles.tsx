import type { ComponentChildren, JSX } from "preact";

/** Figures side by side. */
export const Tiles = ({ children }: { readonly children: ComponentChildren }): JSX.Element => <dl class="tiles">{children}</dl>;

interface TileProps {
  readonly name: string;
  readonly href?: string;
  readonly tone?: "bad" | "warn" | undefined;
  readonly children: ComponentChildren;
}

export const Tile = ({ name, href, tone, children }: TileProps): JSX.Element => (
  <div class="tile">
    <dt>{name}</dt>
    <dd class={tone ?? ""}>{href === undefined ? children : <a href={href}>{children}</a>}</dd>
  </div>
);
