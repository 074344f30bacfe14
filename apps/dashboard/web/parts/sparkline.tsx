import type { JSX } from "preact";

const WIDTH = 96;
const HEIGHT = 22;

/** How a figure went of late. The figure itself stands beside it, so it is for the eyes alone. */
export const Sparkline = ({ values }: { readonly values: readonly number[] }): JSX.Element | null => {
  if (values.length < 2) return <span class="spark-empty" aria-hidden="true" />;
  const most = Math.max(...values, 1);
  const step = WIDTH / (values.length - 1);
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`,
  );
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <polygon points={`0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`} />
      <polyline points={points.join(" ")} />
    </svg>
  );
};
