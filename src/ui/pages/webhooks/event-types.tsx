/** The types of events that a webhook gets. The page names a few types, and counts many and names them on request. */
import type { VNode } from 'preact'
import type { Webhook } from './webhook.ts'

const MAX_NAMED = 3

export function EventTypes({ events }: Pick<Webhook, 'events'>): VNode {
  const names = (
    <ul>
      {events.map((type) => (
        <li key={type} class="one-line">
          {type}
        </li>
      ))}
    </ul>
  )
  if (events.length <= MAX_NAMED) return names
  return (
    <details>
      <summary>{events.length} types</summary>
      {names}
    </details>
  )
}
