import type { JSX } from "preact";
import { count } from "../format.ts";

const CELL = 11;
const GAP = 2;
const COLUMNS = 64;
/** Shades, each for ten times the lag of the one before. */
const SHADES = 5;

/** The lag of every partition at a glance: one square each, the darker the further behind. */
export const LagMap = ({ lags }: { readonly lags: readonly number[] }): JSX.Element => {
  const columns = Math.min(COLUMNS, lags.length);
  const rows = Math.ceil(lags.length / columns);
  const behind = lags.filter((lag) => lag > 0).length;
  const size = CELL + GAP;
  return (
    <svg
      class="lag-map"
      viewBox={`0 0 ${columns * size} ${rows * size}`}
      width={columns * size}
      role="img"
      aria-label={`${count(behind)} of ${count(lags.length)} partitions are behind, the furthest by ${count(Math.max(...lags))}`}
    >
      {lags.map((lag, partition) => (
        <rect
          key={partition}
          class={`shade-${shade(lag)}`}
          x={(partition % columns) * size}
          y={Math.floor(partition / columns) * size}
          width={CELL}
          height={CELL}
          rx={2}
        >
          <title>{`Partition ${partition}: lag ${count(lag)}`}</title>
        </rect>
      ))}
    </svg>
  );
};

const shade = (lag: number): number => (lag === 0 ? 0 : Math.min(SHADES, Math.floor(Math.log10(lag)) + 1));
