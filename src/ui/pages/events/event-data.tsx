/** Shows what an event says beyond its type, on request. */
import type { VNode } from 'preact'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { toWords } from '../../components/values.tsx'
import type { Event } from './event.ts'

export function EventData({ event: { data } }: { readonly event: Event }): VNode {
  const rows = Object.entries(data).flatMap(([name, value]) => {
    const text = describeValue(value)
    return text === '' ? [] : [{ name, text }]
  })
  return (
    <details>
      <summary>Show</summary>
      <dl class="event-data">
        {rows.map(({ name, text }) => (
          <div key={name}>
            <dt>{toWords(name)}</dt>
            <dd>{allowBreaks(text)}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

/** Empty for values that say nothing. */
function describeValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return String(value)
  return Object.keys(value).length === 0 ? '' : JSON.stringify(value)
}
