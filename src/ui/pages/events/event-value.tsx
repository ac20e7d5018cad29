/** Shows a value of an event as a person reads it: times, lists and parts instead of JSON. */
import type { VNode } from 'preact'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Time, toWords } from '../../components/values.tsx'

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** Whether there is nothing to show. */
export function isEmptyValue(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

export function EventValue({ value }: { readonly value: unknown }): VNode {
  if (Array.isArray(value)) {
    return (
      <ul>
        {value.map((item, place) => (
          <li key={place}>
            <EventValue value={item} />
          </li>
        ))}
      </ul>
    )
  }
  if (typeof value === 'object' && value !== null) return <Parts parts={Object.entries(value)} />
  if (typeof value === 'boolean') return <span>{value ? 'Yes' : 'No'}</span>
  const text = String(value)
  return MOMENT.test(text) ? <Time at={text} kind="second" /> : <span>{allowBreaks(text)}</span>
}

function Parts({ parts }: { readonly parts: readonly (readonly [name: string, value: unknown])[] }): VNode {
  return (
    <ul>
      {parts
        .filter(([, value]) => !isEmptyValue(value))
        .map(([name, value]) => (
          <li key={name}>
            {toWords(name)}: <EventValue value={value} />
          </li>
        ))}
    </ul>
  )
}
