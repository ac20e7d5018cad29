/** The filter of a time range: the last days, or from one day to another. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { SelectField, TextField } from '../../components/fields.tsx'
import { type MetricsQuery, startOfDays } from './daily-charts.tsx'

export const windowNames = ['days', 'from', 'to'] as const

const DEFAULT_DAYS = '30'
const MAX_DAYS = 90
const BETWEEN = 'dates'
const ranges = [
  ...['7', '30', '90'].map((value) => ({ value, label: `Last ${value} days` })),
  { value: BETWEEN, label: 'Between two days' },
]

/** Reads one parameter of the address. The text is empty if there is none. */
type GetFilter = (name: string) => string

/** Reads dates in the browser's zone. `to` is the last day of the window. */
export function readWindow(get: GetFilter): Pick<MetricsQuery, 'from' | 'to'> {
  const [from, to] = [toMoment(get('from'), 0), toMoment(get('to'), 1)]
  if (from === undefined && to === undefined)
    return { from: startOfDays(Math.min(Number(get('days')) || Number(DEFAULT_DAYS), MAX_DAYS)) }
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}

/** Midnight at the beginning of the date that is `later` days after the given one. */
function toMoment(date: string, later: number): string | undefined {
  const at = new Date(`${date}T00:00`)
  if (Number.isNaN(at.getTime())) return undefined
  at.setDate(at.getDate() + later)
  return at.toISOString()
}

/** The fields, for use in `<Filters>`. */
export function WindowFields({ get }: { readonly get: GetFilter }): VNode {
  const hasDates = get('from') !== '' || get('to') !== ''
  const [range, setRange] = useState(hasDates ? BETWEEN : get('days') || DEFAULT_DAYS)
  return (
    <>
      <SelectField name="days" label="Time" options={ranges} value={range} onChange={setRange} />
      {range === BETWEEN ? (
        <>
          <TextField name="from" label="First day" type="date" optional value={get('from')} />
          <TextField name="to" label="Last day" type="date" optional value={get('to')} />
        </>
      ) : null}
    </>
  )
}
