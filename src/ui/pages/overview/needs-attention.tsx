/** Lists what needs attention, with the page on which you repair each. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Note } from '../../components/values.tsx'
import { type Concern, ConcernList } from './concern-list.tsx'

/** Milliseconds between two loads. */
const PAUSE = 30_000
/** The others are shown on request. */
const FIRST = 5

interface NeedsAttentionProps {
  /** Whether the workspace has a verified domain. */
  readonly maySend: boolean
  /** Whether the page shows the first steps, which lead to the first domain. */
  readonly hasSteps: boolean
  /** The domain that they show. */
  readonly domain: string | undefined
}

export function NeedsAttention({ maySend, hasSteps, domain }: NeedsAttentionProps): VNode | null {
  const attention = useLoad(() => unwrap(sessionApi.GET('/ui/api/attention')), [], { every: () => PAUSE })
  const isNew = hasSteps && !maySend
  const others = (concerns: readonly Concern[]): readonly Concern[] =>
    concerns.filter(({ key }) => !isNew || key !== `domain ${domain}`)
  if (isNew && attention.error === null && others(attention.data?.concerns ?? []).length === 0) return null
  return (
    <Section title="Needs attention">
      <Loaded from={attention}>
        {({ concerns }) =>
          concerns.length === 0 ? (
            <Nothing maySend={maySend} />
          ) : (
            <ConcernList concerns={others(concerns)} first={FIRST} isBrief />
          )
        }
      </Loaded>
    </Section>
  )
}

function Nothing({ maySend }: { readonly maySend: boolean }): VNode {
  if (maySend) {
    return (
      <Note tone="good">
        <p>Nothing. Domains, webhooks, limits and broadcasts are in order.</p>
      </Note>
    )
  }
  return (
    <Note tone="info">
      <p>This workspace cannot send yet, because it has no verified domain.</p>
    </Note>
  )
}
