// A map without tiles: where points of the earth stand in a rectangle, and the lines of the graticule. Nothing is asked of anybody.

import { listOf, numberOf, rowsOf, textOf, toneOf, type Fields, type Tone } from './read'
import { ticksOf } from './scale'

const MOST_POINTS = 2_000
const MOST_LINES = 100
/** Mercator has no poles. */
const EDGE = 85
/** A single place is shown with this much around it, in degrees. */
const AROUND = 0.5

export interface Place {
  x: number
  y: number
}
export interface MapPoint extends Place {
  index: number
  label: string
  detail: string
  value: number | undefined
  tone: Tone
}
export interface MapLine {
  places: Place[]
  label: string
  tone: Tone
}
export interface MapModel {
  points: MapPoint[]
  lines: MapLine[]
  meridians: { at: number; words: string }[]
  parallels: { at: number; words: string }[]
}

type Bounds = { west: number; south: number; east: number; north: number }

export function mapOf(props: Fields, width: number, height: number): MapModel {
  const projects = props['projection'] !== 'equirectangular'
  const up = (lat: number) => (projects ? mercator(lat) : lat)
  const points = rowsOf(props['points'], MOST_POINTS).flatMap((point, index) => {
    const lat = numberOf(point['lat'])
    const lon = numberOf(point['lon'])
    return lat === undefined || lon === undefined ? [] : [{ lat, lon, index, point }]
  })
  const lines = rowsOf(props['lines'], MOST_LINES).map((line) => ({
    line,
    places: listOf(line['points'], MOST_POINTS).flatMap((pair) => {
      const [lat, lon] = Array.isArray(pair) ? [numberOf(pair[0]), numberOf(pair[1])] : []
      return lat === undefined || lon === undefined ? [] : [{ lat, lon }]
    }),
  }))
  const bounds = boundsOf(props['bounds'], [...points, ...lines.flatMap(({ places }) => places)])
  const put = fit(bounds, up, width, height)
  return {
    points: points.map(({ lat, lon, index, point }) => ({
      ...put.place(lat, lon),
      index,
      label: textOf(point['label']),
      detail: textOf(point['detail']),
      value: numberOf(point['value']),
      tone: toneOf(point['tone']),
    })),
    lines: lines.map(({ line, places }) => ({
      places: places.map(({ lat, lon }) => put.place(lat, lon)),
      label: textOf(line['label']),
      tone: toneOf(line['tone']),
    })),
    meridians: ticksOf(put.seen.west, put.seen.east, 5).map((lon) => ({
      at: put.place(0, lon).x,
      words: degrees(lon, 'E', 'W'),
    })),
    parallels: ticksOf(Math.max(-EDGE, put.seen.south), Math.min(EDGE, put.seen.north), 4).map((lat) => ({
      at: put.place(lat, 0).y,
      words: degrees(lat, 'N', 'S'),
    })),
  }
}

const mercator = (lat: number) => {
  const bounded = Math.max(-EDGE, Math.min(EDGE, lat))
  return (Math.log(Math.tan(Math.PI / 4 + (bounded * Math.PI) / 360)) * 180) / Math.PI
}
const unmercator = (y: number) => (Math.atan(Math.exp((y * Math.PI) / 180)) * 360) / Math.PI - 90

/** `bounds` is west, south, east, north; left out, it is what holds everything, with a margin. */
function boundsOf(given: unknown, all: { lat: number; lon: number }[]): Bounds {
  const [west, south, east, north] = listOf(given, 4).map(numberOf)
  if (
    west !== undefined &&
    south !== undefined &&
    east !== undefined &&
    north !== undefined &&
    east > west &&
    north > south
  )
    return { west, south, east, north }
  if (all.length === 0) return { west: -180, south: -60, east: 180, north: 75 }
  const seen = { west: Infinity, south: Infinity, east: -Infinity, north: -Infinity }
  for (const { lat, lon } of all) {
    seen.west = Math.min(seen.west, lon)
    seen.east = Math.max(seen.east, lon)
    seen.south = Math.min(seen.south, lat)
    seen.north = Math.max(seen.north, lat)
  }
  const across = Math.max(AROUND, (seen.east - seen.west) * 0.12)
  const along = Math.max(AROUND, (seen.north - seen.south) * 0.12)
  return { west: seen.west - across, south: seen.south - along, east: seen.east + across, north: seen.north + along }
}

/** The same scale in both directions, with what is wanted in the middle. */
function fit({ west, south, east, north }: Bounds, up: (lat: number) => number, width: number, height: number) {
  const [low, high] = [up(south), up(north)]
  const scale = Math.min(width / (east - west), height / Math.max(1e-9, high - low))
  const [midX, midY] = [(west + east) / 2, (low + high) / 2]
  const place = (lat: number, lon: number): Place => ({
    x: width / 2 + (lon - midX) * scale,
    y: height / 2 - (up(lat) - midY) * scale,
  })
  const half = { x: width / 2 / scale, y: height / 2 / scale }
  const back = up(60) === 60 ? (y: number) => y : unmercator
  return {
    place,
    seen: { west: midX - half.x, east: midX + half.x, south: back(midY - half.y), north: back(midY + half.y) },
  }
}

const degrees = (value: number, plus: string, minus: string) => {
  const size = Math.abs(Number(value.toFixed(4)))
  return size === 0 ? '0°' : `${size}° ${value > 0 ? plus : minus}`
}
