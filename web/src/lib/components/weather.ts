// Weather in words, whatever the agent calls it.

import { numberOf, rowsOf, textOf, type Fields } from './read'

const CONDITIONS: Record<string, string> = {
  clear: 'Clear',
  partly_cloudy: 'Partly cloudy',
  cloudy: 'Cloudy',
  fog: 'Fog',
  drizzle: 'Drizzle',
  rain: 'Rain',
  snow: 'Snow',
  sleet: 'Sleet',
  thunderstorm: 'Thunderstorm',
  wind: 'Wind',
}
const MOST_DAYS = 14

export interface Condition {
  /** Whether there is a glyph for it. */
  glyph: string | undefined
  words: string
}

export function conditionOf(value: unknown): Condition {
  const text = textOf(value).trim()
  const key = text.toLowerCase().replace(/[\s-]+/g, '_')
  const words = Object.hasOwn(CONDITIONS, key) ? CONDITIONS[key] : undefined
  return words === undefined ? { glyph: undefined, words: text } : { glyph: key, words }
}

export interface Day {
  label: string
  high: number | undefined
  low: number | undefined
  condition: Condition
  rain: number | undefined
}

export interface Weather {
  place: string
  temperature: number | undefined
  unit: string
  condition: Condition
  facts: { label: string; value: number; unit: string }[]
  observed: unknown
  days: Day[]
}

export function weatherOf(props: Fields): Weather {
  const unit = props['unit'] === 'F' ? '°F' : props['unit'] === 'C' ? '°C' : '°'
  const fact = (label: string, name: string, own: string) => {
    const value = numberOf(props[name])
    return value === undefined ? [] : [{ label, value, unit: own }]
  }
  return {
    place: textOf(props['location']) || textOf(props['city']),
    temperature: numberOf(props['temperature']) ?? numberOf(props['temp']),
    unit,
    condition: conditionOf(props['condition']),
    facts: [
      ...fact('Feels like', 'feels_like', unit),
      ...fact('High', 'high', unit),
      ...fact('Low', 'low', unit),
      ...fact('Humidity', 'humidity', '%'),
      ...fact('Wind', 'wind_speed', textOf(props['wind_unit']) || (unit === '°F' ? 'mph' : 'km/h')),
    ],
    observed: props['observed_at'],
    days: rowsOf(props['forecast'], MOST_DAYS).map((day) => ({
      label: textOf(day['label']),
      high: numberOf(day['high']),
      low: numberOf(day['low']),
      condition: conditionOf(day['condition']),
      rain: numberOf(day['precipitation']),
    })),
  }
}
