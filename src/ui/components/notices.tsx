/** Short messages about what was done, at the edge of the window; screen readers read them. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'wouter-preact'

interface Notice {
  readonly id: number
  readonly text: string
  readonly tone: 'good' | 'bad'
}

const notices = signal<readonly Notice[]>([])
let lastId = 0

/** Milliseconds. Failures stay until the user closes them or opens another page. */
const SHOWN_FOR = 6_000

export function notify(text: string, tone: Notice['tone'] = 'good'): void {
  lastId += 1
  const id = lastId
  notices.value = [...notices.value.slice(-3), { id, text, tone }]
  if (tone === 'good') setTimeout(() => remove(id), SHOWN_FOR)
}

function remove(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

/** A failure belongs to the page on which it happened. */
export function Notices(): VNode {
  const [location] = useLocation()
  useEffect(() => {
    notices.value = notices.value.filter(({ tone }) => tone === 'good')
  }, [location])
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, tone }) => (
        <div key={id} class={`notice notice-${tone}`}>
          <span>{text}</span>
          <button type="button" class="notice-close" aria-label="Close the notice" onClick={() => remove(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  )
}
