/** Lists what needs attention, with the page on which you repair each. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Note } from '../../components/values.tsx'
import { ConcernList } from './concern-list.tsx'

/** Milliseconds between two loads. */
const PAUSE = 30_000
/** The others are shown on request. */
const FIRST = 5

export function NeedsAttention(): VNode {
  const attention = useLoad(() => unwrap(sessionApi.GET('/ui/api/attention')), [], { every: () => PAUSE })
  return (
    <Section title="Needs attention">
      <Loaded from={attention}>
        {({ concerns }) =>
          concerns.length === 0 ? (
            <Note tone="good">
              <p>Nothing. Domains, webhooks, limits and broadcasts are in order.</p>
            </Note>
          ) : (
            <ConcernList concerns={concerns} first={FIRST} />
          )
        }
      </Loaded>
    </Section>
  )
}
