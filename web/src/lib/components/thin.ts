// Fewer points for drawing, chosen so that the picture stays the same. The data stay whole.

/** More points than this are thinned. */
export const MOST_POINTS = 2_000

export interface Point {
  x: number
  y: number
  /** Which row it is. */
  row: number
}

/** Largest triangle three buckets: of each bucket the point that matters most for the line. Keeps the first and the last. */
export function thinLine(points: readonly Point[], most: number): readonly Point[] {
  const [first, last] = [points[0], points.at(-1)]
  if (points.length <= most || most < 3 || !first || !last) return points
  const kept: Point[] = [first]
  const size = (points.length - 2) / (most - 2)
  let left = first
  for (let bucket = 0; bucket < most - 2; bucket++) {
    const from = Math.floor(bucket * size) + 1
    const to = Math.floor((bucket + 1) * size) + 1
    const right = middleOf(points, to, Math.min(points.length, Math.floor((bucket + 2) * size) + 1))
    let best = points[from] ?? last
    let most = -1
    for (let at = from; at < to; at++) {
      const point = points[at]
      if (!point) break
      const area = Math.abs((left.x - right.x) * (point.y - left.y) - (left.x - point.x) * (right.y - left.y))
      if (area > most) [most, best] = [area, point]
    }
    kept.push(best)
    left = best
  }
  kept.push(last)
  return kept
}

function middleOf(points: readonly Point[], from: number, to: number): { x: number; y: number } {
  let [x, y, count] = [0, 0, 0]
  for (let at = from; at < to; at++) {
    const point = points[at]
    if (!point) break
    x += point.x
    y += point.y
    count++
  }
  return count === 0 ? (points.at(-1) ?? { x: 0, y: 0 }) : { x: x / count, y: y / count }
}

/** Of columns in a row, those that stand out: the largest of each bucket. Gives their places, in order. */
export function thinColumns(sizes: readonly number[], most: number): number[] {
  if (sizes.length <= most) return sizes.map((_, at) => at)
  return Array.from({ length: most }, (_, bucket) => {
    const from = Math.floor((bucket * sizes.length) / most)
    const to = Math.floor(((bucket + 1) * sizes.length) / most)
    let best = from
    for (let at = from; at < to; at++) if (Math.abs(sizes[at] ?? 0) > Math.abs(sizes[best] ?? 0)) best = at
    return best
  })
}
