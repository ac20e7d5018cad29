/** Lists what needs attention, with the page on which you repair each. */
import type { VNode } from 'preact'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import { mayOperate } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { ButtonLink } from '../../components/button.tsx'
import { readNow } from '../../components/clock.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Note } from '../../components/values.tsx'
import { type AttentionItem, listAttentionItems } from './attention-items.ts'

/** Milliseconds between two loads. */
const PAUSE = 30_000

interface NeedsAttentionProps {
  /** Whether the workspace has a verified domain. */
  readonly maySend: boolean
  /** Whether the page shows the first steps, which lead to the first domain. */
  readonly hasSteps: boolean
  /** The domain that they show. */
  readonly domainId: string | undefined
}

export function NeedsAttention({ maySend, hasSteps, domainId }: NeedsAttentionProps): VNode | null {
  const items = useLoad(loadItems, [], { every: () => PAUSE })
  const isOfSteps = ({ key }: AttentionItem): boolean => hasSteps && !maySend && key === `domain-${domainId}`
  const isNew = hasSteps && !maySend
  if (isNew && items.error === null && (items.data ?? []).every(isOfSteps)) return null
  return (
    <Section title="Needs attention">
      <Loaded from={items}>
        {(found) =>
          found.length === 0 ? (
            <Nothing maySend={maySend} />
          ) : (
            <ul class="attention">
              {found
                .filter((item) => !isOfSteps(item))
                .map((item) => (
                  <Item key={item.key} item={item} />
                ))}
            </ul>
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

async function loadItems(): Promise<readonly AttentionItem[]> {
  const [attention, queue, usage] = await Promise.all([
    unwrap(sessionApi.GET('/ui/api/attention')),
    unwrap(sessionApi.GET('/ui/api/queue')),
    unwrap(api.GET('/v1/usage')),
  ])
  return listAttentionItems({ attention, queue, usage, mayOperate: mayOperate.value, now: readNow() })
}

function Item({ item: { tone, title, text, link } }: { readonly item: AttentionItem }): VNode {
  return (
    <li class={`attention-item attention-${tone}`}>
      <div>
        <h3>{allowBreaks(title)}</h3>
        <p>{allowBreaks(text)}</p>
      </div>
      {link === null ? null : (
        <ButtonLink small href={link.href}>
          {link.label}
        </ButtonLink>
      )}
    </li>
  )
}
