/** Shows what an event says beyond its type, on request. */
import type { VNode } from 'preact'
import { toWords } from '../../components/values.tsx'
import type { Event } from './event.ts'
import { EventValue, isEmptyValue } from './event-value.tsx'

export function EventData({ event: { data } }: { readonly event: Event }): VNode {
  const rows = Object.entries(data).filter(([, value]) => !isEmptyValue(value))
  return (
    <details>
      <summary>Show</summary>
      <dl class="event-data">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{names[name] ?? toWords(name)}</dt>
            <dd>
              <EventValue value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

/** Names that say more than the field. */
const names: Readonly<Record<string, string>> = { remedy: 'What to do', text: 'Why' }
